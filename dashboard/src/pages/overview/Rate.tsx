import { useEffect, useState } from "react";
import { ADMIN } from "@/api/client";
import { useStream, type StreamState } from "@/api/sse";
import { TickBars } from "@/components/charts/Sparkline";
import { Panel } from "@/components/Panel";
import { count, duration } from "@/format";

type Tick = { second: number; calls: number; errors: number; overhead: number };
export type LiveRate = { state: StreamState; bars: { value: number; bad: number }[]; perSecond: number; overheadMs: number | null };

const SECONDS = 60;

/** Calls of the last minute from the console's stream. */
export function useRate(enabled: boolean): LiveRate {
  const [ticks, setTicks] = useState<Tick[]>([]);
  const [now, setNow] = useState(() => Math.floor(Date.now() / 1000));
  const state = useStream(enabled ? `${ADMIN}/console/stream?event=request` : null, (event) => {
    if (event.event !== "request") return;
    const call = JSON.parse(event.data) as { at: string; status: number; overhead_us?: number };
    const second = Math.floor(Date.parse(call.at) / 1000);
    setTicks((before) => {
      const kept = before.filter((tick) => tick.second > second - SECONDS);
      const found = kept.find((tick) => tick.second === second) ?? { second, calls: 0, errors: 0, overhead: 0 };
      const next = { second, calls: found.calls + 1, errors: found.errors + (call.status >= 400 ? 1 : 0), overhead: found.overhead + (call.overhead_us ?? 0) };
      return [...kept.filter((tick) => tick !== found), next];
    });
  });
  useEffect(() => {
    const timer = setInterval(() => setNow(Math.floor(Date.now() / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  const shown = ticks.filter((tick) => tick.second > now - SECONDS);
  const bySecond = new Map(shown.map((tick) => [tick.second, tick]));
  const bars = Array.from({ length: SECONDS }, (_, i) => bySecond.get(now - SECONDS + 1 + i)).map((tick) => ({ value: tick?.calls ?? 0, bad: tick?.errors ?? 0 }));
  // A call of the second that has just begun counts, too, so that the mean is over the same calls.
  const calls = shown.reduce((sum, tick) => sum + tick.calls, 0);
  const overhead = shown.reduce((sum, tick) => sum + tick.overhead, 0);
  return { state, bars, perSecond: calls / SECONDS, overheadMs: calls ? overhead / calls / 1000 : null };
}

/** Requests per second of the last minute. */
export function RatePanel({ rate, inFlight }: { rate: LiveRate; inFlight?: number | null }) {
  return (
    <Panel title="Requests per second" sub="last minute" go={{ label: "Console", to: "/console" }}>
      <div className="grid grid-cols-[auto_minmax(0,1fr)] items-end gap-4 px-4 pb-3">
        <div>
          <div className="num text-display font-strong tracking-[-0.02em]">{rate.perSecond < 100 ? rate.perSecond.toFixed(1) : count(rate.perSecond)}</div>
          {inFlight != null && <div className="num text-small whitespace-nowrap text-ink-3">{count(inFlight)} in flight</div>}
          <div className="num text-small whitespace-nowrap text-ink-3">{rate.overheadMs === null ? "no calls" : `overhead ${duration(rate.overheadMs)}`}</div>
        </div>
        <TickBars bars={rate.bars} label={`Requests in each of the last 60 seconds, ${rate.perSecond.toFixed(1)} per second on average`} />
      </div>
    </Panel>
  );
}
