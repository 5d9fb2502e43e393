import { compact } from "@/format";
import { cx } from "./cx";

/** A bar without words: `share` between 0 and 1. */
export function Bar({ share, tone = "accent", className }: { share: number; tone?: "accent" | "quiet" | "warn" | "bad"; className?: string }) {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  const fill = { accent: "bg-c2", quiet: "bg-c3", warn: "bg-warn", bad: "bg-bad" }[tone];
  return (
    <span className={cx("block h-1 overflow-hidden rounded-full bg-selected", className)}>
      <span className={cx("block h-full rounded-full", fill)} style={{ width }} />
    </span>
  );
}

/** Use of a limit: accent below 80%, amber above, red at 100% with the word "full". `format` prints both numbers. */
export function LimitBar({ label, used, limit, format = compact, left }: { label: string; used: number; limit: number; format?: (value: number) => string; left?: boolean }) {
  const share = limit > 0 ? used / limit : 1;
  const full = share >= 1;
  return (
    <div className="grid grid-cols-[64px_92px_auto] items-center gap-2.5 text-small text-ink-2 phone:grid-cols-[60px_minmax(0,1fr)_96px]">
      <span className="truncate text-ink-3" title={label}>
        {label}
      </span>
      <span role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={limit} aria-valuenow={Math.min(used, limit)}>
        <Bar share={share} tone={full ? "bad" : share >= 0.8 ? "warn" : "accent"} />
      </span>
      <span className="num whitespace-nowrap">
        {left ? `${format(Math.max(0, limit - used))} left of ${format(limit)}` : `${format(used)} / ${format(limit)}`}
        {full && <span className="ml-1 text-bad">full</span>}
      </span>
    </div>
  );
}
