import { useState } from "react";
import { CodeBlock, JsonView } from "@/components/CodeBlock";
import { EmptyState } from "@/components/EmptyState";
import { Note } from "@/components/Note";
import { KeyValues } from "@/components/Panel";
import { Segmented } from "@/components/Segmented";
import { messagesOf, textOfAnswer, type Turn } from "./messages";
import type { Entry } from "./types";

function Absent({ what }: { what: string }) {
  return (
    <EmptyState small title={`The ${what} was not recorded`}>
      Bodies are recorded with <code>LOGGING_LOG_BODIES</code>; a workflow or a guardrail may leave them out.
    </EmptyState>
  );
}

export function Turns({ turns }: { turns: Turn[] }) {
  return (
    <ol className="space-y-3">
      {turns.map((turn, i) => (
        <li key={i} className="rounded-md border border-line">
          <div className="border-b border-line bg-well px-3 py-1 text-small text-ink-2">{turn.role}</div>
          <div className="px-3 py-2 whitespace-pre-wrap [overflow-wrap:anywhere]">{turn.text || <span className="text-ink-3">empty</span>}</div>
        </li>
      ))}
    </ol>
  );
}

/** Request or response: as messages where they can be read, and as it was sent. */
export function BodyTab({ entry, side }: { entry: Entry; side: "request" | "response" }) {
  const [view, setView] = useState<"read" | "raw">("read");
  const { data } = entry;
  const body: unknown = side === "request" ? data.request_body : data.response_body;
  if (body == null) return <Absent what={side === "request" ? "request body" : "response body"} />;
  const answer = side === "response" ? textOfAnswer(body) : null;
  const turns = side === "request" ? messagesOf(body) : answer ? [{ role: "assistant", text: answer }] : [];
  const truncated = side === "request" ? data.request_truncated : data.response_truncated;
  const lossy = side === "request" ? data.request_lossy : data.response_lossy;
  return (
    <div className="space-y-3">
      {truncated && <Note kind="warn">The body was longer than the audit log keeps: this is its beginning. <code>LOGGING_BODY_LIMIT</code> sets the limit.</Note>}
      {lossy && <Note kind="warn">The body was not valid text; what could not be read was replaced.</Note>}
      {turns.length > 0 && <Segmented size="sm" label="View" value={view} onChange={setView} options={[{ value: "read", label: "Messages" }, { value: "raw", label: "As sent" }]} />}
      {turns.length > 0 && view === "read" ? <Turns turns={turns} /> : typeof body === "string" ? <CodeBlock code={body} wrap className="max-h-[60vh]" /> : <JsonView value={body} />}
    </div>
  );
}

function HeaderList({ title, headers }: { title: string; headers: Record<string, string> | undefined }) {
  const items = Object.entries(headers ?? {}).sort(([a], [b]) => a.localeCompare(b));
  return (
    <section>
      <h3 className="mb-2 text-body font-strong">{title}</h3>
      {items.length ? <KeyValues className="grid-cols-[196px_minmax(0,1fr)]" items={items.map(([label, value]) => ({ label, value, mono: true }))} /> : <p className="text-ink-3">Not recorded: see <code>LOGGING_LOG_HEADERS</code>.</p>}
    </section>
  );
}

/** Headers of both sides; credentials are not recorded. */
export function HeadersTab({ entry }: { entry: Entry }) {
  return (
    <div className="space-y-5">
      <HeaderList title="Request" headers={entry.data.request_headers} />
      <HeaderList title="Response" headers={entry.data.response_headers} />
    </div>
  );
}
