import { useMemo } from "react";
import type uPlot from "uplot";
import { axis, labelled, token, tooltip, type TipRow } from "./plot";
import { Plot } from "./Plot";

export type LineSeries = { name: string; values: (number | null)[]; /** Strong is 1.5 px in the darkest colour; bad is for errors only. */ tone?: "strong" | "normal" | "bad" };

type LineChartProps = {
  label: string;
  times: number[];
  series: LineSeries[];
  format: (value: number) => string;
  axisFormat?: (value: number) => string;
  timeLabel: (seconds: number) => string;
  lastLabel?: string;
  height?: number;
  /** Room at the right for the labels at the line ends. */
  endWidth?: number;
  /** Names the highest point of the first series. */
  peak?: boolean;
  onZoom?: (from: number, to: number) => void;
};

const TONES = { strong: "--c1", normal: "--c2", bad: "--bad" };
const SWATCHES = { strong: "swatch swatch-1", normal: "swatch swatch-2", bad: "swatch swatch-bad" };

/** Rates and times as lines; each line end carries its name and value. */
export function LineChart({ label, times, series, format, axisFormat = format, timeLabel, lastLabel, height = 180, endWidth = 76, peak, onZoom }: LineChartProps) {
  const data = useMemo(() => [times, ...series.map((each) => each.values)] as uPlot.AlignedData, [times, series]);
  const options = () => {
    const rows = (i: number): TipRow[] => [{ head: timeLabel(times[i]!) }, ...series.map((each) => ({ swatch: SWATCHES[each.tone ?? "normal"], name: each.name, value: each.values[i] == null ? "–" : format(each.values[i]) }))];
    return {
      padding: [10, endWidth, 0, 0] as uPlot.Padding,
      scales: { x: { time: true }, y: { range: (_: uPlot, _min: number, max: number): [number, number] => [0, (max || 1) * 1.1] } },
      axes: [
        axis({ grid: { show: false }, size: 26, splits: () => labelled(times, 3), values: (_u, splits) => splits.map((s) => (lastLabel && s === times.at(-1) ? lastLabel : timeLabel(s))) }),
        axis({ size: (_u, values) => Math.max(30, ...(values ?? []).map((value) => value.length * 6.4 + 10)), space: 36, values: (_u, splits) => splits.map(axisFormat) }),
      ],
      series: [{}, ...series.map((each) => ({ stroke: token(TONES[each.tone ?? "normal"]), width: each.tone === "strong" ? 1.5 : 1.25, points: { show: false }, spanGaps: false }))],
      plugins: [tooltip(rows), endLabels(times, series, format, peak ? timeLabel : null)],
    };
  };
  return <Plot label={label} height={height} data={data} options={options} onZoom={onZoom} />;
}

/** Height of a label with a gap below it, in pixels. */
const LABEL = 18;

/** Moves labels apart, down from the first and then up from the end of the plot, so that none overlap. */
function separate(labels: { top: number }[], bottom: number) {
  labels.sort((a, b) => a.top - b.top);
  for (let i = 1; i < labels.length; i += 1) labels[i]!.top = Math.max(labels[i]!.top, labels[i - 1]!.top + LABEL);
  for (let i = labels.length - 1, most = bottom; i >= 0; i -= 1, most -= LABEL) labels[i]!.top = Math.min(labels[i]!.top, most);
}

/** Names and values at the ends of the lines; labels that would meet are moved apart. */
function endLabels(times: number[], series: LineSeries[], format: (value: number) => string, peakLabel: ((seconds: number) => string) | null): uPlot.Plugin {
  let made: HTMLElement[] = [];
  const clear = () => {
    made.forEach((element) => element.remove());
    made = [];
  };
  const place = (u: uPlot, name: string, value: string, left: number, top: number) => {
    const box = Object.assign(document.createElement("div"), { className: "end" });
    if (name) box.append(`${name} `);
    box.append(Object.assign(document.createElement("small"), { textContent: value }));
    box.style.left = `${left}px`;
    box.style.top = `${top}px`;
    u.root.parentElement?.append(box);
    made.push(box);
  };
  const draw = (u: uPlot) => {
    clear();
    const right = (u.bbox.left + u.bbox.width) / devicePixelRatio + 6;
    const offset = u.bbox.top / devicePixelRatio;
    const ends = series.flatMap((each) => {
      const at = each.values.findLastIndex((value) => value != null);
      const value = each.values[at];
      return value == null ? [] : [{ name: each.name, value, top: u.valToPos(value, "y") + offset }];
    });
    separate(ends, offset + u.bbox.height / devicePixelRatio);
    ends.forEach((end) => place(u, end.name, format(end.value), right, end.top));
    const first = series[0]?.values ?? [];
    const highest = first.reduce<number>((best, value, i) => ((value ?? -1) > (first[best] ?? -1) ? i : best), 0);
    if (peakLabel && first[highest] != null && highest < times.length - Math.ceil(times.length / 4) && times.length > 8) place(u, "", `${format(first[highest])}, ${peakLabel(times[highest]!)}`, u.valToPos(times[highest]!, "x") + u.bbox.left / devicePixelRatio + 8, u.valToPos(first[highest], "y") + offset);
  };
  return { hooks: { draw, destroy: clear } };
}
