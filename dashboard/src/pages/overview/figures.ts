import type { BarSeries } from "@/components/charts/BarChart";
import { compact, compactParts, count, duration, durationParts, money, moneyFigure, percent } from "@/format";
import type { Usage } from "./queries";

export type FigureName = "cost" | "requests" | "tokens" | "errors" | "p50" | "p95";

export type FigureShape = {
  name: FigureName;
  label: string;
  /** Title of the chart. */
  title: string;
  total: (usage: Usage["totals"]) => number | null;
  parts: (value: number) => { value: string; unit: string };
  format: (value: number) => string;
  axis: (value: number) => string;
  good?: "up" | "down";
  /** The change is in points of a share, not in percent. */
  points?: boolean;
  series: (usage: Usage) => (number | null)[];
};

const named = (usage: Usage, name: string) => usage.series.find((each) => each.name === name)?.values ?? [];
const share = (a: (number | null)[], b: (number | null)[]) => b.map((value, i) => (value ? (a[i] ?? 0) / value : null));

/** The figures of the strip, in order. */
export const FIGURES: FigureShape[] = [
  { name: "cost", label: "Cost", title: "Cost by model", total: (t) => t.total_cost ?? null, parts: (v) => ({ value: moneyFigure(v), unit: "" }), format: money, axis: (v) => (v === 0 ? "$0" : v < 1 ? `$${Number(v.toPrecision(2))}` : `$${compact(v)}`), series: (u) => named(u, "cost") },
  { name: "requests", label: "Requests", title: "Requests", total: (t) => t.requests, parts: compactParts, format: count, axis: compact, series: (u) => named(u, "requests") },
  { name: "tokens", label: "Tokens", title: "Tokens", total: (t) => t.total_tokens, parts: compactParts, format: count, axis: compact, series: (u) => named(u, "tokens") },
  { name: "errors", label: "Error rate", title: "Error rate", total: (t) => t.error_rate ?? null, parts: (v) => ({ value: (v * 100).toFixed(2), unit: "%" }), format: (v) => percent(v, 2), axis: (v) => percent(v, v < 0.1 ? 1 : 0), good: "down", points: true, series: (u) => share(named(u, "errors"), named(u, "requests")) },
  { name: "p50", label: "Latency p50", title: "Latency p50", total: (t) => t.p50 ?? null, parts: durationParts, format: duration, axis: (v) => (v === 0 ? "0 s" : `${v / 1000} s`), good: "down", series: (u) => named(u, "p50") },
  { name: "p95", label: "Latency p95", title: "Latency p95", total: (t) => t.p95 ?? null, parts: durationParts, format: duration, axis: (v) => (v === 0 ? "0 s" : `${v / 1000} s`), good: "down", series: (u) => named(u, "p95") },
];

/** Change against the period before: relative, or in points for shares; null without a value before. */
export function changeOf(shape: FigureShape, usage: Usage): { change: number | null; text: string } | null {
  const now = shape.total(usage.totals);
  const before = shape.total(usage.previous);
  if (now === null) return null;
  if (before === null || (before === 0 && now !== 0)) return { change: null, text: "" };
  if (shape.points) return { change: (now - before) * 100, text: `${Math.abs((now - before) * 100).toFixed(2)} pt` };
  const change = before === 0 ? 0 : (now - before) / before;
  return { change, text: `${Math.abs(change * 100).toFixed(1)}%` };
}

/** Stacked series of the cost: at most five models and "others". */
export function costSeries(usage: Usage): BarSeries[] {
  const main = usage.cost_by_model.filter((each) => !each.other);
  const rest = usage.cost_by_model.find((each) => each.other);
  const tail = main.slice(5);
  const others = usage.periods.map((_, i) => tail.reduce((sum, each) => sum + (each.values[i] ?? 0), rest?.values[i] ?? 0));
  const shown: BarSeries[] = main.slice(0, 5).map(({ name, values }) => ({ name, values }));
  return tail.length || rest?.total ? [...shown, { name: "others", values: others, other: true }] : shown;
}
