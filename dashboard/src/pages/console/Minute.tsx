import { useEffect, useState } from "react";
import { TickBars } from "@/components/charts/Sparkline";
import { cx } from "@/components/cx";
import { count, plural } from "@/format";
import type { Second } from "./events";

export const SECONDS = 60;

/** Requests in each of the last 60 seconds. `since` is the second from which on the count is complete. */
export function Minute({ seconds, since }: { seconds: ReadonlyMap<number, Second>; since: number }) {
  const [now, setNow] = useState(() => Math.floor(Date.now() / 1000));
  useEffect(() => {
    const timer = setInterval(() => setNow(Math.floor(Date.now() / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  // The clock of the gateway may be ahead of the one here.
  const end = Math.max(now, ...seconds.keys());
  const bars = Array.from({ length: SECONDS }, (_, i) => seconds.get(end - SECONDS + 1 + i) ?? { value: 0, bad: 0 });
  const calls = bars.reduce((sum, bar) => sum + bar.value, 0);
  const errors = bars.reduce((sum, bar) => sum + bar.bad, 0);
  const least = since > end - SECONDS + 1;
  const title = least ? "The console keeps 500 events: older ones of this minute are not counted." : undefined;
  return (
    <section aria-label="Last minute" className="grid grid-cols-[auto_minmax(0,1fr)] items-end gap-6 border-b border-line px-6 py-2.5 phone:px-4">
      <dl className="num flex gap-6">
        <div title={title}>
          <dt className="text-small text-ink-3">Last minute</dt>
          <dd className="text-lead font-medium">{least && "≥ "}{plural(calls, "request")}</dd>
        </div>
        <div title={title}>
          <dt className="text-small text-ink-3">Errors</dt>
          <dd className={cx("text-lead font-medium", errors > 0 && "text-bad")}>{least && "≥ "}{count(errors)}</dd>
        </div>
      </dl>
      <div>
        <TickBars height={28} bars={bars} label={`Requests in each of the last 60 seconds: ${calls} in all, ${errors} with errors`} />
        <div aria-hidden className="num mt-1 flex justify-between border-t border-line pt-0.5 text-micro text-ink-3"><span>60 s ago</span><span>now</span></div>
      </div>
    </section>
  );
}
