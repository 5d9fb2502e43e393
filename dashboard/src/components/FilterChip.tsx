import { Plus, X } from "lucide-react";
import { useId, useState, type ReactNode } from "react";
import { cx } from "./cx";
import { Popover } from "./Popover";
import { Button } from "./Button";
import { Input } from "./Input";

type FilterChipProps = {
  /** Name of the filter, e.g. "Status". */
  label: string;
  value: string | null | undefined;
  onChange: (value: string | null) => void;
  /** Values to choose from; without them the chip takes text. */
  options?: readonly (string | { value: string; label: string })[];
  placeholder?: string;
  /** Shown instead of the value, e.g. the name of a key. */
  display?: ReactNode;
};

/** A filter of a list: dashed while empty, solid with × when set. Its value belongs into the URL. */
export function FilterChip({ label, value, onChange, options, placeholder, display }: FilterChipProps) {
  const [open, setOpen] = useState(false);
  const set = value != null && value !== "";
  const choose = (next: string | null) => {
    setOpen(false);
    onChange(next);
  };
  const shown = display ?? options?.map((o) => (typeof o === "string" ? { value: o, label: o } : o)).find((o) => o.value === value)?.label ?? value;
  return (
    <span className={cx("inline-flex h-7 items-center rounded-md border border-line-strong text-small whitespace-nowrap phone:h-10", set ? "bg-surface pr-1" : "border-dashed text-ink-2 hover:border-line-control hover:text-ink")}>
      <Popover
        open={open}
        onOpenChange={setOpen}
        label={`Filter by ${label.toLowerCase()}`}
        trigger={
          <button type="button" className={cx("inline-flex h-full items-center gap-1.5 rounded-md", set ? "pr-1 pl-2.5" : "pr-2.5 pl-2")}>
            {!set && <Plus aria-hidden className="size-3.5 text-ink-3" />}
            <span className={set ? "text-ink-3" : undefined}>{label}</span>
            {set && <b className="max-w-48 truncate font-medium">{shown}</b>}
          </button>
        }
      >
        {options ? <Choices label={label} options={options} value={value ?? null} onChoose={choose} /> : <TextFilter label={label} value={value ?? ""} placeholder={placeholder} onChoose={choose} />}
      </Popover>
      {set && (
        <button type="button" aria-label={`Remove the filter ${label}`} onClick={() => onChange(null)} className="grid size-5 place-items-center rounded-sm text-ink-3 hover:bg-hover hover:text-ink phone:size-7">
          <X aria-hidden className="size-3.5" />
        </button>
      )}
    </span>
  );
}

function Choices({ label, options, value, onChoose }: { label: string; options: NonNullable<FilterChipProps["options"]>; value: string | null; onChoose: (value: string) => void }) {
  const [text, setText] = useState("");
  const id = useId();
  const all = options.map((o) => (typeof o === "string" ? { value: o, label: o } : o));
  const found = all.filter((o) => o.label.toLowerCase().includes(text.toLowerCase()));
  return (
    <div>
      {all.length > 8 && <Input autoFocus aria-label={`Search ${label.toLowerCase()}`} aria-controls={id} placeholder="Search" value={text} onChange={(event) => setText(event.target.value)} className="mb-2" />}
      <ul id={id} className="-mx-1.5 max-h-64 overflow-y-auto">
        {found.map((option) => (
          <li key={option.value}>
            <button type="button" aria-pressed={option.value === value} onClick={() => onChoose(option.value)} className={cx("flex h-8 w-full items-center rounded-md px-2 text-left hover:bg-hover phone:h-11", option.value === value && "bg-accent-soft")}>
              <span className="truncate">{option.label}</span>
            </button>
          </li>
        ))}
        {!found.length && <li className="px-2 py-1 text-ink-3">Nothing matches.</li>}
      </ul>
    </div>
  );
}

function TextFilter({ label, value, placeholder, onChoose }: { label: string; value: string; placeholder?: string; onChoose: (value: string | null) => void }) {
  const [text, setText] = useState(value);
  return (
    <form
      className="flex gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        onChoose(text.trim() || null);
      }}
    >
      <Input autoFocus aria-label={label} placeholder={placeholder ?? label} value={text} onChange={(event) => setText(event.target.value)} />
      <Button type="submit">Apply</Button>
    </form>
  );
}
