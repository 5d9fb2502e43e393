import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "./Button";
import { Input } from "./Input";

type Pair = [name: string, value: string];
const show = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** A text that is JSON of another type than text stays that type. */
function read(text: string): unknown {
  if (!/^(\{|\[|-?\d|true$|false$|null$)/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Names and values, e.g. metadata. */
export function PairsInput({ label, value, onChange }: { label: string; value: Record<string, unknown>; onChange: (value: Record<string, unknown>) => void }) {
  const [pairs, setPairs] = useState<Pair[]>(Object.entries(value).map(([name, each]) => [name, show(each)]));
  const set = (next: Pair[]) => {
    setPairs(next);
    const known = new Map(Object.entries(value).map(([name, each]) => [name, each]));
    onChange(Object.fromEntries(next.filter(([name]) => name !== "").map(([name, text]) => [name, show(known.get(name)) === text ? known.get(name) : read(text)])));
  };
  return (
    <div role="group" aria-label={label} className="space-y-2">
      {pairs.map(([name, text], i) => (
        <div key={i} className="flex items-center gap-2">
          <Input id={`pair-name-${i}`} aria-label={`${label} name ${i + 1}`} placeholder="name" value={name} onChange={(event) => set(pairs.map((pair, k) => (k === i ? [event.target.value, pair[1]] : pair)))} />
          <Input id={`pair-value-${i}`} aria-label={`${label} value ${i + 1}`} placeholder="value" value={text} onChange={(event) => set(pairs.map((pair, k) => (k === i ? [pair[0], event.target.value] : pair)))} />
          <IconButton label={`Remove ${name || `entry ${i + 1}`}`} icon={Trash2} onClick={() => set(pairs.filter((_, k) => k !== i))} />
        </div>
      ))}
      <Button size="sm" icon={Plus} onClick={() => setPairs([...pairs, ["", ""]])}>
        Add
      </Button>
    </div>
  );
}
