import type { ReactNode } from "react";

export type Column<Row> = {
  key: string;
  title: string;
  cell: (row: Row) => ReactNode;
  /** Numbers are right-aligned and tabular. */
  align?: "right";
  /** The head sorts by this name (the API's); `first` is the direction of the first click. */
  sort?: string;
  first?: "asc" | "desc";
  /** Place in the two-line row of a phone; columns without a place are left out there. */
  phone?: "icon" | "title" | "end" | "sub" | "subEnd";
  className?: string;
};

export type Sort = { by: string; desc: boolean };

export type TableProps<Row> = {
  /** Accessible name of the table. */
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** Opens a row by click, Enter, or J and K while one is open. */
  onOpen?: (row: Row) => void;
  /** Key of the open row; null or undefined when none is. */
  selected?: string | null;
  sort?: Sort | null;
  onSort?: (sort: Sort) => void;
  /** First load: skeleton rows. */
  loading?: boolean;
  error?: unknown;
  onRetry?: () => void;
  /** Shown without rows: EmptyState or NoMatch. */
  empty?: ReactNode;
  /** More rows can be read; `onEnd` is called near the end of the list. */
  hasMore?: boolean;
  onEnd?: () => void;
  /** Menu at the end of each row. */
  actions?: (row: Row) => ReactNode;
  /** Line under a row, e.g. a reason and remedy; not with more than 80 rows. */
  detail?: (row: Row) => ReactNode;
  rowHeight?: number;
  /** A short list in a panel: no visible head, no lines. */
  bare?: boolean;
  /** Full-bleed: head sticks under the top bar, edges have the padding of the page. */
  flush?: boolean;
};
