import { usePhone } from "./media";
import { ErrorNote } from "./EmptyState";
import { SkeletonRows } from "./Skeleton";
import { DeskRows } from "./table/DeskRows";
import { PhoneRows } from "./table/PhoneRows";
import type { TableProps } from "./table/types";
import { useEnd } from "./table/useRows";

export type { Column, Sort, TableProps } from "./table/types";

/**
 * A list: sortable heads, selected row, J K ↵, skeleton, empty and error states, paging at its end, and two-line rows
 * under 760 px. Long lists draw only the rows in sight. The window scrolls, so that going back restores the place.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, loading, error, onRetry, empty, hasMore, onEnd, flush } = props;
  const phone = usePhone();
  const sentinel = useEnd(onEnd, Boolean(hasMore));
  if (error && !rows.length) return <ErrorNote error={error} onRetry={onRetry} />;
  if (loading && !rows.length) return <SkeletonRows rows={flush ? 12 : 5} columns={Math.min(columns.length, phone ? 2 : 6)} />;
  if (!rows.length && empty) return <>{empty}</>;
  return (
    <div className="min-w-0 narrow:overflow-x-auto">
      {phone ? <PhoneRows {...props} /> : <DeskRows {...props} />}
      <div ref={sentinel} aria-hidden />
    </div>
  );
}

/** The foot of a list: how many rows, and keys at the right. */
export function TableFoot({ children, keys }: { children: React.ReactNode; keys?: React.ReactNode }) {
  return (
    <div className="num sticky bottom-0 z-3 flex items-center gap-3 border-t border-line bg-surface px-6 py-2 text-small text-ink-3 phone:static phone:px-4">
      {children}
      {keys && <span className="ml-auto flex items-center gap-2 phone:hidden">{keys}</span>}
    </div>
  );
}
