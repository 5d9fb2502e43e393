import { useFilters } from "@/app/filters";
import { ADMIN, api, type Query } from "@/api/client";
import { ApiError } from "@/api/errors";
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

/** The filters of calls as the API takes them. `status` is error, ok or a code. */
export function callQuery(filters: Filters): Record<string, string> {
  const query: Record<string, string> = {};
  for (const name of CALL_FILTERS) if (filters[name]) query[name === "status" && /^\d{3}$/.test(filters.status) ? "status_code" : name] = filters[name];
  return query;
}

/** The range and the filters as the API takes them. */
export function apiQuery(filters: Filters): Record<string, string> {
  const { start_date, end_date, days } = filters;
  const range: Record<string, string> = start_date || end_date ? { ...(start_date && { start_date }), ...(end_date && { end_date }) } : { days };
  return { timezone: zone(), ...range, ...callQuery(filters) };
}

/** The calls, page by page; the first page brings the count, the others none. Figures are read apart: they take longer. */
export function useAuditLog(filters: Filters) {
  const query = apiQuery(filters);
  const sort = filters.sort;
  return usePagedList<Entry, AuditLog>(
    ["audit", query, sort],
    ({ cursor }, signal) => {
      const page = cursor ? { cursor, include_total: false } : {};
      const params = { query: { ...(query as Query<"/admin/api/v1/audit/log">), sort: sort as "-timestamp", limit: 50, include_data: false, ...page } };
      return api.GET("/admin/api/v1/audit/log", { params, signal });
    },
    { keepPrevious: true, next: (page) => (page.next ? { cursor: page.next } : undefined) },
  );
}

/** Figures of the filtered calls: counts, latencies, and their distribution over time. */
export function useAuditStats(filters: Filters) {
  const query = apiQuery(filters);
  return useResource(
    ["audit", "stats", query],
    (signal) => api.GET("/admin/api/v1/audit/log", { params: { query: { ...(query as Query<"/admin/api/v1/audit/log">), limit: 1, include_data: false, include_total: false, include_stats: true } }, signal }),
    { keepPrevious: true },
  );
}

/** One call with headers and bodies. `id` may also be a request id. An entry is written a moment after the answer: 404 is tried again. */
export function useEntry(id: string) {
  return useResource(["audit-entry", id], (signal) => api.GET("/admin/api/v1/audit/log/{id}", { params: { path: { id } }, signal }), {
    staleTime: Infinity,
    retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 404 || error.status >= 500),
    retryDelay: 1000,
  });
}

/** The calls of the same conversation, oldest first. */
export function useConversation(id: string, enabled: boolean) {
  return useResource(["audit-conversation", id], (signal) => api.GET("/admin/api/v1/audit/conversation", { params: { query: { log_id: id, limit: 100 } }, signal }), { enabled });
}

export const exportUrl = (filters: Filters, format: "csv" | "jsonl") => `${ADMIN}/audit/log/export?${new URLSearchParams({ ...apiQuery(filters), format }).toString()}`;
