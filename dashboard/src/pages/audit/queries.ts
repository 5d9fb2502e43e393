import { useFilters } from "@/app/filters";
import { ADMIN, api } from "@/api/client";
import { usePagedList, useResource } from "@/api/query";
import { zone } from "@/format";
import type { AuditLog, Entry } from "./types";

const DEFAULTS = { days: "7", start_date: "", end_date: "", search: "", method: "", status: "", requested_model: "", provider: "", user_path: "", auth_key_id: "", session_id: "", path: "", stream: "", error_type: "", sort: "-timestamp", open: "", tab: "journey" };
export type Filters = Record<keyof typeof DEFAULTS, string>;
export type SetFilters = (change: { [K in keyof Filters]?: string | null }, options?: { push?: boolean }) => void;

const ALLOWED = { days: ["1", "7", "30", "90", "365"], sort: ["-timestamp", "timestamp", "-duration", "duration"], stream: ["", "true", "false"], tab: ["journey", "request", "response", "headers", "conversation"] };
/** Filters of calls, apart from the range, the order and what is open. */
export const CALL_FILTERS = ["search", "method", "status", "requested_model", "provider", "user_path", "auth_key_id", "session_id", "path", "stream", "error_type"] as const;
export const NO_CALL_FILTERS = Object.fromEntries(CALL_FILTERS.map((name) => [name, null])) as { [K in (typeof CALL_FILTERS)[number]]: null };

export function useAuditFilters() {
  return useFilters<Filters>(DEFAULTS, ALLOWED) as readonly [Filters, SetFilters];
}

export const filtered = (filters: Filters) => CALL_FILTERS.some((name) => filters[name] !== "");

/** The filters as the API takes them. `status=error` is not a filter of the API: the page offers the codes instead. */
export function apiQuery(filters: Filters): Record<string, string> {
  const { start_date, end_date, days, status } = filters;
  const query: Record<string, string> = { timezone: zone(), ...(start_date || end_date ? { ...(start_date && { start_date }), ...(end_date && { end_date }) } : { days }) };
  for (const name of CALL_FILTERS) if (name !== "status" && filters[name]) query[name] = filters[name];
  if (/^\d{3}$/.test(status)) query.status_code = status;
  return query;
}

/** The calls, page by page; the first page brings figures and the count, the others none. */
export function useAuditLog(filters: Filters) {
  const query = apiQuery(filters);
  const sort = filters.sort;
  return usePagedList<Entry, AuditLog>(
    ["audit", query, sort],
    ({ cursor }, signal) => {
      const params = { query: { ...query, sort, limit: "50", ...(cursor ? { cursor, include_total: "false" } : { include_stats: "true" }) } as never };
      return api.GET("/admin/api/v1/audit/log", { params, signal }) as Promise<{ data?: AuditLog; error?: unknown; response: Response }>;
    },
    { keepPrevious: true, next: (page) => (page.next ? { cursor: page.next } : undefined) },
  );
}

/** One call with headers and bodies. `id` may also be a request id, which is searched for. */
export function useEntry(id: string) {
  const byRequest = !id.includes("-");
  return useResource<Entry | null>(
    ["audit-entry", id],
    async (signal) => {
      if (!byRequest) return (await api.GET("/admin/api/v1/audit/log/{id}", { params: { path: { id } }, signal })) as { data?: Entry; error?: unknown; response: Response };
      const found = await api.GET("/admin/api/v1/audit/log", { params: { query: { search: id, days: 365, limit: 1 } }, signal });
      return { ...found, data: found.data ? ((found.data.entries[0] as Entry | undefined) ?? null) : undefined };
    },
    { staleTime: Infinity },
  );
}

/** The calls of the same conversation, oldest first. */
export function useConversation(id: string, enabled: boolean) {
  return useResource(["audit-conversation", id], (signal) => api.GET("/admin/api/v1/audit/conversation", { params: { query: { log_id: id, limit: 100 } }, signal }), { enabled });
}

export const exportUrl = (filters: Filters, format: "csv" | "jsonl") => `${ADMIN}/audit/log/export?${new URLSearchParams({ ...apiQuery(filters), format }).toString()}`;
