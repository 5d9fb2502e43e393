import { useMemo } from "react";
import uPlot from "uplot";
import { axis, labelled, seriesToken, steps, swatch, type TipRow, token, tooltip } from "./plot";
import { Plot } from "./Plot";

export type BarSeries = { name: string; values: (number | null)[]; other?: boolean };

type BarChartProps = {
  label: string;
  /** Starts of the periods in seconds. */
  times: number[];
  /** Largest first; at most five and "others". */
  series: BarSeries[];
  /** Sums of the period before, one short tick per bar. */
  previous?: (number | null)[];
  previousLabel?: string;
  /** The last period is not over: it is veiled. */
  running?: boolean;
  format: (value: number) => string;
  /** Labels of the value axis, if other than `format`. */
  axisFormat?: (value: number) => string;
  timeLabel: (seconds: number) => string;
  lastLabel?: string;
  height?: number;
  phone?: boolean;
  onZoom?: (from: number, to: number) => void;
};

/** Sums per period as stacked bars: largest at the base, 1 px gaps, previous period as ticks. */
export function BarChart(props: BarChartProps) {
  const { label, times, series, previous, previousLabel = "Before", running, format, axisFormat = format, timeLabel, lastLabel, height = 240, phone, onZoom } = props;
  const { data, sums, order } = useMemo(() => {
    const layers: number[][] = [];
    series.forEach((each, k) => layers.push(each.values.map((value, i) => (value ?? 0) + (layers[k - 1]?.[i] ?? 0))));
    const top = [...layers.keys()].reverse();
    return { data: [times, ...top.map((k) => layers[k]!)] as uPlot.AlignedData, sums: layers.at(-1) ?? times.map(() => 0), order: top };
  }, [times, series]);

  const options = () => {
    const step = times.length > 1 ? times[1]! - times[0]! : 86_400;
    const nameOf = (seconds: number) => (lastLabel && seconds === times.at(-1) ? lastLabel : timeLabel(seconds));
    const highest = Math.max(...sums, ...(previous ?? []).map((value) => value ?? 0), 0);
    const rows = (i: number): TipRow[] => [
      { head: timeLabel(times[i]!) + (running && i === times.length - 1 ? " · so far" : "") },
      ...series.map((each, k) => ({ swatch: swatch(k, Boolean(each.other)), name: each.name, value: each.values[i] == null ? "–" : format(each.values[i]) })),
      ...(series.length > 1 ? [{ name: "Total", value: format(sums[i] ?? 0) }] : []),
      ...(previous?.[i] != null ? [{ name: previousLabel, value: format(previous[i]) }] : []),
    ];
    return {
      padding: [10, phone ? 14 : 6, 0, 0] as uPlot.Padding,
      scales: { x: { time: true, range: (): [number, number] => [(times[0] ?? 0) - step * 0.58, (times.at(-1) ?? 0) + step * 0.58] }, y: { range: (): [number, number] => [0, (highest || 1) * 1.08] } },
      axes: [
        axis({ grid: { show: false }, size: 26, splits: () => labelled(times, phone ? 4 : 7), values: (_u, splits) => splits.map(nameOf) }),
        axis({ size: (_u, values) => Math.max(34, ...(values ?? []).map((value) => value.length * 6.4 + 12)), space: 44, incrs: steps(sums.every(Number.isInteger)), values: (_u, splits) => splits.map(axisFormat) }),
      ],
      series: [{}, ...order.map((k) => ({ fill: token(seriesToken(k, Boolean(series[k]?.other))), stroke: token("--surface"), width: 1, paths: uPlot.paths.bars?.({ size: [0.72, 28], align: 0 }), points: { show: false } }))],
      plugins: [tooltip(rows)],
      hooks: { draw: [(u: uPlot) => marks(u, times, previous, Boolean(running))] },
    };
  };
  return <Plot label={label} height={height} data={data} options={options} version={`${phone}${previous?.join()}`} onZoom={onZoom} />;
}

/** The veil over the running period and one tick per bar for the period before; none for 0, where it would thicken the axis. */
function marks(u: uPlot, times: number[], previous: (number | null)[] | undefined, running: boolean) {
  const { ctx } = u;
  const ratio = devicePixelRatio;
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined) return;
  const step = times.length > 1 ? u.valToPos(times[1]!, "x", true) - u.valToPos(first, "x", true) : 40 * ratio;
  const width = Math.min(step * 0.72, 28 * ratio) + 4 * ratio;
  ctx.save();
  if (running) {
    const x = u.valToPos(last, "x", true);
    ctx.globalAlpha = 0.5;
    ctx.fillStyle = token("--surface");
    const left = Math.max(x - width / 2, u.bbox.left);
    ctx.fillRect(left, u.bbox.top, x + width / 2 - left, u.bbox.height);
    ctx.globalAlpha = 1;
  }
  ctx.strokeStyle = token("--ink-2");
  ctx.lineWidth = 1.25 * ratio;
  previous?.forEach((value, i) => {
    if (!value || times[i] === undefined) return;
    const x = u.valToPos(times[i], "x", true);
    const y = Math.round(u.valToPos(value, "y", true)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x - width / 2, y);
    ctx.lineTo(x + width / 2, y);
    ctx.stroke();
  });
  ctx.restore();
}
