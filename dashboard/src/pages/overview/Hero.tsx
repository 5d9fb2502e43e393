import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { useMemo } from "react";
import { BarChart } from "@/components/charts/BarChart";
import { LineChart } from "@/components/charts/LineChart";
import { Sparkline } from "@/components/charts/Sparkline";
import { Delta, Figure } from "@/components/Figure";
import { usePhone } from "@/components/media";
import { clock, day, NONE } from "@/format";
import { ByModel } from "./ByModel";
import { changeOf, costSeries, FIGURES, valuesOf, type FigureName, type FigureShape } from "./figures";
import { rangeSearch, type Range, type Usage } from "./queries";

type HeroProps = { usage: Usage; figure: FigureName; onFigure: (name: FigureName) => void; range: Range; onZoom: (from: number, to: number) => void };

/** The strip of figures, and the chart and table of the chosen one. */
export function Hero({ usage, figure, onFigure, range, onZoom }: HeroProps) {
  const shape = FIGURES.find((each) => each.name === figure) ?? FIGURES[0]!;
  return (
    <section aria-label="Key figures" className="rounded-lg border border-line bg-surface">
      <div role="tablist" aria-label="Figure shown in the chart" className="grid grid-cols-7 border-b border-line narrow:grid-cols-4 phone:grid-cols-2">
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
  const unpriced = (shape.name === "cost" && usage.totals.requests > 0) || (shape.name === "saved" && usage.totals.cache_hits > 0);
  const parts = total === null ? { value: unpriced ? "unpriced" : NONE, unit: "" } : shape.parts(total);
  const change = changeOf(shape, usage);
  return (
    <button type="button" role="tab" aria-selected={on} tabIndex={0} onClick={onPick} className="group relative min-w-0 border-l border-line px-4 pt-3 pb-2.5 text-left first:rounded-tl-lg first:border-l-0 last:rounded-tr-lg hover:bg-hover aria-selected:after:absolute aria-selected:after:inset-x-0 aria-selected:after:-bottom-px aria-selected:after:h-0.5 aria-selected:after:bg-accent-ink narrow:border-b narrow:nth-5:border-l-0 phone:border-l-0 phone:px-3.5 phone:py-2.5 phone:last:col-span-2 phone:last:border-b-0 phone:even:border-l">
      <Figure label={shape.label} value={parts.value} unit={parts.unit} hint="Compared with the period before" delta={change ? <Delta change={change.change} text={change.text} good={shape.good} /> : undefined} spark={<Sparkline values={valuesOf(usage, shape.series[0]!)} className="narrow:block min-[1181px]:max-[1340px]:hidden" />} />
    </button>
  );
}

const LINE_NAMES: Record<string, string> = { p95: "p95", p50: "p50", ttfb_p95: "p95", ttfb_p50: "p50", error_rate: "now" };

function Chart({ usage, shape, range, onZoom }: { usage: Usage; shape: FigureShape; range: Range; onZoom: (from: number, to: number) => void }) {
  const phone = usePhone();
  const times = useMemo(() => usage.periods.map((period) => Date.parse(period.at) / 1000), [usage]);
  const bars = useMemo(() => (shape.name === "cost" ? costSeries(usage) : [{ name: shape.label, values: valuesOf(usage, shape.series[0]!) }]), [usage, shape]);
  const lines = useMemo(
    () => [
      ...shape.series.map((name, i) => ({ name: LINE_NAMES[name] ?? name, values: valuesOf(usage, name), tone: shape.name === "errors" ? ("bad" as const) : i ? ("strong" as const) : ("normal" as const) })),
      ...(shape.series.length === 1 ? [{ name: "before", values: valuesOf(usage, shape.series[0]!, true), tone: "normal" as const }] : []),
    ],
    [usage, shape],
  );
  const previous = useMemo(() => valuesOf(usage, shape.series[0]!, true), [usage, shape]);
  const hourly = usage.interval === "hourly";
  const unit = hourly ? "hour" : "day";
  const timeLabel = (seconds: number) => (hourly ? clock(seconds * 1000) : day(seconds * 1000));
  const running = !range.end;
  const before = shape.total(usage.previous);
  const known = previous.some((value) => value);
  const common = { label: `${shape.title} per ${unit}`, times, format: shape.format, axisFormat: shape.axis, timeLabel, lastLabel: running ? (hourly ? "Now" : "Today") : undefined, height: phone ? 168 : 236, onZoom: hourly ? undefined : onZoom };
  return (
    <div className="min-w-0 pt-3 pr-2 pb-2 pl-4">
      <div className="flex min-h-6 items-center gap-3 pr-2 pb-1 text-small text-ink-3">
        <b className="text-body font-medium whitespace-nowrap text-ink">
          {shape.title} {shape.name === "cost" ? "and" : "by"} {unit}
        </b>
        {before !== null && (
          <span className="num flex min-w-0 items-center gap-1.5 phone:hidden">
            {known && !shape.lines && <span aria-hidden className="h-px w-3 flex-none bg-ink-2" />}
            <span className="truncate">
              {`${hourly ? "the day before, same hour" : `${times.length} ${times.length === 1 ? "day" : "days"} before, same day`}; ${shape.format(before)} in all`}
            </span>
          </span>
        )}
        <Link to={shape.rows.to} search={{ ...rangeSearch(range), ...shape.rows.search } as never} className="ml-auto inline-flex items-center gap-1 rounded-sm px-2 py-1 whitespace-nowrap text-ink-2 hover:bg-hover hover:text-ink">
          {shape.rows.label}
          <ArrowRight aria-hidden className="size-3.5 text-ink-3" />
        </Link>
      </div>
      {shape.lines ? <LineChart {...common} series={lines} peak /> : <BarChart {...common} series={bars} previous={known ? previous : undefined} previousLabel={hourly ? "The day before" : `${times.length} days before`} running={running} phone={phone} />}
    </div>
  );
}
