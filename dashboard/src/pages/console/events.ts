import { useEffect, useMemo, useRef, useState } from "react";
import { ADMIN, api } from "@/api/client";
import { useResource } from "@/api/query";
import { useStream, type StreamState } from "@/api/sse";

type Common = { id: number; at: string; event: string };
export type RequestEvent = Common & { event: "request"; request_id: string; method: string; path: string; requested_model: string; provider_name?: string | null; model?: string | null; status: number; stream: boolean; duration_ms: number; ttft_ms?: number | null; overhead_us: number; attempts: number; user_path: string; auth_key_id?: string | null; input_tokens: number; output_tokens: number; total_cost: number | null; cache_type: string; error_code?: string | null };
/** Any event; fields beside the common ones depend on its kind. */
export type ConsoleEvent = RequestEvent | (Common & { [field: string]: unknown });

export const KINDS = ["request", "fallback", "breaker", "budget", "config"] as const;
const KEPT = 500;
const EMPTY = { shown: [] as ConsoleEvent[], waiting: [] as ConsoleEvent[], dropped: 0, before: 0, seconds: new Map<number, Second>() };

export const isRequest = (event: ConsoleEvent): event is RequestEvent => event.event === "request";

/** One line of text for an event, also what the search looks at. */
export function textOfEvent(event: ConsoleEvent): string {
  if (isRequest(event)) return [event.method, event.path, event.requested_model, event.provider_name, event.model, event.status, event.user_path, event.error_code, event.request_id].filter(Boolean).join(" ");
  const { id: _id, at: _at, ...rest } = event;
  return Object.values(rest).filter((value) => typeof value === "string" || typeof value === "number").join(" ");
}

/** Requests of one second, and those of them that failed. */
export type Second = { value: number; bad: number };

/** Adds the requests among events to the counts by second; seconds before the last two minutes are left out. */
export function countSeconds(counts: ReadonlyMap<number, Second>, events: readonly ConsoleEvent[]): Map<number, Second> {
  const next = new Map(counts);
  for (const event of events) {
    if (!isRequest(event)) continue;
    const second = Math.floor(Date.parse(event.at) / 1000);
    const { value, bad } = next.get(second) ?? { value: 0, bad: 0 };
    next.set(second, { value: value + 1, bad: bad + (event.status >= 400 ? 1 : 0) });
  }
  const newest = Math.max(...next.keys());
  for (const second of next.keys()) if (second < newest - 120) next.delete(second);
  return next;
}

export type Console = { minute: { seconds: ReadonlyMap<number, Second>; since: number }; events: ConsoleEvent[]; waiting: number; dropped: number; state: StreamState; loading: boolean; error: unknown; retry: () => void; take: () => void; clear: () => void };

/** The kept events and those that come, newest first. While `paused`, new ones are counted and kept apart. */
export function useConsole(kind: string, paused: boolean): Console {
  const selected = KINDS.find((each) => each === kind);
  const recent = useResource(["console", selected ?? ""], (signal) => api.GET("/admin/api/v1/console/recent", { params: { query: { limit: 500, ...(selected && { event: selected }) } }, signal }), { staleTime: 0 });
  const [lists, setLists] = useState({ key: "", ...EMPTY });
  const key = `${selected ?? ""}-${recent.dataUpdatedAt}`;
  const current = lists.key === key ? lists : { key, ...EMPTY };
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
        const base = before.key === key ? before : { key, ...EMPTY };
        const seconds = countSeconds(base.seconds, fresh);
        return paused ? { ...base, seconds, waiting: [...fresh, ...base.waiting].slice(0, KEPT) } : { ...base, seconds, shown: [...fresh, ...base.shown].slice(0, KEPT) };
      });
    }, 100);
  });
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const take = () => setLists({ ...current, shown: [...current.waiting, ...current.shown].slice(0, KEPT), waiting: [] });
  if (!paused && current.waiting.length) take();
  const read = recent.data?.events as unknown as ConsoleEvent[] | undefined;
  const old = (read ?? []).filter((event) => event.id > current.before);
  // Counted apart from the rows: those are at most 500, and some wait while the list is paused.
  const minute = useMemo(() => {
    const seconds = new Map(current.seconds);
    for (const [second, { value, bad }] of countSeconds(new Map(), read ?? [])) {
      const more = seconds.get(second) ?? { value: 0, bad: 0 };
      seconds.set(second, { value: value + more.value, bad: bad + more.bad });
    }
    const oldest = read?.length && (recent.data?.last_id ?? 0) > KEPT ? Math.min(...read.map((event) => Date.parse(event.at))) / 1000 : 0;
    return { seconds, since: current.dropped ? Math.max(0, ...seconds.keys()) : Math.floor(oldest) };
  }, [current.seconds, current.dropped, read, recent.data?.last_id]);
  const events = [...current.shown, ...[...old].reverse()].slice(0, KEPT);
  return {
    minute,
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
