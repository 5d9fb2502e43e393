import { Check } from "lucide-react";
import { cx } from "./cx";

/** Several of a few known values, each a button that is pressed or not. */
export function ChoiceTags({ label, options, values, onChange, mono = true }: { label: string; options: readonly string[]; values: readonly string[]; onChange: (values: string[]) => void; mono?: boolean }) {
  return (
    <div role="group" aria-label={label} className="flex flex-wrap gap-1.5">
      {options.map((option) => {
        const on = values.includes(option);
        return (
          <button
            key={option}
            type="button"
            aria-pressed={on}
            onClick={() => onChange(on ? values.filter((each) => each !== option) : options.filter((each) => each === option || values.includes(each)))}
            className={cx("inline-flex h-7 items-center gap-1 rounded-md border px-2 phone:h-10", mono ? "font-mono text-[11.5px] tracking-[-0.01em]" : "text-small", on ? "border-accent-line bg-accent-soft text-accent-ink" : "border-line-strong text-ink-2 hover:border-line-control hover:text-ink")}
          >
            {on && <Check aria-hidden className="size-3 stroke-2!" />}
            {option}
          </button>
        );
      })}
    </div>
  );
}
