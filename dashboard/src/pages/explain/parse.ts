/** A request to explain, as far as the text names it. */
export type Pasted = { method?: string; path?: string; headers: Record<string, string>; body: Record<string, unknown> };

/** Splits a shell command into words: quotes, escapes and continued lines. */
function words(command: string): string[] {
  const out: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let i = 0; i < command.length; i++) {
    const c = command[i]!;
    if (quote) {
      if (c === quote) quote = "";
      else if (c === "\\" && quote === '"' && /["\\$`\n]/.test(command[i + 1] ?? "")) word += command[++i] === "\n" ? "" : command[i]!;
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (c === "\\") {
      const next = command[++i];
      if (next !== "\n" && next !== undefined) word = (word ?? "") + next;
    } else if (/\s/.test(c)) {
      if (word !== null) out.push(word);
      word = null;
    } else word = (word ?? "") + c;
  }
  if (word !== null) out.push(word);
  return out;
}

const SECRET = /^(authorization|x-api-key|x-goog-api-key|cookie|content-type|content-length|host)$/i;

function parseCurl(text: string): Pasted {
  const headers: Record<string, string> = {};
  let body = "";
  let path: string | undefined;
  const list = words(text);
  for (let i = 1; i < list.length; i++) {
    const word = list[i]!;
    if (word === "-H" || word === "--header") {
      const [name, ...rest] = (list[++i] ?? "").split(":");
      if (name && !SECRET.test(name.trim())) headers[name.trim()] = rest.join(":").trim();
    } else if (/^(-d|--data|--data-raw|--data-binary|--json)$/.test(word)) body += list[++i] ?? "";
    else if (/^(-X|--request|-o|--output|-u|--user|-m|--max-time)$/.test(word)) i++;
    else if (/^https?:\/\//.test(word) || word.startsWith("/")) path = pathOf(word);
  }
  if (!body) throw new Error("The curl command has no body (-d).");
  return { path, headers, body: parseObject(body) };
}

function pathOf(address: string): string {
  const url = new URL(address, "http://gateway");
  return url.pathname + url.search;
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`The body is not valid JSON: ${(error as Error).message}.`);
  }
  if (!value || typeof value !== "object" || Array.isArray(value)) throw new Error("The body must be a JSON object.");
  return value as Record<string, unknown>;
}

/** Reads a JSON body or a curl command; credentials are left out. Throws an Error that says what is wrong. */
export function parsePasted(text: string): Pasted {
  const trimmed = text.trim();
  if (!trimmed) throw new Error("Paste a JSON body or a curl command.");
  return /^curl\s/.test(trimmed) ? parseCurl(trimmed) : { headers: {}, body: parseObject(trimmed) };
}

/** Reads headers, one "Name: value" per line. */
export function parseHeaders(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      if (at < 1) throw new Error(`"${line}" is not a header: write "Name: value".`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
