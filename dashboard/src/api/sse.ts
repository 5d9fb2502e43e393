import { useEffect, useEffectEvent, useState } from "react";
import { request } from "./client";
import { ApiError } from "./errors";

export type StreamEvent = { event: string; id: string | null; data: string };
export type StreamState = "off" | "connecting" | "live" | "failed";

/** Splits the text of an event stream into events; `rest` is the unfinished end. */
export function parseEvents(text: string): { events: StreamEvent[]; rest: string } {
  const blocks = text.replace(/\r\n?/g, "\n").split("\n\n");
  const rest = blocks.pop() ?? "";
  const events = blocks.flatMap((block) => {
    const event: StreamEvent = { event: "message", id: null, data: "" };
    const data: string[] = [];
    for (const line of block.split("\n")) {
      if (line.startsWith(":")) continue;
      const at = line.indexOf(":");
      const name = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (name === "event") event.event = value;
      else if (name === "id") event.id = value;
      else if (name === "data") data.push(value);
    }
    return data.length ? [{ ...event, data: data.join("\n") }] : [];
  });
  return { events, rest };
}

/** Reads the body of an answer as server-sent events. */
export async function* readEvents(response: Response): AsyncGenerator<StreamEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parsed = parseEvents(rest + value);
      rest = parsed.rest;
      yield* parsed.events;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

type FollowOptions = { signal: AbortSignal; onEvent: (event: StreamEvent) => void; onState: (state: StreamState) => void };

/** Follows a stream until the signal: reconnects with growing pauses (1 to 30 s) and Last-Event-ID. */
export async function follow(path: string, { signal, onEvent, onState }: FollowOptions): Promise<void> {
  let last: string | null = null;
  let wait = 1000;
  while (!signal.aborted) {
    onState("connecting");
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const response = await request(path, { headers, signal });
      onState("live");
      wait = 1000;
      for await (const event of readEvents(response)) {
        if (event.id) last = event.id;
        onEvent(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status < 500) return onState("failed");
      if (error instanceof ApiError && error.unavailable) return onState("failed");
    }
    await pause(wait, signal);
    wait = Math.min(wait * 2, 30_000);
  }
}

/** Follows an event stream while mounted; `null` turns it off. Returns the state of the connection. */
export function useStream(path: string | null, onEvent: (event: StreamEvent) => void): StreamState {
  const [state, setState] = useState<StreamState>("off");
  const receive = useEffectEvent(onEvent);
  useEffect(() => {
    if (!path) return;
    const stop = new AbortController();
    void follow(path, { signal: stop.signal, onEvent: (event) => receive(event), onState: (next) => !stop.signal.aborted && setState(next) });
    return () => stop.abort();
  }, [path]);
  return path ? state : "off";
}
