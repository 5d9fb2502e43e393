import { useEffect, useState } from "react";
import { cx } from "./cx";

/** True once 200 ms have passed, so that quick answers show no skeleton. */
export function useDelayed(ms = 200): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return late;
}

/** A grey bar in the place of text that comes; appears after 200 ms. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cx("block h-2.5 rounded-sm", useDelayed() && "pulse bg-selected", className ?? "w-24")} />;
}

const WIDTHS = ["w-28", "w-20", "w-32", "w-24", "w-36"];

/** Lines of a list that comes. */
export function SkeletonRows({ rows = 5, columns = 4 }: { rows?: number; columns?: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex h-9 items-center gap-6 border-b border-line px-4 last:border-0">
          {Array.from({ length: columns }, (_, column) => (
            <span key={column} className="flex-1">
              <Skeleton className={cx("max-w-full", WIDTHS[(row + column) % WIDTHS.length])} />
            </span>
          ))}
        </div>
      ))}
    </div>
  );
}
