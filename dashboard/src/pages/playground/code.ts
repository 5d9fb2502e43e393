import { BASE } from "@/api/client";
import { python } from "@/components/CopyAs";
import type { Language } from "@/components/highlight";
import { CHAT } from "./call";

type Request = { body: Record<string, unknown>; headers: Record<string, string> };

const json = (value: unknown) => JSON.stringify(value, null, 2);

function asCurl({ body, headers }: Request): string {
  const extra = Object.entries(headers).map(([name, value]) => `  -H "${name}: ${value}"`);
  const lines = [`curl ${body.stream ? "-N " : ""}${location.origin}${CHAT}`, '  -H "Authorization: Bearer $GATEHOUSE_KEY"', '  -H "Content-Type: application/json"', ...extra, `  -d '${json(body).replaceAll("'", "'\\''")}'`];
  return lines.join(" \\\n");
}

function asPython({ body, headers }: Request): string {
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${python(value, 4)},`);
  if (Object.keys(headers).length) fields.push(`    extra_headers=${python(headers, 4)},`);
  const read = body.stream
    ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="", flush=True)'
    : "print(answer.choices[0].message.content)";
  return `import os\nfrom openai import OpenAI\n\nclient = OpenAI(\n    base_url="${location.origin}${BASE}/v1",\n    api_key=os.environ["GATEHOUSE_KEY"],\n)\nanswer = client.chat.completions.create(\n${fields.join("\n")}\n)\n${read}\n`;
}

function asTypeScript({ body, headers }: Request): string {
  const options = Object.keys(headers).length ? `, { headers: ${json(headers).replaceAll(/\s+/g, " ")} }` : "";
  const read = body.stream
    ? 'for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");'
    : "console.log(answer.choices[0]?.message.content);";
  return `import OpenAI from "openai";\n\nconst client = new OpenAI({\n  baseURL: "${location.origin}${BASE}/v1",\n  apiKey: process.env.GATEHOUSE_KEY,\n});\nconst answer = await client.chat.completions.create(${json(body)}${options});\n${read}\n`;
}

export type CodeLanguage = Extract<Language, "curl" | "python" | "typescript">;

/** The call as a program. The key is read from the environment. */
export function asCode(language: CodeLanguage, request: Request): string {
  return { curl: asCurl, python: asPython, typescript: asTypeScript }[language](request);
}

/** The same text without the bytes of images, to be read. */
export const withoutBytes = (code: string) => code.replaceAll(/(data:[\w/+.-]+;base64,[A-Za-z0-9+/]{24})[A-Za-z0-9+/=]+/g, "$1…");
