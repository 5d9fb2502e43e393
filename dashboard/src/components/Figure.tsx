import { ArrowDownRight, ArrowRight, ArrowUpRight } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "./cx";

/** The change of a figure against the period before. `good` names the direction shown in green; without it, neither is coloured. */
export function Delta({ change, text, good }: { change: number | null; text: string; good?: "up" | "down" }) {
  if (change === null) return <span className="text-ink-3">new</span>;
  const flat = Math.abs(change) < 0.005;
  const Icon = flat ? ArrowRight : change > 0 ? ArrowUpRight : ArrowDownRight;
  const tone = !good || flat ? "" : (change > 0) === (good === "up") ? "text-ok" : "text-bad";
  return (
    <span className={cx("inline-flex items-center gap-0.5 whitespace-nowrap", tone)}>
      <Icon aria-hidden className="size-3 stroke-2!" />
      <span className="sr-only">{flat ? "unchanged, " : change > 0 ? "up " : "down "}</span>
      <span className="num">{text}</span>
    </span>
  );
}

type FigureProps = { label: string; value: ReactNode; unit?: string; delta?: ReactNode; spark?: ReactNode; hint?: string };

/** A figure: label, value with unit, change against the period before, sparkline. */
export function Figure({ label, value, unit, delta, spark, hint }: FigureProps) {
  return (
    <span className="flex min-w-0 flex-col items-stretch text-left" title={hint}>
      <span className="text-small text-ink-2 group-aria-selected:font-medium group-aria-selected:text-ink">{label}</span>
      <span className="num mt-0.5 h-7 text-figure font-strong tracking-[-0.018em] phone:text-[20px]/[26px]">
        {value}
        {unit && <small className="ml-px text-body font-medium tracking-normal text-ink-2">{unit}</small>}
      </span>
      <span className="mt-1 flex h-[18px] items-center justify-between gap-2 text-small text-ink-2">
        {delta ?? <span />}
        {spark}
      </span>
    </span>
  );
}
