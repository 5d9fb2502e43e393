import { Check } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "./cx";
import { useFieldIds } from "./Field";

type ToggleProps = { checked: boolean; onChange: (checked: boolean) => void; children: ReactNode; disabled?: boolean; hideLabel?: boolean; className?: string };

/** Turns something on or off at once. */
export function Switch({ checked, onChange, children, disabled, hideLabel, className }: ToggleProps) {
  const { "aria-describedby": describedBy } = useFieldIds();
  return (
    <button type="button" role="switch" aria-checked={checked} aria-describedby={describedBy} disabled={disabled} onClick={() => onChange(!checked)} className={cx("inline-flex items-center gap-2 phone:min-h-10 disabled:cursor-not-allowed disabled:text-ink-3", className)}>
      <span aria-hidden className={cx("relative h-4 w-7 flex-none rounded-full transition-colors", checked ? "bg-accent" : "bg-line-control", disabled && "opacity-50")}>
        <span className={cx("absolute top-0.5 size-3 rounded-full transition-[left]", checked ? "left-3.5 bg-white" : "left-0.5 bg-surface")} />
      </span>
      <span className={hideLabel ? "sr-only" : undefined}>{children}</span>
    </button>
  );
}

/** A choice that takes effect when the form is saved. */
export function Checkbox({ checked, onChange, children, sub, disabled, hideLabel, className }: ToggleProps & { sub?: ReactNode }) {
  return (
    <button type="button" role="checkbox" aria-checked={checked} disabled={disabled} onClick={() => onChange(!checked)} className={cx("flex items-start gap-2 text-left phone:min-h-10 disabled:cursor-not-allowed disabled:text-ink-3", className)}>
      <span aria-hidden className={cx("mt-0.5 grid size-4 flex-none place-items-center rounded-sm border", checked ? "border-accent bg-accent text-white" : "border-line-control bg-surface")}>{checked && <Check className="size-3 stroke-[2.5]!" />}</span>
      <span className={hideLabel ? "sr-only" : undefined}>
        {children}
        {sub && <span className="block text-small/[18px] text-ink-3">{sub}</span>}
      </span>
    </button>
  );
}

type SliderProps = { value: number; onChange: (value: number) => void; min: number; max: number; step: number; label: string; display?: string };

/** A number between two ends, with its value beside the label. */
export function Slider({ value, onChange, min, max, step, label, display }: SliderProps) {
  return (
    <label className="block">
      <span className="mb-1.5 flex items-baseline text-small font-medium">
        {label}
        <span className="num ml-auto font-regular text-ink-3">{display ?? value}</span>
      </span>
      <input type="range" min={min} max={max} step={step} value={value} onChange={(event) => onChange(Number(event.target.value))} className="block h-4 w-full accent-accent" />
    </label>
  );
}
