import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import { zone } from "@/format";

export type Overview = Schema<"Overview">;
export type Usage = Schema<"OverviewUsage">;
export type ErrorEvent = { at: string; request_id: string; status: number; path?: string; user_path?: string; requested_model?: string; provider_name?: string; error_code?: string; error_message?: string };

export type Range = { days: string; start: string; end: string; path: string };

/** Everything that the overview shows, in one request. */
export function useOverview({ days, start, end, path }: Range) {
  const query = {
    ...(start && end ? { start_date: start, end_date: end } : { days: Number(days) }),
    interval: !start && days === "1" ? "hourly" : "daily",
    timezone: zone(),
    cache_mode: "all",
    ...(path && { user_path: path }),
  };
  return useResource(["overview", query], (signal) => api.GET("/admin/api/v1/dashboard/overview", { params: { query }, signal }), { refetchInterval: 60_000, keepPrevious: true });
}

/** The usage part; null when the caller may not read it. */
export function usageOf(overview: Overview | undefined): Usage | null {
  return overview && "totals" in overview && overview.totals ? (overview as Usage) : null;
}
