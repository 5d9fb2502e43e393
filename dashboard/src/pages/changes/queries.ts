import { api, type Schema } from "@/api/client";
import { usePagedList } from "@/api/query";

export type Change = Schema<"ChangeView">;
export type ChangeFilters = { kind: string; name: string; actor: string };

/** Changes, newest first; the next page begins before a revision. */
export function useChanges({ kind, name, actor }: ChangeFilters) {
  return usePagedList<Change, Schema<"ChangeList">>(
    ["changes", kind, name, actor],
    (start, signal) => api.GET("/admin/api/v1/changes", { params: { query: { kind: kind || undefined, name: name || undefined, actor: actor || undefined, before: start.cursor ? Number(start.cursor) : undefined, limit: 100 } }, signal }),
    { next: (page) => (page.next == null ? undefined : { cursor: String(page.next) }), keepPrevious: true, staleTime: 0 },
  );
}
