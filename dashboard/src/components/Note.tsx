import { CircleCheck, Info, OctagonX, TriangleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "./cx";

type Kind = "info" | "ok" | "warn" | "bad" | "accent";

const KINDS: Record<Kind, [string, string, LucideIcon]> = {
  info: ["border-line bg-surface", "text-ink-3", Info],
  ok: ["border-ok-line bg-ok-soft", "text-ok", CircleCheck],
  warn: ["border-warn-line bg-warn-soft", "text-warn", TriangleAlert],
  bad: ["border-bad-line bg-bad-soft", "text-bad", OctagonX],
  accent: ["border-accent-line bg-accent-soft", "text-accent-ink", Info],
};

/** A remark inside a page or form; `action` stands at its end. */
export function Note({ kind = "info", icon, action, className, children }: { kind?: Kind; icon?: LucideIcon; action?: ReactNode; className?: string; children: ReactNode }) {
  const [box, tint, standard] = KINDS[kind];
  const Icon = icon ?? standard;
  return (
    <div role={kind === "bad" ? "alert" : undefined} className={cx("flex gap-2 rounded-md border px-3 py-2.5 text-ink", box, className)}>
      <Icon aria-hidden className={cx("mt-0.5 size-4", tint)} />
      <div className="min-w-0 flex-1">{children}</div>
      {action}
    </div>
  );
}
