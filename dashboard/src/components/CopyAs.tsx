import { Code } from "lucide-react";
import { Button } from "./Button";
import { Menu } from "./Menu";
import { copy } from "./Toast";

export type Call = {
  method: string;
  /** Path below the origin, e.g. `/admin/api/v1/auth-keys`. */
  path: string;
  body?: unknown;
  /** Environment variable that holds the key; secrets never enter the text. */
  keyVariable?: string;
};

const json = (value: unknown) => JSON.stringify(value, null, 2);

/** The call as a curl command. */
export function asCurl({ method, path, body, keyVariable = "GATEHOUSE_KEY" }: Call): string {
  const lines = [`curl ${method === "GET" || (method === "POST" && body !== undefined) ? "" : `-X ${method} `}${location.origin}${path}`, `  -H "Authorization: Bearer $${keyVariable}"`];
  if (body !== undefined) lines.push('  -H "Content-Type: application/json"', `  -d '${json(body).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n");
}

/** The call as Python with httpx. */
export function asPython({ method, path, body, keyVariable = "GATEHOUSE_KEY" }: Call): string {
  const payload = body === undefined ? "" : `,\n    json=${python(body, 4)}`;
  return `import os\nimport httpx\n\nresponse = httpx.request(\n    "${method}",\n    "${location.origin}${path}",\n    headers={"Authorization": f"Bearer {os.environ['${keyVariable}']}"}${payload},\n)\nresponse.raise_for_status()\nprint(response.json())\n`;
}

/** The call as TypeScript with fetch. */
export function asTypeScript({ method, path, body, keyVariable = "GATEHOUSE_KEY" }: Call): string {
  const headers = `{ Authorization: \`Bearer \${process.env.${keyVariable}}\`${body === undefined ? "" : ', "Content-Type": "application/json"'} }`;
  const payload = body === undefined ? "" : `\n  body: JSON.stringify(${json(body).replaceAll("\n", "\n  ")}),`;
  return `const response = await fetch("${location.origin}${path}", {\n  method: "${method}",\n  headers: ${headers},${payload}\n});\nif (!response.ok) throw new Error(await response.text());\nconsole.log(await response.json());\n`;
}

/** A JSON value as a Python literal; lines after the first are indented. */
export function python(value: unknown, indent: number): string {
  return json(value)
    .replace(/("(?:[^"\\]|\\.)*")|\b(true|false|null)\b/g, (_, text: string | undefined, word: string | undefined) => text ?? { true: "True", false: "False", null: "None" }[word as "true"]!)
    .replaceAll("\n", `\n${" ".repeat(indent)}`);
}

/** A value as YAML, as the configuration files take it. */
export function asYaml(value: unknown, indent = 0): string {
  const pad = "  ".repeat(indent);
  if (Array.isArray(value)) return value.length ? value.map((each) => `${pad}- ${asYaml(each, indent + 1).trimStart()}`).join("\n") : `${pad}[]`;
  if (value && typeof value === "object") {
    const fields = Object.entries(value).filter(([, each]) => each !== undefined);
    if (!fields.length) return `${pad}{}`;
    return fields.map(([name, each]) => (isNested(each) ? `${pad}${yamlText(name)}:\n${asYaml(each, indent + 1)}` : `${pad}${yamlText(name)}: ${asYaml(each).trim()}`)).join("\n");
  }
  return pad + (typeof value === "string" ? yamlText(value) : String(value));
}

const isNested = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value && typeof value === "object" && Object.keys(value).length));
const yamlText = (text: string) => (/^[\w./-]+$/.test(text) && !/^(true|false|null|yes|no|on|off|~|[\d.+-].*)$/i.test(text) ? text : JSON.stringify(text));

/** Copies a call or an object: `call` gives curl, Python and TypeScript, `yaml` the object itself. */
export function CopyAs({ call, yaml, label = "Copy as…", quiet = true }: { call?: Call; yaml?: unknown; label?: string; quiet?: boolean }) {
  const items = [
    ...(call ? [{ label: "curl", run: () => void copy(asCurl(call), "Copied as curl") }, { label: "Python", run: () => void copy(asPython(call), "Copied as Python") }, { label: "TypeScript", run: () => void copy(asTypeScript(call), "Copied as TypeScript") }] : []),
    ...(yaml !== undefined ? [{ label: "YAML", run: () => void copy(asYaml(yaml), "Copied as YAML") }, { label: "JSON", run: () => void copy(json(yaml), "Copied as JSON") }] : []),
  ];
  return (
    <Menu label={label} items={items} align="start">
      <Button look={quiet ? "quiet" : "default"} icon={Code}>
        {label}
      </Button>
    </Menu>
  );
}
