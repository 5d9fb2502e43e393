import { Fragment, type ReactNode } from "react";
import { CodeBlock } from "./CodeBlock";

type TextBlock = { kind: "p" | "h" | "code" | "quote"; text: string; language?: string };
type ListBlock = { kind: "ol" | "ul"; items: string[]; start?: number };
type Block = TextBlock | ListBlock;

const isText = (block: Block): block is TextBlock => "text" in block;

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)/g;

/** Inline code, strong and emphasis; everything else stays text. Links are shown as text: nothing leaves the page. */
function inline(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const [code, strong, emphasis] = match.slice(1);
    const inner = (code ?? emphasis)?.slice(1, -1) ?? strong!.slice(2, -2);
    parts.push(code ? <code key={match.index} className="rounded-sm border border-line bg-well px-1">{inner}</code> : strong ? <strong key={match.index} className="font-strong">{inner}</strong> : <em key={match.index}>{inner}</em>);
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const fence = /^\s*```\s*([\w+-]*)/.exec(line);
    const item = /^\s*(?:[-*•]|(\d+)[.)])\s+(.*)$/.exec(line);
    const last = blocks.at(-1);
    if (fence) {
      const end = lines.findIndex((each, at) => at > i && /^\s*```\s*$/.test(each));
      blocks.push({ kind: "code", language: fence[1], text: lines.slice(i + 1, end < 0 ? undefined : end).join("\n") });
      i = end < 0 ? lines.length : end;
    } else if (item) {
      const kind = item[1] ? "ol" : "ul";
      if (last?.kind === kind) last.items.push(item[2]!);
      else blocks.push({ kind, items: [item[2]!], start: item[1] ? Number(item[1]) : undefined });
    } else if (/^#{1,6}\s/.test(line)) blocks.push({ kind: "h", text: line.replace(/^#+\s+/, "") });
    else if (/^>\s?/.test(line)) blocks.push({ kind: "quote", text: line.replace(/^>\s?/, "") });
    else if (line.trim() === "") {
      if (last?.kind === "p") blocks.push({ kind: "p", text: "" });
    } else if (last && (last.kind === "ol" || last.kind === "ul") && /^\s{2,}/.test(line)) last.items[last.items.length - 1] += ` ${line.trim()}`;
    else if (last?.kind === "p" && last.text) last.text += `\n${line}`;
    else blocks.push({ kind: "p", text: line });
  }
  return blocks.filter((block) => (isText(block) ? block.kind === "code" || block.text !== "" : true));
}

function Part({ block, end }: { block: Block; end?: ReactNode }) {
  if (!isText(block)) {
    const items = block.items.map((item, i) => <li key={i}>{inline(item)}{i === block.items.length - 1 && end}</li>);
    return block.kind === "ol" ? <ol start={block.start} className="list-decimal space-y-1 pl-5">{items}</ol> : <ul className="list-disc space-y-1 pl-5">{items}</ul>;
  }
  if (block.kind === "code") {
    const language = { json: "json", python: "python", py: "python", ts: "typescript", typescript: "typescript", js: "typescript", javascript: "typescript", yaml: "yaml", yml: "yaml", bash: "curl", sh: "curl" }[block.language ?? ""] ?? "text";
    return <Fragment><CodeBlock code={block.text} language={language as "text"} />{end}</Fragment>;
  }
  if (block.kind === "h") return <p className="font-strong">{inline(block.text)}{end}</p>;
  if (block.kind === "quote") return <p className="border-l-2 border-line-strong pl-3 text-ink-2">{inline(block.text)}{end}</p>;
  return <p className="whitespace-pre-wrap">{inline(block.text)}{end}</p>;
}

/** The text of a model: paragraphs, lists, code and emphasis as elements, never as HTML. `end` follows the last character. */
export function Markdown({ text, end }: { text: string; end?: ReactNode }) {
  const blocks = blocksOf(text);
  if (!blocks.length) return <p>{end}</p>;
  return (
    <div className="space-y-2 [overflow-wrap:anywhere]">
      {blocks.map((block, i) => (
        <Part key={i} block={block} end={i === blocks.length - 1 ? end : undefined} />
      ))}
    </div>
  );
}
