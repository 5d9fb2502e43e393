import { cx } from "../cx";

/** A small line without axes; its figures stand beside it in text. */
export function Sparkline({ values, tone, width = 56, height = 18, className }: { values: readonly (number | null)[]; tone?: "warn" | "bad"; width?: number; height?: number; className?: string }) {
  const known = values.flatMap((value, i) => (value == null ? [] : [[i, value] as const]));
  if (known.length < 2) return <span aria-hidden className={cx("block", className)} style={{ width, height }} />;
  const low = Math.min(...known.map(([, value]) => value));
  const high = Math.max(...known.map(([, value]) => value));
  const x = (i: number) => (i / Math.max(1, values.length - 1)) * (width - 3);
  const y = (value: number) => (high === low ? height / 2 : height - 2 - ((value - low) / (high - low)) * (height - 4));
  const points = known.map(([i, value]) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`);
  const line = `M${points.join("L")}`;
  const [firstIndex] = known[0]!;
  const [lastIndex, lastValue] = known.at(-1)!;
  return (
    <svg aria-hidden width={width} height={height} viewBox={`0 0 ${width} ${height}`} className={cx("spark", tone, className)}>
      <path className="area" d={`${line}L${x(lastIndex).toFixed(1)} ${height}L${x(firstIndex).toFixed(1)} ${height}Z`} />
      <path d={line} />
      <circle cx={x(lastIndex)} cy={y(lastValue)} r={1.75} />
    </svg>
  );
}

export type TickBar = { value: number; bad?: number };

/** Thin bars side by side, errors in red at the base: the rate of the last minute, or a histogram of calls. */
export function TickBars({ bars, height = 56, label, histogram, onPick }: { bars: readonly TickBar[]; height?: number; label: string; histogram?: boolean; onPick?: (index: number) => void }) {
  const most = Math.max(1, ...bars.map((bar) => bar.value));
  const gap = histogram ? 0.12 : 0.34;
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${bars.length} ${height}`} preserveAspectRatio="none" className={cx("block w-full", histogram ? "histogram" : "ticks")} style={{ height }}>
      {bars.map((bar, i) => {
        const tall = (bar.value / most) * height;
        const red = ((bar.bad ?? 0) / most) * height;
        return (
          <g key={i} onClick={onPick && (() => onPick(i))} className={onPick && "cursor-pointer"}>
            <rect x={i + gap / 2} width={1 - gap} y={height - tall} height={tall} className={!histogram && i === bars.length - 1 ? "now" : undefined} />
            {red > 0 && <rect x={i + gap / 2} width={1 - gap} y={height - Math.max(red, 2)} height={Math.max(red, 2)} className="bad" />}
          </g>
        );
      })}
    </svg>
  );
}
