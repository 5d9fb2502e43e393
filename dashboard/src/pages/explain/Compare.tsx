import { Link } from "@tanstack/react-router";
import { ArrowRight, Plus, X } from "lucide-react";
import { useState } from "react";
import { ApiError, messageOf } from "@/api/errors";
import { Button, IconButton } from "@/components/Button";
import { Drawer } from "@/components/Drawer";
import { Field, Form, Pair } from "@/components/Field";
import { Input, TextArea } from "@/components/Input";
import { Note } from "@/components/Note";
import { Segmented } from "@/components/Segmented";
import { Select } from "@/components/Select";
import { Tag } from "@/components/Status";
import { callCost, count, moment, plural } from "@/format";
import { useReplay, type Change, type ReplayResult } from "./queries";

const KINDS = ["alias", "combo", "guardrail", "model_override", "model_price", "pool", "provider", "workflow", "workflow_activation"] as const;
const EXAMPLES: Record<string, string> = { alias: '{ "target": "demo/demo-chat" }', combo: '{ "selectors": ["demo/demo-chat"] }', guardrail: '{ "type": "regex_block", "config": { "patterns": ["secret"] }, "direction": "input" }', model_override: '{ "enabled": false }', model_price: '{ "input_per_mtok": 1, "output_per_mtok": 4 }', pool: '{ "members": ["demo"], "strategy": "round_robin" }', provider: '{ "enabled": false }' };
type Draft = { kind: string; name: string; text: string; remove: boolean };
const EMPTY: Draft = { kind: "alias", name: "", text: EXAMPLES.alias!, remove: false };

function changeOf(draft: Draft): Change {
  if (!draft.name.trim()) throw new Error("Name the document that would change.");
  if (draft.remove) return { kind: draft.kind, name: draft.name.trim(), document: null };
  try {
    return { kind: draft.kind, name: draft.name.trim(), document: JSON.parse(draft.text) as Change["document"] };
  } catch (error) {
    throw new Error(`The document of ${draft.name} is not valid JSON: ${(error as Error).message}.`);
  }
}

/** Replays audited calls against a proposed change; nothing is stored or sent. */
export function Compare({ onClose }: { onClose: () => void }) {
  const [drafts, setDrafts] = useState<Draft[]>([EMPTY]);
  const [limit, setLimit] = useState("100");
  const [problem, setProblem] = useState<string | null>(null);
  const replay = useReplay();
  const edit = (at: number, change: Partial<Draft>) => setDrafts(drafts.map((draft, i) => (i === at ? { ...draft, ...change } : draft)));
  const submit = () => {
    try {
      setProblem(null);
      replay.mutate({ changes: drafts.map(changeOf), limit: Number(limit) });
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const failure = problem ?? (replay.error ? `${messageOf(replay.error)}${replay.error instanceof ApiError && replay.error.param ? ` (${replay.error.param})` : ""}` : null);
  return (
    <Drawer inspector title="Compare with a change" sub="Nothing is stored or sent" onClose={onClose} footer={<><Button look="primary" busy={replay.isPending} onClick={submit}>Replay calls</Button><Button look="quiet" icon={Plus} onClick={() => setDrafts([...drafts, EMPTY])}>Add a change</Button></>}>
      <Form onSubmit={submit}>
        {drafts.map((draft, i) => (
          <fieldset key={i} className="space-y-3 rounded-lg border border-line p-4">
            <legend className="sr-only">Change {i + 1}</legend>
            <Pair>
              <Field label="Kind"><Select value={draft.kind} options={KINDS.map((kind) => ({ value: kind, label: kind.replaceAll("_", " ") }))} onChange={(kind) => edit(i, { kind, text: Object.values(EXAMPLES).includes(draft.text) ? (EXAMPLES[kind] ?? "{}") : draft.text })} /></Field>
              <Field label="Name" aside={drafts.length > 1 && <IconButton label={`Remove change ${i + 1}`} size="sm" icon={X} className="-my-2" onClick={() => setDrafts(drafts.filter((_, at) => at !== i))} />}><Input mono value={draft.name} placeholder={draft.kind.startsWith("model") ? "openai/gpt-5-mini" : "smart"} onChange={(event) => edit(i, { name: event.target.value })} /></Field>
            </Pair>
            <Segmented size="sm" label="Change" value={draft.remove ? "delete" : "change"} options={[{ value: "change", label: "Create or change" }, { value: "delete", label: "Delete" }]} onChange={(value) => edit(i, { remove: value === "delete" })} />
            {!draft.remove && <Field label="Document" hint="The body of its PUT request; members that are left out keep their value."><TextArea mono rows={4} spellCheck={false} value={draft.text} onChange={(event) => edit(i, { text: event.target.value })} /></Field>}
          </fieldset>
        ))}
        <Field label="Newest calls to replay"><Select value={limit} options={["25", "100", "500", "1000"]} onChange={setLimit} /></Field>
        {failure && <Note kind="bad">{failure}</Note>}
      </Form>
      {replay.data && <Result result={replay.data} />}
    </Drawer>
  );
}

function Result({ result }: { result: ReplayResult }) {
  const left = Object.entries(result.not_replayable);
  return (
    <section aria-label="Result" aria-live="polite" className="mt-5 space-y-3">
      <Note kind={result.differing ? "warn" : "ok"}>
        <b className="font-strong">{result.differing ? `${count(result.differing)} of ${plural(result.replayed, "call")} would differ` : `None of ${plural(result.replayed, "call")} would differ`}</b>
        <span className="block text-small text-ink-2">
          {plural(result.examined, "call")} read{left.length > 0 && `, left out: ${left.map(([reason, number]) => `${number} ${reason.replaceAll("_", " ")}`).join(", ")}`}.{!result.complete && " The time limit of 30 s ended the replay early."}
        </span>
      </Note>
      <ol className="divide-y divide-line rounded-lg border border-line">
        {result.calls.map((call) => (
          <li key={call.request_id} className="space-y-1 px-4 py-2.5">
            <div className="flex flex-wrap items-center gap-2">
              <Link to="/audit" search={{ open: call.request_id } as never} className="link font-medium">{call.requested_model}</Link>
              <span className="truncate text-small text-ink-3">{call.user_path}</span>
              <time dateTime={call.timestamp} className="num ml-auto text-small text-ink-3">{moment(call.timestamp)}</time>
            </div>
            {call.changed.map((what) => (
              <div key={what} className="flex flex-wrap items-center gap-2 text-small">
                <Tag kind="warn">{what}</Tag>
                <span className="text-ink-2">{side(call.before, what)}</span>
                <ArrowRight aria-label="becomes" className="size-3 text-ink-3" />
                <span>{side(call.after, what)}</span>
              </div>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}

function side(outcome: ReplayResult["calls"][number]["before"], what: string): string {
  if (what === "cost") return outcome.error_code ? "refused" : outcome.estimated_cost == null ? "unpriced" : `at most ${callCost(outcome.estimated_cost)}`;
  if (what === "route") return outcome.would_try.join(", then ") || (outcome.error_code ?? "refused");
  return [outcome.error_code ?? "allowed", ...outcome.guardrails.filter((verdict) => verdict.verdict !== "allow").map((verdict) => `${verdict.name}: ${verdict.verdict}`)].join(" · ");
}
