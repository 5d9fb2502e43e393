import type { BarSeries } from "@/components/charts/BarChart";
import { changeText, compact, compactParts, count, duration, durationParts, money, moneyFigure, percent } from "@/format";
import type { Usage } from "./queries";

export type FigureName = "cost" | "requests" | "tokens" | "saved" | "errors" | "p95" | "ttfb";

export type FigureShape = {
  name: FigureName;
  label: string;
  /** Title of the chart. */
  title: string;
  /** Series of the API that the chart draws; the first is the figure's own. */
  series: readonly string[];
  total: (usage: Usage["totals"]) => number | null;
  parts: (value: number) => { value: string; unit: string };
  format: (value: number) => string;
  axis: (value: number) => string;
  good?: "up" | "down";
  /** The change is in points of a share, not in percent. */
  points?: boolean;
  /** Sums are bars, rates and times are lines. */
  lines?: boolean;
  /** The page with the rows of the figure. */
  rows: { label: string; to: string; search?: Record<string, string> };
};

const moneyAxis = (v: number) => (v === 0 ? "$0" : v < 1 ? `$${Number(v.toPrecision(2))}` : `$${compact(v)}`);
export const timeAxis = (v: number) => (v === 0 ? "0 s" : v < 1000 ? `${Number(v.toPrecision(3))} ms` : `${v / 1000} s`);
const dollars = (v: number) => ({ value: moneyFigure(v), unit: "" });
const rates = { good: "down", lines: true } as const;

/** The figures of the strip, in order. */
export const FIGURES: FigureShape[] = [
  { name: "cost", label: "Cost", title: "Cost by model", series: ["cost"], total: (t) => t.total_cost ?? null, parts: dollars, format: money, axis: moneyAxis, rows: { label: "Usage by model", to: "/usage", search: { by: "model" } } },
  { name: "requests", label: "Requests", title: "Requests", series: ["requests"], total: (t) => t.requests, parts: compactParts, format: count, axis: compact, rows: { label: "All calls", to: "/audit" } },
  { name: "tokens", label: "Tokens", title: "Tokens", series: ["tokens"], total: (t) => t.total_tokens, parts: compactParts, format: count, axis: compact, rows: { label: "Usage by model", to: "/usage", search: { by: "model" } } },
  { name: "saved", label: "Saved by cache", title: "Saved by cache", series: ["saved_cost"], total: (t) => t.saved_cost ?? (t.requests && !t.cache_hits ? 0 : null), parts: dollars, format: money, axis: moneyAxis, good: "up", rows: { label: "Cache", to: "/cache" } },
  { name: "errors", label: "Error rate", title: "Error rate", series: ["error_rate"], total: (t) => t.error_rate ?? null, parts: (v) => ({ value: (v * 100).toFixed(2), unit: "%" }), format: (v) => percent(v, 2), axis: (v) => percent(v, v < 0.1 ? 1 : 0), points: true, ...rates, rows: { label: "Failed calls", to: "/audit", search: { status: "error" } } },
  { name: "p95", label: "Latency p95", title: "Latency of whole answers", series: ["p95", "p50"], total: (t) => t.p95 ?? null, parts: durationParts, format: duration, axis: timeAxis, ...rates, rows: { label: "Slowest calls", to: "/audit", search: { sort: "-duration" } } },
  { name: "ttfb", label: "First byte p95", title: "Time to the first byte", series: ["ttfb_p95", "ttfb_p50"], total: (t) => t.ttfb_p95 ?? null, parts: durationParts, format: duration, axis: timeAxis, ...rates, rows: { label: "Slowest calls", to: "/audit", search: { sort: "-duration" } } },
];

/** The values of a series over the range, or over the range before. */
export function valuesOf(usage: Usage, name: string, before = false): (number | null)[] {
  return (before ? usage.previous_series : usage.series).find((each) => each.name === name)?.values ?? [];
}

/** Change against the period before: relative, or in points for shares; null without a value before. */
export function changeOf(shape: FigureShape, usage: Usage): { change: number | null; text: string } | null {
  const now = shape.total(usage.totals);
  const before = shape.total(usage.previous);
  if (now === null) return null;
  if (before === null || (before === 0 && now !== 0)) return { change: null, text: "" };
  if (shape.points) return { change: (now - before) * 100, text: `${Math.abs((now - before) * 100).toFixed(2)} pt` };
  const change = before === 0 ? 0 : (now - before) / before;
  return { change, text: changeText(change) };
}

/** Stacked series of the cost: at most five models and "others". */
export function costSeries(usage: Usage): BarSeries[] {
  const main = usage.cost_by_model.filter((each) => !each.other);
  const rest = usage.cost_by_model.find((each) => each.other);
  const tail = main.slice(5);
  const others = usage.periods.map((_, i) => tail.reduce((sum, each) => sum + (each.values[i] ?? 0), rest?.values[i] ?? 0));
  const shown: BarSeries[] = main.slice(0, 5).map(({ name, values }) => ({ name, values }));
  if (!tail.length && !rest?.total) return shown;
  const left = usage.model_count - shown.length;
  return [...shown, { name: left > 1 ? `${left} others` : "others", values: others, other: true }];
}
