import { useRef, type KeyboardEvent, type ReactNode } from "react";
import { useShortcut } from "@/app/shortcuts";
import { cx } from "./cx";
import { ErrorNote } from "./EmptyState";
import { Skeleton } from "./Skeleton";

type SideListProps<Row> = {
  label: string;
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  selected: string | null;
  onSelect: (row: Row) => void;
  icon?: (row: Row) => ReactNode;
  title: (row: Row) => ReactNode;
  sub?: (row: Row) => ReactNode;
  end?: (row: Row) => ReactNode;
  /** Depth from 0; makes the list a tree. */
  level?: (row: Row) => number;
  loading?: boolean;
  error?: unknown;
  onRetry?: () => void;
  empty?: ReactNode;
};

const INDENT = ["pl-3", "pl-7", "pl-11", "pl-15", "pl-19"];

/** The list at the left of a SplitView: two-line rows, J K and arrows move, one row is chosen. */
export function SideList<Row>(props: SideListProps<Row>) {
  const { label, rows, rowKey, selected, onSelect, icon, title, sub, end, level, loading, error, onRetry, empty } = props;
  const list = useRef<HTMLDivElement>(null);
  const move = (step: number) => {
    const at = rows.findIndex((row) => rowKey(row) === selected);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
    if (!next) return;
    onSelect(next);
    list.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(rowKey(next))}"]`)?.focus();
  };
  useShortcut("j", () => move(1));
  useShortcut("k", () => move(-1));
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) {
      event.preventDefault();
      move(step);
    }
  };
  if (error && !rows.length) return <ErrorNote error={error} onRetry={onRetry} />;
  if (loading && !rows.length)
    return (
      <div role="status" aria-label="Loading" className="space-y-1">
        {[0, 1, 2, 3, 4].map((row) => (
          <div key={row} className="h-14 space-y-2.5 px-3 py-3">
            <Skeleton className="w-28" />
            <Skeleton className="w-40" />
          </div>
        ))}
      </div>
    );
  if (!rows.length) return <>{empty}</>;
  const known = rows.some((row) => rowKey(row) === selected);
  return (
    <div ref={list} role={level ? "treegrid" : "grid"} aria-label={label} onKeyDown={onKey} className="space-y-0.5">
      {rows.map((row, index) => {
        const key = rowKey(row);
        const on = key === selected;
        const depth = level?.(row) ?? 0;
        return (
          <div
            key={key}
            role="row"
            data-key={key}
            aria-selected={on}
            aria-level={level ? depth + 1 : undefined}
            tabIndex={on || (!known && index === 0) ? 0 : -1}
            onClick={() => onSelect(row)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.target !== event.currentTarget) return;
              event.preventDefault();
              onSelect(row);
            }}
            className={cx("cursor-pointer rounded-md py-2 pr-3", INDENT[Math.min(depth, INDENT.length - 1)], on ? "bg-selected" : "hover:bg-hover")}
          >
            <div role="gridcell" className="flex min-w-0 gap-3">
              {icon && <span className="flex-none pt-0.5 [&_svg]:size-4 [&_svg]:text-ink-3">{icon(row)}</span>}
              <span className="min-w-0 flex-1">
                <span className="flex min-h-5 min-w-0 items-center gap-2">
                  <span className="truncate font-medium">{title(row)}</span>
                  {end && <span className="ml-auto flex-none">{end(row)}</span>}
                </span>
                {sub && <span className={cx("block truncate text-small", on ? "text-ink-2" : "text-ink-3")}>{sub(row)}</span>}
              </span>
            </div>
          </div>
        );
      })}
    </div>
  );
}
