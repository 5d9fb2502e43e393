import { Copy } from "lucide-react";
import { Button } from "./Button";
import { cx } from "./cx";
import { highlight, type Language } from "./highlight";
import { copy } from "./Toast";

/** Code or text in mono with a copy button. */
export function CodeBlock({ code, language = "text", wrap, label = "Copy", className }: { code: string; language?: Language; wrap?: boolean; label?: string; className?: string }) {
  return (
    <div className="relative">
      <pre tabIndex={0} aria-label="Code" className={cx("overflow-auto rounded-md border border-line bg-well p-3 pr-24 text-small/[18px] [tab-size:2]", wrap && "whitespace-pre-wrap [overflow-wrap:anywhere]", className)}>
        {highlight(code, language).map((part, i) => (part.tone ? <span key={i} className={part.tone}>{part.text}</span> : part.text))}
      </pre>
      <Button size="sm" icon={Copy} className="absolute top-1.5 right-1.5" onClick={() => void copy(code)}>
        {label}
      </Button>
    </div>
  );
}

/** A JSON value, pretty-printed, with a copy button. */
export function JsonView({ value, wrap = true, className }: { value: unknown; wrap?: boolean; className?: string }) {
  return <CodeBlock code={typeof value === "string" ? value : JSON.stringify(value, null, 2)} language="json" wrap={wrap} className={cx("max-h-[60vh]", className)} />;
}
