import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { cx } from "./cx";
import { Figure } from "./Figure";

export type StripFigure = {
  name: string;
  label: string;
  value: ReactNode;
  unit?: string;
  delta?: ReactNode;
  spark?: ReactNode;
  hint?: string;
  /** The rows behind the figure; not together with `onPick` of the strip. */
  go?: { to: string; search?: Record<string, unknown> };
};

const CELL = "group relative min-w-0 border-l border-line px-4 pt-3 pb-2.5 text-left first:border-l-0";
/** On a phone, three figures stay in one row; others stand in pairs. */
const PAIRED = "phone:border-l-0 phone:px-3.5 phone:even:border-l phone:[&:nth-child(n+3)]:border-t";
const ON = "aria-selected:after:absolute aria-selected:after:inset-x-0 aria-selected:after:-bottom-px aria-selected:after:h-0.5 aria-selected:after:bg-accent-ink";
const COLUMNS: Record<number, string> = { 2: "grid-cols-2", 3: "grid-cols-3", 4: "grid-cols-4", 5: "grid-cols-5", 6: "grid-cols-6" };

/** Figures side by side: with `onPick` they choose what the chart below shows, else each leads to its rows. */
export function FigureStrip({ label, figures, picked, onPick, className }: { label: string; figures: StripFigure[]; picked?: string; onPick?: (name: string) => void; className?: string }) {
  const cell = cx(CELL, figures.length === 3 ? "phone:px-3" : PAIRED);
  const grid = cx("grid border-b border-line", figures.length !== 3 && "phone:grid-cols-2", COLUMNS[figures.length] ?? "grid-cols-4", className);
  const body = ({ name, go: _, ...figure }: StripFigure) => <Figure key={name} {...figure} />;
  if (onPick)
    return (
      <div role="tablist" aria-label={label} className={grid}>
        {figures.map((figure) => (
          <button key={figure.name} type="button" role="tab" aria-selected={figure.name === picked} onClick={() => onPick(figure.name)} className={cx(cell, ON, "hover:bg-hover")}>
            {body(figure)}
          </button>
        ))}
      </div>
    );
  return (
    <div role="group" aria-label={label} className={grid}>
      {figures.map((figure) =>
        figure.go ? (
          <Link key={figure.name} to={figure.go.to} search={figure.go.search as never} className={cx(cell, "hover:bg-hover")}>
            {body(figure)}
          </Link>
        ) : (
          <div key={figure.name} className={cell}>
            {body(figure)}
          </div>
        ),
      )}
    </div>
  );
}
