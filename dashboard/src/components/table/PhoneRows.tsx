import { useRef } from "react";
import { cx } from "../cx";
import type { Column, TableProps } from "./types";
import { useRows } from "./useRows";

function at<Row>(columns: readonly Column<Row>[], place: Column<Row>["phone"], row: Row) {
  return columns.filter((column) => column.phone === place).map((column) => <span key={column.key} className={cx("min-w-0 truncate", column.align === "right" && "num")}>{column.cell(row)}</span>);
}

/** Two-line rows of a phone. */
export function PhoneRows<Row>({ label, rows, columns, rowKey, onOpen, selected, actions, detail }: TableProps<Row>) {
  const list = useRef<HTMLUListElement>(null);
  const { indexes, before, after } = useRows(rows.length, 61, list);
  return (
    <ul ref={list} aria-label={label} className="bg-surface">
      {before > 0 && <li aria-hidden style={{ height: before }} />}
      {indexes.map((index) => {
        const row = rows[index];
        if (row === undefined) return null;
        const icon = at(columns, "icon", row);
        const body = (
          <>
            {icon.length > 0 && <span className="row-span-2 w-4 pt-0.5">{icon}</span>}
            <span className="flex min-w-0 items-baseline gap-2">
              <span className="flex min-w-0 gap-1.5 font-medium">{at(columns, "title", row)}</span>
              <span className="ml-auto flex gap-2 whitespace-nowrap">{at(columns, "end", row)}</span>
            </span>
            <span className="flex min-w-0 gap-2 text-small/[18px] text-ink-3">
              {at(columns, "sub", row)}
              <span className="ml-auto flex gap-2 whitespace-nowrap text-ink-2">{at(columns, "subEnd", row)}</span>
            </span>
          </>
        );
        const grid = cx("grid min-h-[60px] min-w-0 flex-1 content-center gap-x-2.5 py-2.5 pl-4 text-left", icon.length > 0 ? "grid-cols-[16px_minmax(0,1fr)]" : "grid-cols-[minmax(0,1fr)]", !actions && "pr-4");
        return (
          <li key={rowKey(row)} className={cx("border-b border-line", selected === rowKey(row) && "bg-accent-soft")}>
            <div className="flex items-center">
              {onOpen ? (
                <button type="button" className={grid} onClick={() => onOpen(row)}>
                  {body}
                </button>
              ) : (
                <div className={grid}>{body}</div>
              )}
              {actions && <span className="px-1">{actions(row)}</span>}
            </div>
            {detail?.(row)}
          </li>
        );
      })}
      {after > 0 && <li aria-hidden style={{ height: after }} />}
    </ul>
  );
}
