import { Ban, CircleCheck, CircleDashed, CirclePause, OctagonX, TriangleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "./cx";

export type StatusKind = "ok" | "warn" | "bad" | "unknown" | "paused" | "out";

const KINDS: Record<StatusKind, [LucideIcon, string]> = {
  ok: [CircleCheck, "text-ok"],
  warn: [TriangleAlert, "text-warn"],
  bad: [OctagonX, "text-bad"],
  unknown: [CircleDashed, "text-ink-3"],
  paused: [CirclePause, "text-ink-3"],
  out: [Ban, "text-ink-3"],
};

/** The icon of a status alone; put a word beside it. */
export function StatusIcon({ kind, className }: { kind: StatusKind; className?: string }) {
  const [Icon, tint] = KINDS[kind];
  return <Icon aria-hidden className={cx("size-3.5 stroke-[1.75]!", tint, className)} />;
}

/** A status: icon and word, never colour alone. */
export function Status({ kind, children, sub, className }: { kind: StatusKind; children: ReactNode; sub?: ReactNode; className?: string }) {
  return (
    <span className={cx("inline-flex gap-1.5 align-bottom whitespace-nowrap", sub ? "items-start" : "items-center", className)}>
      <StatusIcon kind={kind} className={sub ? "mt-[3px]" : undefined} />
      <span>
        {children}
        {sub && <span className="block text-small text-ink-3">{sub}</span>}
      </span>
    </span>
  );
}

/** The kind of an HTTP status: 2xx ok, 4xx warn, 5xx bad. */
export function httpKind(status: number | null | undefined): StatusKind {
  if (!status) return "unknown";
  return status < 400 ? "ok" : status < 500 ? "warn" : "bad";
}

/** The kind of a provider's state as the API spells it. */
export function healthKind(state: string): StatusKind {
  return state === "ok" ? "ok" : state === "degraded" || state === "incomplete" ? "warn" : state === "down" ? "bad" : state === "disabled" ? "paused" : "unknown";
}

const TAGS = {
  neutral: "border-line bg-well text-ink-2",
  accent: "border-accent-line bg-accent-soft text-accent-ink",
  ok: "border-ok-line bg-ok-soft text-ok",
  warn: "border-warn-line bg-warn-soft text-warn",
  bad: "border-bad-line bg-bad-soft text-bad",
};

/** A short label in a box; `mono` for API names. */
export function Tag({ kind = "neutral", icon: Icon, mono, children, onRemove, removeLabel }: { kind?: keyof typeof TAGS; icon?: LucideIcon; mono?: boolean; children: ReactNode; onRemove?: () => void; removeLabel?: string }) {
  return (
    <span className={cx("inline-flex h-5 items-center gap-1 rounded-sm border px-1.5 text-small whitespace-nowrap", mono && "font-mono text-[11.5px] tracking-[-0.01em]", TAGS[kind])}>
      {Icon && <Icon aria-hidden className="size-3 stroke-2!" />}
      {children}
      {onRemove && (
        <button type="button" aria-label={removeLabel ?? "Remove"} onClick={onRemove} className="-mr-0.5 grid size-4 place-items-center rounded-sm hover:bg-hover">
          <span aria-hidden>×</span>
        </button>
      )}
    </span>
  );
}

/** Whether a stream is connected. */
export function Live({ on, label }: { on: boolean; label?: string }) {
  return (
    <span role="status" className="inline-flex items-center gap-1.5 text-small whitespace-nowrap text-ink-2">
      <span aria-hidden className={cx("size-[7px] rounded-full", on ? "pulse bg-ok" : "bg-line-control")} />
      {label ?? (on ? "Live" : "Not live")}
    </span>
  );
}

/** Two letters in a box that stand for a provider type. */
export function Mark({ name, large }: { name: string; large?: boolean }) {
  const letters = name.replace(/[^a-z0-9]/gi, "").slice(0, 2);
  return (
    <span aria-hidden className={cx("inline-grid flex-none place-items-center border border-line-strong bg-surface font-mono font-medium text-ink-2", large ? "size-7 rounded-md text-[12px]/none" : "size-5 rounded-sm text-[10px]/none")}>
      {letters.charAt(0).toUpperCase() + letters.slice(1).toLowerCase()}
    </span>
  );
}
