import { Search, type LucideIcon } from "lucide-react";
import { useEffect, useRef, useState, type ComponentProps, type ReactNode } from "react";
import { useShortcut } from "@/app/shortcuts";
import { Kbd } from "./Button";
import { cx } from "./cx";
import { useFieldIds } from "./Field";

const BOX = "w-full rounded-md border border-line-control bg-surface control-focus aria-invalid:border-bad phone:min-h-10";

type InputProps = ComponentProps<"input"> & { icon?: LucideIcon; affix?: ReactNode; mono?: boolean };

/** A text field; in a Field it takes its label from there, else pass `aria-label`. */
export function Input({ icon: Icon, affix, mono, className, id, ...rest }: InputProps) {
  const ids = useFieldIds(id);
  if (!Icon && affix == null) return <input {...ids} className={cx(BOX, "block min-h-8 px-2.5 py-[5px]", mono && "font-mono text-small", className)} {...rest} />;
  return (
    <span className={cx(BOX, "flex min-h-8 items-center gap-2 px-2.5 py-[5px]", ids["aria-invalid"] && "border-bad", className)}>
      {Icon && <Icon aria-hidden className="size-3.5 text-ink-3" />}
      <input {...ids} className={cx("min-w-0 flex-1 bg-transparent outline-none", mono && "font-mono text-small")} {...rest} />
      {affix != null && <span className="ml-auto whitespace-nowrap text-small text-ink-3">{affix}</span>}
    </span>
  );
}

/** A text field of several lines. */
export function TextArea({ mono, className, id, ...rest }: ComponentProps<"textarea"> & { mono?: boolean }) {
  return <textarea {...useFieldIds(id)} className={cx(BOX, "block resize-y px-2.5 py-2", mono && "font-mono text-small/[18px]", className)} {...rest} />;
}

type NumberInputProps = Omit<ComponentProps<"input">, "value" | "onChange" | "type"> & { value: number | null; onChange: (value: number | null) => void; affix?: ReactNode };

/** A number with thousands separators; empty is null. */
export function NumberInput({ value, onChange, affix, onBlur, ...rest }: NumberInputProps) {
  const [text, setText] = useState<string | null>(null);
  const shown = text ?? (value == null ? "" : value.toLocaleString("en-US", { maximumFractionDigits: 10 }));
  return (
    <Input
      inputMode="decimal"
      value={shown}
      affix={affix}
      onChange={(event) => {
        setText(event.target.value);
        const plain = event.target.value.replace(/[,\s]/g, "");
        const parsed = Number(plain);
        if (plain === "") onChange(null);
        else if (Number.isFinite(parsed)) onChange(parsed);
      }}
      onBlur={(event) => {
        setText(null);
        onBlur?.(event);
      }}
      {...rest}
    />
  );
}

type SearchInputProps = { value: string; onChange: (value: string) => void; label: string; className?: string; delay?: number };

/** The search of a list: `/` focuses it, changes are reported after a short pause. */
export function SearchInput({ value, onChange, label, className, delay = 200 }: SearchInputProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [seen, setSeen] = useState(value);
  if (value !== seen) {
    setSeen(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), delay);
    return () => clearTimeout(timer);
  }, [text, value, delay, onChange]);
  useShortcut("/", () => input.current?.focus());
  return (
    <Input
      ref={input}
      type="search"
      icon={Search}
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
      affix={<Kbd>/</Kbd>}
      className={cx("max-w-[280px] phone:max-w-none phone:w-auto! phone:flex-[1_0_180px]!", className)}
    />
  );
}
