import { ChevronDown, Search } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import { cx } from "@/components/cx";
import { Input } from "@/components/Input";
import { Popover } from "@/components/Popover";
import { Mark } from "@/components/Status";
import { compact } from "@/format";
import type { Choice } from "./queries";

const SHOWN = 200;

type PickerProps = { label: string; value: string; choices: Choice[]; onChange: (model: string) => void };

/** Chooses an alias, combo, pool or model; any other name can be typed. */
export function ModelPicker({ label, value, choices, onChange }: PickerProps) {
  const [open, setOpen] = useState(false);
  const type = choices.find((choice) => choice.id === value)?.type ?? value;
  const pick = (model: string) => {
    setOpen(false);
    onChange(model);
  };
  return (
    <Popover
      label={label}
      open={open}
      onOpenChange={setOpen}
      trigger={
        <button type="button" className="inline-flex h-8 min-w-0 items-center gap-2 rounded-md border border-line-strong bg-surface pr-2 pl-1.5 font-medium hover:border-line-control phone:h-10">
          <Mark name={type || "–"} />
          <span className="sr-only">{label}: </span>
          <span className="truncate">{value || "Choose a model"}</span>
          <ChevronDown aria-hidden className="size-3.5 text-ink-3" />
        </button>
      }
    >
      <ChoiceList value={value} choices={choices} onPick={pick} />
    </Popover>
  );
}

function ChoiceList({ value, choices, onPick }: { value: string; choices: Choice[]; onPick: (model: string) => void }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const found = choices.filter((choice) => choice.id.toLowerCase().includes(wanted)).slice(0, SHOWN);
  const own = text.trim() && !choices.some((choice) => choice.id === text.trim()) ? text.trim() : null;
  const groups = [...new Set(found.map((choice) => choice.group))];

  const onKey = (event: KeyboardEvent<HTMLDivElement>) => {
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>("input, [data-choice]")];
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement as HTMLElement) + step))]?.focus();
  };
  const row = "flex h-8 w-full items-center gap-2 rounded-md px-2 text-left outline-none hover:bg-hover focus:bg-hover phone:h-11";
  return (
    <div onKeyDown={onKey} className="-m-1">
      <Input
        autoFocus
        icon={Search}
        aria-label="Find a model"
        placeholder="Find, or type any name"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          const first = found[0]?.id ?? own;
          if (event.key === "Enter" && first) onPick(choices.some((choice) => choice.id === text.trim()) ? text.trim() : first);
        }}
      />
      <div className="mt-1 max-h-80 overflow-y-auto">
        {groups.map((group) => (
          <div key={group} role="group" aria-label={group}>
            <div aria-hidden className="px-2 pt-2 pb-1 text-micro font-medium text-ink-3">{group}</div>
            {found.filter((choice) => choice.group === group).map((choice) => (
              <button key={choice.id} type="button" data-choice aria-current={choice.id === value || undefined} onClick={() => onPick(choice.id)} className={cx(row, choice.id === value && "bg-selected font-medium")}>
                <Mark name={choice.type ?? choice.id} />
                <span className="min-w-0 flex-1 truncate">{choice.id}</span>
                {choice.context != null && <span className="num text-small font-regular text-ink-3">{compact(choice.context)}</span>}
              </button>
            ))}
          </div>
        ))}
        {own && (
          <button type="button" data-choice onClick={() => onPick(own)} className={row}>
            Use <code className="truncate">{own}</code>
          </button>
        )}
        {!found.length && !own && <p className="px-2 py-3 text-small text-ink-3">No models. Add a provider first.</p>}
      </div>
    </div>
  );
}
