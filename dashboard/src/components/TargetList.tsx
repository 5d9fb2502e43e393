import { ArrowDown, ArrowUp, Plus, Trash2 } from "lucide-react";
import { useId, type ReactNode } from "react";
import { Button, IconButton } from "./Button";
import { Input, NumberInput } from "./Input";

type TargetListProps = {
  /** "Target" or "Member"; the fields are named "Target 1", "Target 2". */
  noun: string;
  values: readonly string[];
  onChange: (values: string[]) => void;
  /** Given only when the strategy uses weights. */
  weights?: Record<string, number>;
  onWeights?: (weights: Record<string, number>) => void;
  suggestions?: readonly string[];
  placeholder?: string;
  least?: number;
  most?: number;
  /** Line under a value, e.g. that nothing has this name. */
  note?: (value: string, index: number) => ReactNode;
  error?: string;
};

/** Names in order, which can be moved, weighted and removed. */
export function TargetList({ noun, values, onChange, weights, onWeights, suggestions, placeholder, least = 1, most = 20, note, error }: TargetListProps) {
  const id = useId();
  const swap = (a: number, b: number) => {
    const next = [...values];
    [next[a], next[b]] = [next[b] ?? "", next[a] ?? ""];
    onChange(next);
  };
  const total = weights ? values.reduce((sum, value) => sum + (weights[value] ?? 1), 0) : 0;
  return (
    <fieldset>
      <legend className="mb-1.5 text-small font-medium">{noun}s</legend>
      <ol className="space-y-2">
        {values.map((value, i) => (
          <li key={i}>
            <div className="flex items-center gap-1.5">
              <span aria-hidden className="num w-4 flex-none text-right text-small text-ink-3">{i + 1}</span>
              <Input aria-label={`${noun} ${i + 1}`} list={id} value={value} placeholder={placeholder} autoComplete="off" spellCheck={false} onChange={(event) => onChange(values.map((old, k) => (k === i ? event.target.value.trim() : old)))} className="min-w-0 flex-1" />
              {weights && (
                <span className="w-24 flex-none">
                  <NumberInput aria-label={`Weight of ${noun.toLowerCase()} ${i + 1}`} value={weights[value] ?? 1} disabled={!value} onChange={(weight) => onWeights?.({ ...weights, [value]: weight ?? 1 })} affix={total > 0 ? `${Math.round(((weights[value] ?? 1) / total) * 100)}%` : undefined} />
                </span>
              )}
              <span className="flex flex-none">
                <IconButton label={`Move ${noun.toLowerCase()} ${i + 1} up`} icon={ArrowUp} size="sm" disabled={i === 0} onClick={() => swap(i, i - 1)} className="disabled:border-transparent! disabled:bg-transparent! phone:w-8" />
                <IconButton label={`Move ${noun.toLowerCase()} ${i + 1} down`} icon={ArrowDown} size="sm" disabled={i === values.length - 1} onClick={() => swap(i, i + 1)} className="disabled:border-transparent! disabled:bg-transparent! phone:w-8" />
                <IconButton label={`Remove ${noun.toLowerCase()} ${i + 1}`} icon={Trash2} size="sm" disabled={values.length <= least} onClick={() => onChange(values.filter((_, k) => k !== i))} className="disabled:border-transparent! disabled:bg-transparent! phone:w-8" />
              </span>
            </div>
            {note?.(value, i)}
          </li>
        ))}
      </ol>
      <datalist id={id}>{suggestions?.filter((each) => !values.includes(each)).map((each) => <option key={each} value={each} />)}</datalist>
      {error && <p role="alert" className="mt-1.5 text-small text-bad">{error}</p>}
      {values.length < most && (
        <Button size="sm" icon={Plus} className="mt-2 ml-5.5" onClick={() => onChange([...values, ""])}>
          Add {noun.toLowerCase()}
        </Button>
      )}
    </fieldset>
  );
}
