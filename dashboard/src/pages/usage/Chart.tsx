import { useMemo } from "react";
import { BarChart } from "@/components/charts/BarChart";
import { swatch } from "@/components/charts/plot";
import { FigureStrip } from "@/components/FigureStrip";
import { Delta } from "@/components/Figure";
import { usePhone } from "@/components/media";
import { changeText, clock, compact, compactParts, count, day, isoDay, money, moneyFigure, NONE } from "@/format";
import type { Metric, Row, useSeries } from "./queries";

const FORMATS = { cost: money, requests: count, tokens: count };
const axis = (metric: Metric) => (value: number) =>
  metric === "cost" ? (value && value < 1 ? `$${Number(value.toPrecision(2))}` : `$${compact(value)}`) : compact(value);
const TITLES = { cost: "Cost", requests: "Requests", tokens: "Tokens" };
type Props = {
  rows: Row[];
  complete: boolean;
  series: ReturnType<typeof useSeries>;
  metric: Metric;
  onMetric: (metric: Metric) => void;
  running: boolean;
  nameOf: (name: string) => string;
  onZoom: (from: number, to: number) => void;
};

/** The figures of the range with their change, and the chosen one by group over time. */
export function UsageChart({ rows, complete, series, metric, onMetric, running, nameOf, onZoom }: Props) {
  const phone = usePhone();
  const data = series.data;
  const shown = useMemo(() => {
    if (!data) return null;
    const at = series.compared ? data.periods.findIndex((period) => isoDay(period.at) >= series.first) : 0;
    const from = at < 0 ? data.periods.length : at;
    const now = data.series.map((each) => ({ name: each.name, other: each.other, values: each.values.slice(from) }));
    const length = data.periods.length - from;
    const before = series.compared
      ? Array.from({ length }, (_, i) => (i < from ? data.series.reduce<number>((sum, each) => sum + (each.values[i] ?? 0), 0) : null))
      : undefined;
    return {
      times: data.periods.slice(from).map((period) => Date.parse(period.at) / 1000),
      now,
      before,
      priced: now.some((each) => each.values.some((value) => value != null)),
    };
  }, [data, series.compared, series.first]);
  const bars = useMemo(() => shown?.now.map((each) => ({ ...each, name: each.other ? "others" : nameOf(each.name) })) ?? [], [shown, nameOf]);
  const sum = (values: (number | null)[] | undefined) => (values ?? []).reduce<number>((all, value) => all + (value ?? 0), 0);
  const total = sum(shown?.now.flatMap((each) => each.values));
  const before = shown?.before ? sum(shown.before) : null;
  const known = {
    cost: rows.some((row) => row.total_cost != null) ? sum(rows.map((row) => row.total_cost ?? 0)) : null,
    requests: sum(rows.map((row) => row.requests)),
    tokens: sum(rows.map((row) => row.total_tokens)),
  };
  const figures = (["cost", "requests", "tokens"] as const).map((name) => {
    const value = complete ? known[name] : name === metric ? total : null;
    const parts =
      value === null
        ? { value: name === "cost" && rows.length ? "unpriced" : NONE, unit: "" }
        : name === "cost"
          ? { value: moneyFigure(value), unit: "" }
          : compactParts(value);
    const change =
      name === metric && before !== null && data?.metric === metric ? (before === 0 ? (total === 0 ? 0 : null) : (total - before) / before) : undefined;
    return {
      name,
      label: TITLES[name],
      ...parts,
      hint: "Compared with the period before",
      delta: change === undefined ? undefined : <Delta change={change} text={changeText(change ?? 0)} />,
    };
  });
  const label = (seconds: number) => (series.hourly ? clock(seconds * 1000) : day(seconds * 1000));
  return (
    <section aria-label="Usage over time" className="rounded-lg border border-line bg-surface">
      <FigureStrip
        label="Figure shown in the chart"
        figures={figures}
        picked={metric}
        onPick={(name) => onMetric(name as Metric)}
        className="phone:grid-cols-3"
      />
      <div role="tabpanel" aria-label={TITLES[metric]} className="px-4 pt-3 pb-3">
        <div className="flex min-h-6 flex-wrap items-center gap-x-4 gap-y-1 text-small text-ink-3">
          <b className="text-body font-medium text-ink">
            {TITLES[metric]} by {series.hourly ? "hour" : "day"}
          </b>
          {before !== null && <span className="num">{FORMATS[metric](before)} in the period before</span>}
          <span className="ml-auto flex flex-wrap gap-x-3 gap-y-1 phone:ml-0">
            {bars.map((each, i) => (
              <span key={`${each.name} ${i}`} className="inline-flex items-center gap-1.5">
                <span aria-hidden className={swatch(i, Boolean(each.other))} />
                {each.name}
              </span>
            ))}
          </span>
        </div>
        {shown && shown.times.length > 0 ? (
          <BarChart
            label={`${TITLES[metric]} over time, ${FORMATS[metric](total)} in all`}
            times={shown.times}
            series={bars}
            previous={shown.before}
            previousLabel="Period before"
            running={running}
            lastLabel={running ? (series.hourly ? undefined : "Today") : undefined}
            format={FORMATS[metric]}
            axisFormat={axis(metric)}
            timeLabel={label}
            height={phone ? 168 : 220}
            phone={phone}
            onZoom={series.hourly ? undefined : onZoom}
          />
        ) : (
          <div className="h-[220px]" />
        )}
      </div>
    </section>
  );
}
