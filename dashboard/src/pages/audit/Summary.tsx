import { shiftDay } from "@/components/charts/days";
import { TickBars } from "@/components/charts/Sparkline";
import { cx } from "@/components/cx";
import { Skeleton } from "@/components/Skeleton";
import { clock, count, day, duration, endOfDay, isoDay, NONE, percent, plural, startOfDay } from "@/format";
import type { Filters, SetFilters } from "./queries";
import type { Stats } from "./types";

const BARS = 96;
type Bar = { start: number; value: number; bad: number };

/** The buckets as at most 96 bars without holes, over the chosen range; times in seconds. */
export function barsOf(stats: Stats, from: number, until: number): { bars: Bar[]; seconds: number } {
  const starts = stats.buckets.map((bucket) => Date.parse(bucket.start) / 1000);
  const size = stats.bucket_seconds;
  if (!starts.length || !size) return { bars: [], seconds: size };
  // Figures of the newest calls only say nothing about the time before them.
  const first = stats.truncated ? Math.min(...starts) : Math.min(Math.floor(from / size) * size, ...starts);
  const end = Math.max(Math.ceil(until / size) * size, Math.max(...starts) + size);
  const seconds = size * Math.max(1, Math.ceil((end - first) / size / BARS));
  const bars = Array.from({ length: Math.ceil((end - first) / seconds) }, (_, i) => ({ start: first + i * seconds, value: 0, bad: 0 }));
  stats.buckets.forEach((bucket, i) => {
    const bar = bars[Math.floor((starts[i]! - first) / seconds)];
    if (!bar) return;
    bar.value += bucket.count;
    bar.bad += bucket.errors;
  });
  return { bars, seconds };
}

/** Begin and end of the chosen range in seconds: whole days in the chosen zone, until now at most. */
function rangeOf({ days, start_date, end_date }: Filters, now: number): [from: number, until: number] {
  const last = end_date || isoDay(now);
  const first = start_date || shiftDay(last, 1 - Number(days));
  return [startOfDay(first) / 1000, Math.min(now, Date.parse(endOfDay(last))) / 1000];
}

/** Figures over the list and the histogram of calls; a bar leads to its day. */
export function Summary({ stats, now, filters, setFilters }: { stats: Stats | null | undefined; now: number; filters: Filters; setFilters: SetFilters }) {
  if (!stats) return <div role="status" aria-label="Loading" className="flex h-[78px] items-end gap-6 border-b border-line px-6 pb-4"><Skeleton /><Skeleton /><Skeleton className="w-96" /></div>;
  // The figures of the filters before are shown while new ones are read; their time is not known then.
  const moment = now || Date.parse(stats.buckets.at(-1)?.start ?? "") || 0;
  const { bars, seconds } = barsOf(stats, ...rangeOf(filters, moment));
  const first = bars[0];
  const middle = [0, 0.25, 0.5, 0.75].map((share) => bars[Math.floor(share * bars.length)]).filter((bar) => bar !== undefined);
  const last = filters.end_date && filters.end_date < isoDay(moment) ? day(`${filters.end_date}T12:00:00Z`) : "now";
  const wide = seconds * bars.length > 2 * 86_400;
  const label = (bar: Bar) => (wide ? day(bar.start * 1000) : clock(bar.start * 1000));
  const openDay = (index: number) => {
    const bar = bars[index];
    if (!bar) return;
    setFilters({ start_date: isoDay(bar.start * 1000), end_date: isoDay((bar.start + seconds - 1) * 1000), days: null }, { push: true });
  };
  return (
    <section aria-label="Figures" className="grid grid-cols-[auto_minmax(0,1fr)] items-end gap-x-8 border-b border-line px-6 pt-3 pb-2 narrow:grid-cols-1 narrow:gap-y-2 phone:px-4">
      <dl className="flex phone:justify-between">
        <Fig label={stats.truncated ? "Newest calls" : "Calls"}>{count(stats.count)}</Fig>
        <Fig label="Errors">
          {stats.errors ? (
            <button type="button" aria-pressed={filters.status === "error"} title="Show only errors" className="rounded-sm underline decoration-line-strong underline-offset-2 hover:decoration-current" onClick={() => setFilters({ status: filters.status === "error" ? null : "error" })}>
              {count(stats.errors)}
            </button>
          ) : (
            "0"
          )}{" "}
          <small className="text-small font-regular text-ink-3">{stats.count ? percent(stats.errors / stats.count, 2) : ""}</small>
        </Fig>
        <Fig label="p50">{duration(stats.p50_ms)}</Fig>
        <Fig label="p95">{stats.p95_ms == null ? NONE : <button type="button" title="Slowest first" className="rounded-sm underline decoration-line-strong underline-offset-2 hover:decoration-current" onClick={() => setFilters({ sort: "-duration" })}>{duration(stats.p95_ms)}</button>}</Fig>
      </dl>
      {first ? (
        <div>
          <TickBars histogram height={36} bars={bars} onPick={wide ? openDay : undefined} label={`Calls over time: ${plural(stats.count, "call")}, ${plural(stats.errors, "error")}, from ${label(first)} until ${last}`} />
          <div aria-hidden className="num relative mt-1 h-4 text-micro text-ink-3">
            {middle.map((bar, i) => (
              <span key={bar.start} className={cx("absolute", i === 2 && "phone:hidden")} style={{ left: `${(bars.indexOf(bar) / bars.length) * 100}%` }}>
                {label(bar)}
              </span>
            ))}
            <span className="absolute right-0">{last}</span>
          </div>
        </div>
      ) : (
        <div />
      )}
    </section>
  );
}

function Fig({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className="border-l border-line px-4 first:border-0 first:pl-0 phone:px-2.5 phone:last:pr-0">
      <dt className="text-small text-ink-3">{label}</dt>
      <dd className="num text-lead font-medium whitespace-nowrap">{children}</dd>
    </div>
  );
}
