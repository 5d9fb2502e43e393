import { useEffect, useRef, useState } from "react";
import { ADMIN } from "@/api/client";
import { useStream, type StreamState } from "@/api/sse";
import { isoDay } from "@/format";
import { callQuery, type Filters } from "./queries";
import type { Entry } from "./types";

const KEPT = 500;

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
  const state = useStream(on ? `${ADMIN}/audit/log/stream?${new URLSearchParams(callQuery(filters)).toString()}` : null, (event) => {
    if (event.event === "dropped") {
      const { count } = JSON.parse(event.data) as { count: number };
      if (count) setLists({ ...current, dropped: current.dropped + count });
      return;
    }
    if (event.event !== "entry") return;
    const entry = JSON.parse(event.data) as Entry;
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
