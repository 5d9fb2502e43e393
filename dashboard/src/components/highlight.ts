export type Language = "text" | "json" | "curl" | "python" | "typescript" | "yaml";
type Part = { text: string; tone?: string };

const STRING = `"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'`;
const NUMBER = `\\b-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?\\b`;
const RULES: Record<Exclude<Language, "text">, [RegExp, string[]]> = {
  json: [new RegExp(`("(?:[^"\\\\\\n]|\\\\.)*")(?=\\s*:)|(${STRING})|(${NUMBER}|\\btrue\\b|\\bfalse\\b|\\bnull\\b)`, "g"), ["text-accent-ink", "text-ok", "text-warn"]],
  curl: [new RegExp(`(\\bcurl\\b)|(${STRING}|https?://\\S+)|(\\s-[A-Za-z-]+)`, "g"), ["text-accent-ink", "text-ok", "text-accent-ink"]],
  python: [new RegExp(`(\\b(?:from|import|for|in|as|with|def|return|if|not|None|True|False|print)\\b)|(${STRING})|(${NUMBER})|(#[^\\n]*)`, "g"), ["text-accent-ink", "text-ok", "text-warn", "text-ink-3"]],
  typescript: [new RegExp(`(\\b(?:import|from|const|let|await|async|for|of|new|return|if|null|true|false|export)\\b)|(${STRING})|(${NUMBER})|(//[^\\n]*)`, "g"), ["text-accent-ink", "text-ok", "text-warn", "text-ink-3"]],
  yaml: [new RegExp(`(^[ \\t-]*[\\w./*-]+(?=:))|(${STRING})|(${NUMBER}|\\btrue\\b|\\bfalse\\b|\\bnull\\b)|(#[^\\n]*)`, "gm"), ["text-accent-ink", "text-ok", "text-warn", "text-ink-3"]],
};

/** Cuts code into parts with a colour class; texts above 200 KB stay plain. */
export function highlight(code: string, language: Language): Part[] {
  if (language === "text" || code.length > 200_000) return [{ text: code }];
  const [pattern, tones] = RULES[language];
  const parts: Part[] = [];
  let at = 0;
  for (const match of code.matchAll(pattern)) {
    const group = match.slice(1).findIndex((value) => value !== undefined);
    if (match.index > at) parts.push({ text: code.slice(at, match.index) });
    parts.push({ text: match[0], tone: tones[group] });
    at = match.index + match[0].length;
  }
  if (at < code.length) parts.push({ text: code.slice(at) });
  return parts;
}
