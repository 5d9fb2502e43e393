import { cx } from "@/components/cx";
import type { Span } from "./queries";

type MarkedProps = { id: string; value: string; onChange: (value: string) => void; onSubmit: () => void; spans: readonly Span[]; tone: "warn" | "bad"; placeholder?: string };

const TEXT = "[grid-area:1/1] min-h-28 w-full px-4 pt-4 pb-3 text-[14px]/[34px] whitespace-pre-wrap [overflow-wrap:anywhere]";
const TONES = { warn: ["border-warn bg-warn-soft", "text-warn"], bad: ["border-bad bg-bad-soft", "text-bad"] } as const;

/** The parts of a text between and inside of spans. */
export function partsOf(text: string, spans: readonly Span[]): { text: string; span?: Span }[] {
  const parts: { text: string; span?: Span }[] = [];
  let at = 0;
  for (const span of spans) {
    if (span.start < at || span.end > text.length) continue;
    if (span.start > at) parts.push({ text: text.slice(at, span.start) });
    parts.push({ text: text.slice(span.start, span.end), span });
    at = span.end;
  }
  return [...parts, { text: text.slice(at) }];
}

/** A text field whose matches are marked, each with its kind above it. The marks lie under the text. */
export function MarkedTextArea({ id, value, onChange, onSubmit, spans, tone, placeholder }: MarkedProps) {
  const [box, ink] = TONES[tone];
  return (
    <div className="grid rounded-lg border border-line-control bg-surface control-focus">
      <div aria-hidden className={cx(TEXT, "pointer-events-none invisible")}>
        {partsOf(value, spans).map(({ text, span }, i) =>
          span ? (
            <mark key={i} className={cx("visible relative rounded-t-sm border-b-2 py-px text-transparent", box)}>
              {text}
              <span className={cx("absolute -top-[10px] left-0 font-mono text-[10px]/none whitespace-nowrap", ink)}>{span.kind}</span>
            </mark>
          ) : (
            text
          ),
        )}
        {"\n"}
      </div>
      <textarea
        id={id}
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
          event.preventDefault();
          onSubmit();
        }}
        className={cx(TEXT, "relative resize-none overflow-hidden bg-transparent outline-none")}
      />
    </div>
  );
}
