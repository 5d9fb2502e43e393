import { Copy } from "lucide-react";
import { BASE } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNote } from "@/components/EmptyState";
import { highlight, type Language } from "@/components/highlight";
import { SkeletonRows } from "@/components/Skeleton";
import { copy } from "@/components/Toast";
import { unmask, usePreview, type CliTool, type Connection } from "./queries";

const LANGUAGES: Record<string, Language> = { json: "json", jsonc: "json", yaml: "yaml", toml: "yaml", shell: "curl", env: "yaml" };

function Part({ title, code, language = "text", apiKey }: { title: string; code: string; language?: Language; apiKey: string }) {
  const secret = code.includes("****");
  return (
    <section aria-label={title}>
      <div className="mb-1.5 flex min-h-7 items-center gap-2">
        <h3 className="min-w-0 truncate font-mono text-small">{title}</h3>
        <Button size="sm" icon={Copy} className="ml-auto" aria-label={`Copy ${title}`} onClick={() => void copy(unmask(code, apiKey), secret && apiKey ? "Copied with the key" : "Copied")}>
          Copy
        </Button>
      </div>
      <pre tabIndex={0} aria-label={title} className="overflow-auto rounded-md border border-line bg-well p-3 text-small/[18px]">
        {highlight(code, language).map((part, i) => (part.tone ? <span key={i} className={part.tone}>{part.text}</span> : part.text))}
      </pre>
    </section>
  );
}

const quoted = (value: string) => (/^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`);

/** The files, variables and commands that connect the tool; the key is masked here and real in what is copied. */
export function Preview({ tool, connection }: { tool: CliTool; connection: Connection }) {
  const preview = usePreview(tool.id, connection);
  if (preview.error && !preview.data) return <ErrorNote error={preview.error} onRetry={() => void preview.refetch()} />;
  if (!preview.data) return <SkeletonRows rows={5} columns={2} />;
  const { files, env, commands } = preview.data;
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${value.includes("****") ? value : quoted(value)}`);
  const key = connection.api_key;
  const connect = `gatehouse connect ${tool.id} --url ${connection.base_url || `${location.origin}${BASE}`}${connection.model ? ` --model ${quoted(connection.model)}` : ""}`;
  return (
    <div className="space-y-4">
      {files.map((file) => (
        <Part key={file.path} title={file.path} code={file.content} language={LANGUAGES[file.language] ?? "text"} apiKey={key} />
      ))}
      {variables.length > 0 && <Part title="Environment" code={variables.join("\n")} language="curl" apiKey={key} />}
      {commands.length > 0 && <Part title="Commands" code={commands.join("\n")} language="curl" apiKey={key} />}
      <Part title="Or on the developer's machine" code={connect} language="curl" apiKey={key} />
    </div>
  );
}
