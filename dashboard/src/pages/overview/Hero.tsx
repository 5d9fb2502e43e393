import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { BarChart } from "@/components/charts/BarChart";
import { LineChart } from "@/components/charts/LineChart";
import { swatch } from "@/components/charts/plot";
import { Sparkline } from "@/components/charts/Sparkline";
import { Delta, Figure } from "@/components/Figure";
import { usePhone } from "@/components/media";
import { clock, day, NONE, percent } from "@/format";
import { changeOf, costSeries, FIGURES, type FigureName, type FigureShape } from "./figures";
import type { Range, Usage } from "./queries";

type HeroProps = { usage: Usage; figure: FigureName; onFigure: (name: FigureName) => void; range: Range; onZoom: (from: number, to: number) => void };

/** The strip of figures, and the chart and table of the chosen one. */
export function Hero({ usage, figure, onFigure, range, onZoom }: HeroProps) {
  const shape = FIGURES.find((each) => each.name === figure) ?? FIGURES[0]!;
  return (
    <section aria-label="Key figures" className="rounded-lg border border-line bg-surface">
      <div role="tablist" aria-label="Figure shown in the chart" className="grid grid-cols-6 border-b border-line narrow:grid-cols-3 phone:grid-cols-2">
        {FIGURES.map((each) => (
          <Tab key={each.name} shape={each} usage={usage} on={each === shape} onPick={() => onFigure(each.name)} />
        ))}
      </div>
      <div role="tabpanel" aria-label={shape.title} className="grid grid-cols-[minmax(0,1fr)_344px] narrow:grid-cols-1">
        <Chart usage={usage} shape={shape} range={range} onZoom={onZoom} />
        <ByModel usage={usage} range={range} />
      </div>
    </section>
  );
}

function Tab({ shape, usage, on, onPick }: { shape: FigureShape; usage: Usage; on: boolean; onPick: () => void }) {
  const total = shape.total(usage.totals);
  const parts = total === null ? { value: shape.name === "cost" && usage.totals.requests ? "unpriced" : NONE, unit: "" } : shape.parts(total);
  const change = changeOf(shape, usage);
  return (
    <button type="button" role="tab" aria-selected={on} tabIndex={0} onClick={onPick} className="group relative min-w-0 border-l border-line px-4 pt-3 pb-2.5 text-left first:rounded-tl-lg first:border-l-0 last:rounded-tr-lg hover:bg-hover aria-selected:after:absolute aria-selected:after:inset-x-0 aria-selected:after:-bottom-px aria-selected:after:h-0.5 aria-selected:after:bg-accent-ink narrow:border-b phone:border-l-0 phone:px-3.5 phone:py-2.5 phone:even:border-l">
      <Figure label={shape.label} value={parts.value} unit={parts.unit} hint="Compared with the period before" delta={change ? <Delta change={change.change} text={change.text} good={shape.good} /> : undefined} spark={<Sparkline values={shape.series(usage)} />} />
    </button>
  );
}

function Chart({ usage, shape, range, onZoom }: { usage: Usage; shape: FigureShape; range: Range; onZoom: (from: number, to: number) => void }) {
  const phone = usePhone();
  const times = useMemo(() => usage.periods.map((period) => Date.parse(period.at) / 1000), [usage]);
  const hourly = usage.interval === "hourly";
  const timeLabel = (seconds: number) => (hourly ? clock(seconds * 1000) : day(seconds * 1000));
  const running = !range.end;
  const bars = useMemo(() => (shape.name === "cost" ? costSeries(usage) : [{ name: shape.label, values: shape.series(usage) }]), [usage, shape]);
  const lines = useMemo(() => [{ name: shape.label.replace(/^Latency /, ""), values: shape.series(usage), tone: shape.name === "errors" ? ("bad" as const) : ("strong" as const) }], [usage, shape]);
  const before = shape.total(usage.previous);
  const common = { label: `${shape.title} per ${hourly ? "hour" : "day"}`, times, format: shape.format, axisFormat: shape.axis, timeLabel, lastLabel: running ? (hourly ? "Now" : "Today") : undefined, height: phone ? 168 : 236, onZoom: hourly ? undefined : onZoom };
  return (
    <div className="min-w-0 pt-3 pr-2 pb-2 pl-4">
      <div className="flex min-h-6 items-center gap-3 pr-2 pb-1 text-small text-ink-3">
        <b className="text-body font-medium text-ink">
          {shape.title} {shape.name === "cost" ? "and" : "by"} {hourly ? "hour" : "day"}
        </b>
        {before !== null && <span className="num truncate">{shape.format(before)} in the period before</span>}
      </div>
      {["errors", "p50", "p95"].includes(shape.name) ? <LineChart {...common} series={lines} peak /> : <BarChart {...common} series={bars} running={running} phone={phone} />}
    </div>
  );
}

function ByModel({ usage, range }: { usage: Usage; range: Range }) {
  const series = costSeries(usage);
  const sums = series.map((each) => each.values.reduce<number>((sum, value) => sum + (value ?? 0), 0));
  const total = usage.totals.total_cost ?? 0;
  const cell = "h-7 px-2 first:pl-0 last:pr-0";
  const search = { user_path: range.path || undefined, days: range.days };
  return (
    <div className="py-3 pr-4 pl-2 narrow:px-4">
      <table className="w-full" aria-label="Cost by model">
        <thead>
          <tr className="text-small text-ink-3 [&>th]:h-6 [&>th]:px-2 [&>th]:font-medium">
            <th scope="col" className="pl-0! text-left">Model</th>
            <th scope="col" className="text-right">Cost</th>
            <th scope="col" className="pr-0! text-right">Share</th>
          </tr>
        </thead>
        <tbody>
          {series.map((each, i) => (
            <tr key={each.name}>
              <td className={`${cell} max-w-0 w-full`}>
                <span className="flex items-center gap-2">
                  <span aria-hidden className={swatch(i, Boolean(each.other))} />
                  {each.other ? <span className="truncate">others</span> : <Link to="/usage" search={{ ...search, model: each.name }} className="truncate hover:underline">{each.name}</Link>}
                </span>
              </td>
              <td className={`${cell} num text-right`}>{FIGURES[0]!.format(sums[i] ?? 0)}</td>
              <td className={`${cell} num text-right text-ink-2`}>{percent(total ? (sums[i] ?? 0) / total : null)}</td>
            </tr>
          ))}
          <tr className="font-medium [&>td]:border-t [&>td]:border-line">
            <td className={cell}>Total</td>
            <td className={`${cell} num text-right`}>{usage.totals.total_cost == null ? "unpriced" : FIGURES[0]!.format(total)}</td>
            <td className={cell} />
          </tr>
        </tbody>
      </table>
    </div>
  );
}
