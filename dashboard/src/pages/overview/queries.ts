import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import { zone } from "@/format";

export type Overview = Schema<"Overview">;
export type Usage = Schema<"OverviewUsage">;
export type ErrorEvent = Schema<"RecentError">;

export type Range = { days: string; start: string; end: string; path: string };

/** Everything that the overview shows, in one request. */
export function useOverview({ days, start, end, path }: Range) {
  const query = {
    ...(start && end ? { start_date: start, end_date: end } : { days: Number(days) }),
    interval: !start && days === "1" ? ("hourly" as const) : ("daily" as const),
    timezone: zone(),
    cache_mode: "all" as const,
    ...(path && { user_path: path }),
  };
  return useResource(["overview", query], (signal) => api.GET("/admin/api/v1/dashboard/overview", { params: { query }, signal }), { refetchInterval: 60_000, keepPrevious: true });
}

/** The usage part without the periods that have not begun; null when the caller may not read it. */
export function usageOf(overview: Overview | undefined): Usage | null {
  if (!overview || !("totals" in overview) || !overview.totals) return null;
  const usage = overview as Usage;
  const now = Date.parse(overview.as_of);
  const begun = usage.periods.filter((period) => Date.parse(period.at) <= now).length;
  if (begun === usage.periods.length) return usage;
  const cut = (series: Schema<"SeriesView">[]) => series.map((each) => ({ ...each, values: each.values.slice(0, begun) }));
  return { ...usage, periods: usage.periods.slice(0, begun), series: cut(usage.series), previous_series: cut(usage.previous_series), cost_by_model: cut(usage.cost_by_model) };
}

/** The range as search parameters of the pages that have its rows. */
export function rangeSearch({ days, start, end, path }: Range): Record<string, string | undefined> {
  const dates = start && end ? { start_date: start, end_date: end } : { days };
  return { ...dates, user_path: path || undefined };
}
