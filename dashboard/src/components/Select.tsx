import { ChevronDown } from "lucide-react";
import type { ComponentProps } from "react";
import { cx } from "./cx";
import { useFieldIds } from "./Field";

export type Option<V extends string = string> = { value: V; label: string; disabled?: boolean };

type SelectProps<V extends string> = Omit<ComponentProps<"select">, "value" | "onChange" | "children"> & {
  value: V;
  onChange: (value: V) => void;
  options: readonly (Option<V> | V)[];
  /** `control` fills a form field; `bar` is the compact form of top bars. */
  look?: "control" | "bar";
};

/** A choice among a few values, as the browser's own list. */
export function Select<V extends string>({ value, onChange, options, look = "control", className, id, ...rest }: SelectProps<V>) {
  return (
    <span className={cx("relative inline-flex items-center", look === "control" && "w-full", className)}>
      <select
        {...useFieldIds(id)}
        value={value}
        onChange={(event) => onChange(event.target.value as V)}
        className={cx("h-8 w-full appearance-none truncate rounded-md border bg-surface pl-2.5 pr-7 phone:h-10", look === "control" ? "border-line-control control-focus" : "max-w-56 field-sizing-content border-line-strong font-medium hover:border-line-control")}
        {...rest}
      >
        {options.map((option) => {
          const { value: v, label, disabled } = typeof option === "string" ? { value: option, label: option, disabled: false } : option;
          return (
            <option key={v} value={v} disabled={disabled}>
              {label}
            </option>
          );
        })}
      </select>
      <ChevronDown aria-hidden className="pointer-events-none absolute right-2 size-3.5 text-ink-3" />
    </span>
  );
}
