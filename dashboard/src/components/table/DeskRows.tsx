import { ArrowDown, ArrowUp } from "lucide-react";
import { Fragment, memo, useCallback, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { useShortcut } from "@/app/shortcuts";
import { cx } from "../cx";
import type { Column, Sort, TableProps } from "./types";
import { useRows } from "./useRows";

const edge = (flush: boolean | undefined) => (flush ? "first:pl-6 last:pr-6" : "first:pl-4 last:pr-4");

function Head<Row>({ column, sort, onSort, flush }: { column: Column<Row>; sort?: Sort | null; onSort?: (sort: Sort) => void; flush?: boolean }) {
  const name = column.sort;
  const on = name !== undefined && sort?.by === name;
  const right = column.align === "right";
  return (
    <th scope="col" aria-sort={on ? (sort.desc ? "descending" : "ascending") : undefined} className={cx("h-8 border-b border-line px-3 text-left text-small font-medium whitespace-nowrap text-ink-3", edge(flush), right && "text-right!", flush && "sticky top-[52px] z-4 bg-surface", column.className)}>
      {name !== undefined && onSort ? (
        <button type="button" className={cx("inline-flex items-center gap-1 hover:text-ink", on && "text-ink-2", right && "flex-row-reverse")} onClick={() => onSort({ by: name, desc: on ? !sort.desc : column.first !== "asc" })}>
          {column.title}
          {on ? sort.desc ? <ArrowDown aria-hidden className="size-3" /> : <ArrowUp aria-hidden className="size-3" /> : null}
        </button>
      ) : (
        column.title || <span className="sr-only">{column.key}</span>
      )}
    </th>
  );
}

type RowProps<Row> = { row: Row; id: string; columns: readonly Column<Row>[]; current: boolean; focusable: boolean; open: boolean; line: string; height: number; flush?: boolean; onOpen?: (row: Row) => void; onCursor: (id: string) => void; actions?: (row: Row) => ReactNode };

function DeskRow<Row>({ row, id, columns, current, focusable, open, line, height, flush, onOpen, onCursor, actions }: RowProps<Row>) {
  return (
    <tr
      data-key={id}
      aria-selected={onOpen ? current : undefined}
      tabIndex={onOpen ? (focusable ? 0 : -1) : undefined}
      style={{ height }}
      onClick={onOpen && ((event) => !(event.target as HTMLElement).closest("a, button, input, select") && onOpen(row))}
      onFocus={onOpen && (() => onCursor(id))}
      onKeyDown={
        onOpen &&
        ((event) => {
          if (event.key !== "Enter" || event.target !== event.currentTarget) return;
          event.preventDefault();
          onOpen(row);
        })
      }
      className={cx("focus-visible:-outline-offset-2", onOpen && "cursor-pointer", open ? "bg-accent-soft [&>td:first-child]:shadow-[inset_2px_0_0_var(--accent)]" : onOpen && "hover:bg-hover")}
    >
      {columns.map((column) => (
        <td key={column.key} className={cx("px-3 whitespace-nowrap", edge(flush), line, column.align === "right" && "num text-right", column.className)}>
          {column.cell(row)}
        </td>
      ))}
      {actions && <td className={cx("w-12 pr-4 text-right", line)}>{actions(row)}</td>}
    </tr>
  );
}

/** Drawn again only when the row itself changes: scrolling a long list draws the rows that come, not all in sight. */
const MemoRow = memo(DeskRow) as typeof DeskRow;

/** The table of wide screens: sortable head, J and K to move, Enter to open. */
export function DeskRows<Row>(props: TableProps<Row>) {
  const { label, rows, columns, rowKey, onOpen, selected, sort, onSort, actions, detail, rowHeight = 36, flush, bare } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const { indexes, before, after, show } = useRows(rows.length, rowHeight, body);
  const [cursor, setCursor] = useState<string | null>(null);
  const open = selected ?? null;
  const current = open ?? cursor;
  const width = columns.length + (actions ? 1 : 0);
  const latest = useRef(onOpen);
  useLayoutEffect(() => {
    latest.current = onOpen;
  });
  const openRow = useCallback((row: Row) => latest.current?.(row), []);

  const move = (step: number) => {
    if (!onOpen || !rows.length) return;
    const at = rows.findIndex((row) => rowKey(row) === current);
    const index = at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step));
    const row = rows[index];
    if (row === undefined) return;
    setCursor(rowKey(row));
    show(index);
    if (open !== null) onOpen(row);
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(rowKey(row))}"]`)?.focus({ preventScroll: false }));
  };
  useShortcut("j", () => move(1));
  useShortcut("k", () => move(-1));

  return (
    <table aria-label={label} className="w-full border-collapse bg-surface">
      <thead className={bare ? "sr-only" : undefined}>
        <tr>
          {columns.map((column) => (
            <Head key={column.key} column={column} sort={sort} onSort={onSort} flush={flush} />
          ))}
          {actions && (
            <th scope="col" className={cx("h-8 w-12 border-b border-line last:pr-4", flush && "sticky top-[52px] z-4 bg-surface")}>
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody ref={body}>
        {before > 0 && <tr aria-hidden><td colSpan={width} style={{ height: before }} /></tr>}
        {indexes.map((index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const key = rowKey(row);
          const on = current === key;
          const more = detail?.(row);
          const line = bare || more || index === rows.length - 1 ? "" : "border-b border-line";
          return (
            <Fragment key={key}>
              <MemoRow row={row} id={key} columns={columns} current={on} focusable={on || (current === null && index === 0)} open={open === key} line={line} height={rowHeight} flush={flush} onOpen={onOpen && openRow} onCursor={setCursor} actions={actions} />
              {more && (
                <tr>
                  <td colSpan={width} className={cx("px-4 pb-2", index < rows.length - 1 && "border-b border-line")}>
                    {more}
                  </td>
                </tr>
              )}
            </Fragment>
          );
        })}
        {after > 0 && <tr aria-hidden><td colSpan={width} style={{ height: after }} /></tr>}
      </tbody>
    </table>
  );
}
