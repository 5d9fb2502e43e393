import { useId, useRef, type KeyboardEvent, type ReactNode } from "react";
import { cx } from "./cx";

export type Tab<V extends string> = { value: V; label: string; count?: number | string };

type TabsProps<V extends string> = { label: string; value: V; onChange: (value: V) => void; tabs: readonly Tab<V>[]; children?: ReactNode; className?: string };

/** Views of one object; `children` is the panel of the chosen tab. Arrow keys move. */
export function Tabs<V extends string>({ label, value, onChange, tabs, children, className }: TabsProps<V>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.value === value);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChange(next.value);
    list.current?.querySelector<HTMLElement>(`[data-value="${CSS.escape(next.value)}"]`)?.focus();
  };
  return (
    <>
      <div ref={list} role="tablist" aria-label={label} onKeyDown={move} className={cx("flex gap-4 overflow-x-auto border-b border-line [scrollbar-width:none]", className)}>
        {tabs.map((tab) => {
          const on = tab.value === value;
          return (
            <button
              key={tab.value}
              type="button"
              role="tab"
              id={`${id}-${tab.value}`}
              data-value={tab.value}
              aria-selected={on}
              aria-controls={children && on ? `${id}-panel` : undefined}
              tabIndex={on ? 0 : -1}
              onClick={() => onChange(tab.value)}
              className={cx("relative inline-flex h-9 flex-none items-center gap-1.5 phone:h-11", on ? "font-medium text-ink after:absolute after:inset-x-0 after:bottom-0 after:h-0.5 after:bg-accent-ink" : "text-ink-2 hover:text-ink")}
            >
              {tab.label}
              {tab.count !== undefined && <span className="num font-regular text-ink-3">{tab.count}</span>}
            </button>
          );
        })}
      </div>
      {children && (
        <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${value}`} className="pt-4">
          {children}
        </div>
      )}
    </>
  );
}
