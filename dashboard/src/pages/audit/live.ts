import { useEffect, useRef, useState } from "react";
import { ADMIN } from "@/api/client";
import { useStream, type StreamState } from "@/api/sse";
import { isoDay } from "@/format";
import { type Filters } from "./queries";
import type { Entry } from "./types";

const KEPT = 500;
const below = (path: string, root: string) => root === "/" || path === root || path.startsWith(`${root.replace(/\/$/, "")}/`);

/** Whether a call belongs into the filtered list; the stream itself is not filtered. */
export function matches(entry: Entry, filters: Filters): boolean {
  const equal = (wanted: string, ...values: (string | null | undefined)[]) => !wanted || values.includes(wanted);
  if (!equal(filters.method, entry.method) || !equal(filters.requested_model, entry.requested_model) || !equal(filters.provider, entry.provider, entry.provider_name)) return false;
  if (!equal(filters.auth_key_id, entry.auth_key_id) || !equal(filters.session_id, entry.session_id) || !equal(filters.error_type, entry.error_type) || !equal(filters.path, entry.path)) return false;
  if (/^\d{3}$/.test(filters.status) && entry.status_code !== Number(filters.status)) return false;
  if (filters.user_path && !below(entry.user_path, filters.user_path)) return false;
  if (filters.stream && String(entry.stream) !== filters.stream) return false;
  if (!filters.search) return true;
  const text = filters.search.toLowerCase();
  return [entry.request_id, entry.requested_model, entry.provider, entry.provider_name, entry.method, entry.path, entry.error_type, entry.data.error_message].some((value) => value?.toLowerCase().includes(text));
}

/** Whether new calls belong at the head of the list: newest first, and the range reaches today. */
export const canFollow = (filters: Filters) => filters.sort === "-timestamp" && (!filters.end_date || filters.end_date >= isoDay(new Date()));

export type LiveTail = { state: StreamState; shown: Entry[]; waiting: number; dropped: number; take: () => void };

/**
 * New calls from the stream. While `paused`, they are counted and kept; else they are shown at once. At most 500 of
 * each are kept.
 */
export function useLiveTail(filters: Filters, on: boolean, paused: boolean): LiveTail {
  const key = JSON.stringify({ ...filters, open: "", tab: "" });
  const [lists, setLists] = useState({ key, shown: [] as Entry[], waiting: [] as Entry[], count: 0, dropped: 0 });
  const current = lists.key === key ? lists : { key, shown: [], waiting: [], count: 0, dropped: 0 };
  // Events come in batches: one state change per frame, however many calls arrive.
  const batch = useRef<Entry[]>([]);
  const frame = useRef(0);
  const state = useStream(on ? `${ADMIN}/audit/log/stream` : null, (event) => {
    if (event.event === "dropped") {
      const { count } = JSON.parse(event.data) as { count: number };
      if (count) setLists({ ...current, dropped: current.dropped + count });
      return;
    }
    if (event.event !== "entry") return;
    const entry = JSON.parse(event.data) as Entry;
    if (!matches(entry, filters)) return;
    batch.current.unshift(entry);
    frame.current ||= window.setTimeout(() => {
      frame.current = 0;
      const fresh = batch.current;
      batch.current = [];
      setLists((before) => {
        const base = before.key === key ? before : { key, shown: [], waiting: [], count: 0, dropped: 0 };
        return paused ? { ...base, waiting: [...fresh, ...base.waiting].slice(0, KEPT), count: base.count + fresh.length } : { ...base, shown: [...fresh, ...base.shown].slice(0, KEPT) };
      });
    }, 100);
  });
  const take = () => setLists({ ...current, shown: [...current.waiting, ...current.shown].slice(0, KEPT), waiting: [], count: 0 });
  useEffect(() => () => window.clearTimeout(frame.current), []);
  // The reading is over: what waited is shown.
  if (!paused && current.waiting.length) take();
  return { state, shown: current.shown, waiting: current.count, dropped: current.dropped, take };
}
