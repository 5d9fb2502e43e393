import { asYaml } from "./CopyAs";
import { cx } from "./cx";

export type DiffLine = { kind: "same" | "added" | "removed"; text: string };

/** Line difference by the longest common subsequence; long inputs are compared after their common ends. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const x = a.slice(start, a.length - end);
  const y = b.slice(start, b.length - end);
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  return [...same(a.slice(0, start)), ...middle(x, y), ...same(a.slice(a.length - end))];
}

function middle(x: string[], y: string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (x.length * y.length > 4_000_000) return [...x.map(removed), ...y.map(added)];
  const table = Array.from({ length: x.length + 1 }, () => new Uint32Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) table[i]![j] = x[i] === y[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < x.length && j < y.length) {
    if (x[i] === y[j]) {
      out.push({ kind: "same", text: x[i++]! });
      j++;
    } else if (table[i + 1]![j]! >= table[i]![j + 1]!) out.push(removed(x[i++]!));
    else out.push(added(y[j++]!));
  }
  return [...out, ...x.slice(i).map(removed), ...y.slice(j).map(added)];
}

const MARKS = { same: " ", added: "+", removed: "−" } as const;
const WORDS = { same: "", added: "Added: ", removed: "Removed: " } as const;

/** The difference between two values, line by line as YAML; unchanged stretches are folded. */
export function DiffView({ before, after, context = 3, className }: { before: unknown; after: unknown; context?: number; className?: string }) {
  const text = (value: unknown) => (value == null ? "" : typeof value === "string" ? value : asYaml(value));
  const lines = diffLines(text(before), text(after)).filter((line, _, all) => line.text !== "" || all.length > 1);
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - context), i + context + 1).some((line) => line.kind !== "same"));
  if (!near.some(Boolean)) return <p className="text-ink-3">Nothing changes.</p>;
  return (
    <div tabIndex={0} role="group" aria-label="Difference" className={cx("max-h-[60vh] overflow-auto rounded-md border border-line bg-well py-2 font-mono text-small/[18px]", className)}>
      {lines.map((line, i) =>
        near[i] ? (
          <div key={i} className={cx("flex min-w-max px-3 whitespace-pre", line.kind === "added" && "bg-ok-soft text-ok", line.kind === "removed" && "bg-bad-soft text-bad")}>
            <span aria-hidden className="w-4 flex-none">
              {MARKS[line.kind]}
            </span>
            <span className="sr-only">{WORDS[line.kind]}</span>
            {line.text}
          </div>
        ) : (
          near[i - 1] !== false && i > 0 && <div key={i} className="px-3 text-ink-3">⋯</div>
        ),
      )}
    </div>
  );
}
