import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { useId, type ReactNode } from "react";
import { cx } from "./cx";

type PanelProps = {
  title?: ReactNode;
  sub?: ReactNode;
  /** Link at the right of the head; every figure leads to its rows. */
  go?: { label: string; to: string; search?: Record<string, unknown> };
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
};

/** A bordered part of a page with a title. */
export function Panel({ title, sub, go, actions, className, children }: PanelProps) {
  const id = useId();
  return (
    <section aria-labelledby={title ? id : undefined} className={cx("min-w-0 rounded-lg border border-line bg-surface", className)}>
      {title && (
        <header className="flex min-h-10 items-center gap-2 pr-2 pl-4">
          <h2 id={id} className="text-body font-strong whitespace-nowrap">
            {title}
          </h2>
          {sub && <span className="truncate text-small text-ink-3">{sub}</span>}
          <span className="ml-auto flex items-center gap-2">
            {actions}
            {go && (
              <Link to={go.to} search={go.search as never} className="inline-flex items-center gap-1 rounded-sm px-2 py-1 text-small whitespace-nowrap text-ink-2 hover:bg-hover hover:text-ink phone:min-h-10">
                {go.label}
                <ArrowRight aria-hidden className="size-3.5 text-ink-3" />
              </Link>
            )}
          </span>
        </header>
      )}
      {children}
    </section>
  );
}

/** A few figures in a row, each under its name. */
export function Facts({ items, className }: { items: { label: string; value: ReactNode; sub?: ReactNode }[]; className?: string }) {
  return (
    <dl className={cx("flex phone:grid phone:grid-cols-3 phone:gap-y-3", className)}>
      {items.map((item, i) => (
        <div key={item.label} className={cx("flex-1 border-line px-4 phone:px-3", i === 0 ? "pl-0!" : "border-l", i % 3 === 0 && "phone:border-0 phone:pl-0!")}>
          <dt className="text-small whitespace-nowrap text-ink-3">{item.label}</dt>
          <dd className="num text-lead font-medium whitespace-nowrap">
            {item.value} {item.sub && <small className="text-small font-regular text-ink-3">{item.sub}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Names and values under each other. */
export function KeyValues({ items, className }: { items: { label: string; value: ReactNode; mono?: boolean }[]; className?: string }) {
  return (
    <dl className={cx("grid grid-cols-[148px_minmax(0,1fr)] gap-x-3 gap-y-1 text-small/[18px] phone:grid-cols-[112px_minmax(0,1fr)]", className)}>
      {items.map((item) => (
        <div key={item.label} className="contents">
          <dt className="text-ink-3">{item.label}</dt>
          <dd className={cx("min-w-0 [overflow-wrap:anywhere]", item.mono && "font-mono tracking-[-0.01em]")}>{item.value}</dd>
        </div>
      ))}
    </dl>
  );
}
