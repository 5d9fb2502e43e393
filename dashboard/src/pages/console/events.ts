import { useEffect, useRef, useState } from "react";
import { ADMIN, api } from "@/api/client";
import { useResource } from "@/api/query";
import { useStream, type StreamState } from "@/api/sse";

type Common = { id: number; at: string; event: string };
export type RequestEvent = Common & { event: "request"; request_id: string; method: string; path: string; requested_model: string; provider_name?: string | null; model?: string | null; status: number; stream: boolean; duration_ms: number; ttft_ms?: number | null; overhead_us: number; attempts: number; user_path: string; auth_key_id?: string | null; input_tokens: number; output_tokens: number; total_cost: number | null; cache_type: string; error_code?: string | null };
/** Any event; fields beside the common ones depend on its kind. */
export type ConsoleEvent = RequestEvent | (Common & { [field: string]: unknown });

export const KINDS = ["request", "fallback", "breaker", "budget", "config"] as const;
const KEPT = 500;

export const isRequest = (event: ConsoleEvent): event is RequestEvent => event.event === "request";

/** One line of text for an event, also what the search looks at. */
export function textOfEvent(event: ConsoleEvent): string {
  if (isRequest(event)) return [event.method, event.path, event.requested_model, event.provider_name, event.model, event.status, event.user_path, event.error_code, event.request_id].filter(Boolean).join(" ");
  const { id: _id, at: _at, ...rest } = event;
  return Object.values(rest).filter((value) => typeof value === "string" || typeof value === "number").join(" ");
}

export type Console = { events: ConsoleEvent[]; waiting: number; dropped: number; state: StreamState; loading: boolean; error: unknown; retry: () => void; take: () => void; clear: () => void };

/** The kept events and those that come, newest first. While `paused`, new ones are counted and kept apart. */
export function useConsole(kind: string, paused: boolean): Console {
  const selected = KINDS.find((each) => each === kind);
  const recent = useResource(["console", selected ?? ""], (signal) => api.GET("/admin/api/v1/console/recent", { params: { query: { limit: 500, ...(selected && { event: selected }) } }, signal }), { staleTime: 0 });
  const [lists, setLists] = useState({ key: "", shown: [] as ConsoleEvent[], waiting: [] as ConsoleEvent[], dropped: 0, before: 0 });
  const key = `${selected ?? ""}-${recent.dataUpdatedAt}`;
  const current = lists.key === key ? lists : { key, shown: [], waiting: [], dropped: 0, before: 0 };
  const batch = useRef<ConsoleEvent[]>([]);
  const timer = useRef(0);
  const path = recent.data && !recent.isFetching ? `${ADMIN}/console/stream?last_event_id=${recent.data.last_id}${selected ? `&event=${selected}` : ""}` : null;
  const state = useStream(path, (event) => {
    const data = JSON.parse(event.data) as ConsoleEvent & { count?: number };
    if (event.event === "dropped") return setLists({ ...current, dropped: current.dropped + (data.count ?? 0) });
    batch.current.unshift({ ...data, id: data.id ?? Number(event.id), event: data.event ?? event.event });
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      const fresh = batch.current;
      batch.current = [];
      setLists((before) => {
        const base = before.key === key ? before : { key, shown: [], waiting: [], dropped: 0, before: 0 };
        return paused ? { ...base, waiting: [...fresh, ...base.waiting].slice(0, KEPT) } : { ...base, shown: [...fresh, ...base.shown].slice(0, KEPT) };
      });
    }, 100);
  });
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const take = () => setLists({ ...current, shown: [...current.waiting, ...current.shown].slice(0, KEPT), waiting: [] });
  if (!paused && current.waiting.length) take();
  const old = ((recent.data?.events ?? []) as unknown as ConsoleEvent[]).filter((event) => event.id > current.before);
  const events = [...current.shown, ...[...old].reverse()].slice(0, KEPT);
  return {
    events,
    waiting: current.waiting.length,
    dropped: current.dropped,
    state,
    loading: recent.isPending,
    error: recent.error,
    retry: () => void recent.refetch(),
    take,
    clear: () => setLists({ ...current, shown: [], waiting: [], before: events[0]?.id ?? current.before }),
  };
}
