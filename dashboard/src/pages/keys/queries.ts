import { api, type Query, type Schema } from "@/api/client";
import { usePagedList, useResource, type PageStart } from "@/api/query";
import { zone } from "@/format";

export type LimitName = "requests_per_minute" | "requests_per_day" | "tokens_per_minute" | "tokens_per_day" | "max_parallel_requests";
export type LimitUse = Schema<"LimitUse">;
/** A key; only the list has the use of its limits and its cost. */
export type Key = Omit<Schema<"KeyView">, keyof Schema<"KeyFigures">> & Partial<Schema<"KeyFigures">>;
export type NewKey = Schema<"CreatedKey">;
export type KeyPage = Omit<Schema<"KeyList">, "entries"> & { entries: Key[] };

export type KeyFilters = { search: string; state: string; path: string; scope: string; sort: string };

export const LIMITS: { name: LimitName; short: string; label: string }[] = [
  { name: "requests_per_minute", short: "Req/min", label: "Requests per minute" },
  { name: "tokens_per_minute", short: "Tok/min", label: "Tokens per minute" },
  { name: "requests_per_day", short: "Req/day", label: "Requests per day" },
  { name: "tokens_per_day", short: "Tok/day", label: "Tokens per day" },
  { name: "max_parallel_requests", short: "Parallel", label: "Parallel requests" },
];

const WEEK = 7 * 86_400_000;
export const endsSoon = (key: Key, now = Date.now()) => key.active && key.expiry != null && Date.parse(key.expiry) - now < WEEK;

/** The keys, page by page. "Ending soon" is chosen among the active ones. */
export function useKeys({ search, state, path, scope, sort }: KeyFilters) {
  const query = {
    sort: sort as Query<"/admin/api/v1/auth-keys">["sort"],
    ...(search && { search }),
    ...(path && { user_path: path }),
    ...(scope && { scope }),
    ...(state && { active: state !== "ended" }),
    ...(state === "soon" && { limit: 200 }),
  };
  const read = (start: PageStart, signal: AbortSignal) => api.GET("/admin/api/v1/auth-keys", { params: { query: { ...query, ...start } }, signal });
  const keys = usePagedList<Key, KeyPage>(["auth-keys", query], read, { keepPrevious: true, refetchInterval: 30_000 });
  return { ...keys, rows: state === "soon" ? keys.rows.filter((key) => endsSoon(key)) : keys.rows };
}

/** One key with its tag, for edits and for keys that the list does not show. */
export function useKey(id: string, enabled = true) {
  return useResource<Key>(["auth-key", id], (signal) => api.GET("/admin/api/v1/auth-keys/{id}", { params: { path: { id } }, signal }), {
    enabled: enabled && id !== "",
  });
}

export function useKeyStats(id: string, days: number) {
  const query = { days, timezone: zone(), cache_mode: "all" as const };
  return useResource(["auth-key-stats", id, query], (signal) => api.GET("/admin/api/v1/auth-keys/{id}/stats", { params: { path: { id }, query }, signal }), {
    keepPrevious: true,
  });
}

/** Budgets that hold for a path, the nearest first. */
export function useBudgetsOf(path: string, enabled: boolean) {
  const budgets = useResource(["budgets"], (signal) => api.GET("/admin/api/v1/budgets", { signal }), { enabled });
  const holds = (above: string) => above === "/" || path === above || path.startsWith(`${above}/`);
  return (budgets.data?.budgets ?? []).filter((budget) => holds(budget.user_path)).sort((a, b) => b.user_path.length - a.user_path.length);
}
