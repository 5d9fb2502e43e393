import { cx } from "./cx";

export type Segment<V extends string> = { value: V; label: string; count?: number };

type SegmentedProps<V extends string> = { label: string; value: V; onChange: (value: V) => void; options: readonly Segment<V>[]; full?: boolean; size?: "sm" | "md"; className?: string };

/** A choice among two to five values, all visible. */
export function Segmented<V extends string>({ label, value, onChange, options, full, size = "md", className }: SegmentedProps<V>) {
  return (
    <div role="group" aria-label={label} className={cx("gap-0.5 rounded-md border border-line-strong bg-surface p-0.5 phone:h-10 phone:max-w-full phone:overflow-x-auto", full ? "flex" : "inline-flex", size === "sm" ? "h-7" : "h-8", className)}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
          className={cx("inline-flex items-center gap-1.5 rounded-sm px-2.5 text-small font-medium whitespace-nowrap phone:flex-1 phone:justify-center", full && "flex-1 justify-center", option.value === value ? "bg-selected text-ink" : "text-ink-2 hover:text-ink")}
        >
          {option.label}
          {option.count !== undefined && <span className="num font-regular text-ink-3">{option.count}</span>}
        </button>
      ))}
    </div>
  );
}
