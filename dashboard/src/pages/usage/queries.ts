import { api, ADMIN, type Query, type Schema } from "@/api/client";
import { usePagedList, useResource } from "@/api/query";
import { daysBetween, shiftDay } from "@/components/charts/days";
import { isoDay, zone } from "@/format";

export type Group = "model" | "provider" | "user_path" | "auth_key";
export type Row = Schema<"BreakdownRow">;
export type Call = Schema<"EntryView">;
export type UsageFilters = { days: string; start: string; end: string; user_path: string; model: string; provider: string; key: string };

type SeriesQuery = Query<"/admin/api/v1/usage/timeseries">;
export type Metric = "cost" | "requests" | "tokens";
const SERIES_OF = { model: "model", provider: "provider_name", user_path: "user_path", auth_key: "auth_key_id" } as const satisfies Record<
  Group,
  SeriesQuery["group_by"]
>;

/** First and last day of the range in the chosen zone. */
export function rangeOf({ days, start, end }: UsageFilters) {
  const last = end || isoDay(Date.now());
  return { first: start || shiftDay(last, 1 - Number(days)), last };
}

function queryOf(filters: UsageFilters) {
  const { first, last } = rangeOf(filters);
  return {
    start_date: first,
    end_date: last,
    timezone: zone(),
    cache_mode: "all" as const,
    ...(filters.user_path && { user_path: filters.user_path }),
    ...(filters.model && { model: filters.model }),
    ...(filters.provider && { provider: filters.provider }),
    ...(filters.key && { auth_key_id: filters.key }),
  };
}

/** Sums by group, the most used first. With a filter of one key, its rows have the name of the key too. */
export function useBreakdown(filters: UsageFilters, by: Group, enabled: boolean) {
  const query = { ...queryOf(filters), group_by: filters.key && by !== "auth_key" ? `${by},auth_key` : by, limit: 2000 };
  // The answer is text only with `format=csv`.
  return useResource<Schema<"BreakdownView">>(
    ["usage-breakdown", query],
    (signal) => api.GET("/admin/api/v1/usage/breakdown", { params: { query }, signal }) as never,
    { enabled, keepPrevious: true },
  );
}

/** The metric over time of the range and the one before it, in one request. */
export function useSeries(filters: UsageFilters, by: Group, metric: Metric, enabled: boolean) {
  const { first, last } = rangeOf(filters);
  const length = daysBetween(first, last);
  const compared = length <= 180;
  const hourly = length === 1;
  const query: SeriesQuery = {
    ...queryOf(filters),
    start_date: compared ? shiftDay(first, -length) : first,
    metric,
    group_by: SERIES_OF[by],
    interval: hourly ? "hourly" : "daily",
    top: 5,
  };
  const series = useResource(["usage-series", query], (signal) => api.GET("/admin/api/v1/usage/timeseries", { params: { query }, signal }), {
    enabled,
    keepPrevious: true,
  });
  return { ...series, compared, hourly, first };
}

/** The name of one key, for views without a breakdown. A search, because the key may be deleted. */
export function useKeyName(id: string, enabled: boolean): string | undefined {
  const keys = useResource(["auth-keys", "name", id], (signal) => api.GET("/admin/api/v1/auth-keys", { params: { query: { search: id, limit: 1 } }, signal }), {
    enabled: enabled && id !== "",
    staleTime: 300_000,
  });
  return keys.data?.entries.find((key) => key.id === id)?.name;
}

export function useUnpriced(filters: UsageFilters, enabled: boolean) {
  const query = queryOf(filters);
  return useResource(["usage-unpriced", query], (signal) => api.GET("/admin/api/v1/usage/unpriced", { params: { query }, signal }), { enabled });
}

export function useCalls(filters: UsageFilters, search: string, enabled: boolean) {
  const query = { ...queryOf(filters), ...(search && { search }) };
  return usePagedList<Call, Schema<"LogView">>(
    ["usage-log", query],
    ({ cursor }, signal) => api.GET("/admin/api/v1/usage/log", { params: { query: { ...query, ...(cursor && { cursor }) } }, signal }),
    { enabled, keepPrevious: true, next: (page) => (page.next ? { cursor: page.next } : undefined) },
  );
}

/** Address of the report as CSV. */
export function csvOf(filters: UsageFilters, by: Group): string {
  return `${ADMIN}/usage/breakdown?${new URLSearchParams({ ...queryOf(filters), group_by: by === "model" ? "model,provider" : by, format: "csv" }).toString()}`;
}
