import { GitCompareArrows, History, Link2, Route } from "lucide-react";
import { useEffect, useEffectEvent, useState } from "react";
import { messageOf } from "@/api/errors";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { Field, Form } from "@/components/Field";
import { TextArea } from "@/components/Input";
import { Journey } from "@/components/Journey";
import { usePhone } from "@/components/media";
import { Note } from "@/components/Note";
import { Select } from "@/components/Select";
import { SkeletonRows } from "@/components/Skeleton";
import { copy } from "@/components/Toast";
import { Compare } from "./Compare";
import { parseHeaders, parsePasted } from "./parse";
import { PickCall } from "./PickCall";
import { useCall, useExplain, useKeys, type ExplainRequest } from "./queries";
import { explainSteps } from "./steps";
import { Verdict } from "./Verdict";

const ROUTES = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions", "/v1/embeddings", "/v1/rerank"];
const SAMPLE = JSON.stringify({ model: "demo-chat", max_tokens: 1024, messages: [{ role: "user", content: "Hello" }] }, null, 2);
type Draft = { key: string; path: string; body: string; headers: string };

/** Every decision for a call without sending it: pasted, or picked from the audit log. */
export default function ExplainPage() {
  const session = useSession();
  const [filters, setFilters] = useFilters({ call: "", as: "", path: ROUTES[0]!, body: "", headers: "", view: "" }, { view: ["", "pick", "compare"] });
  const [draft, setDraft] = useState<Draft>({ key: filters.as, path: filters.path, body: filters.body || SAMPLE, headers: filters.headers });
  const [problem, setProblem] = useState<string | null>(null);
  const [sent, setSent] = useState<ExplainRequest | null>(null);
  const keys = useKeys(session.can("admin:auth-keys:read"));
  const call = useCall(filters.call);
  const explain = useExplain();
  const phone = usePhone();

  const run = (from: Draft) => {
    try {
      const pasted = parsePasted(from.body);
      const next = { ...from, path: pasted.path ?? from.path };
      if (next.path !== from.path) setDraft(next);
      const headers = { ...parseHeaders(from.headers), ...pasted.headers };
      const request: ExplainRequest = { path: next.path, body: pasted.body as ExplainRequest["body"], headers, ...(next.key && { as_key_id: next.key }) };
      setProblem(null);
      setSent(request);
      explain.mutate(request, { onSuccess: () => phone && requestAnimationFrame(() => document.getElementById("explanation")?.scrollIntoView({ block: "start" })) });
    } catch (error) {
      setProblem(messageOf(error));
    }
  };

  // A picked call fills the form and is explained at once; so is a call that a copied link brings.
  const take = useEffectEvent(() => {
    const entry = call.data;
    if (entry) {
      const query = entry.data.query ? `?${entry.data.query}` : "";
      const next = { key: entry.auth_method === "api_key" ? (entry.auth_key_id ?? "") : "", path: entry.path + query, body: JSON.stringify(entry.data.request_body ?? {}, null, 2), headers: "" };
      setDraft(next);
      if (entry.data.request_body != null) run(next);
    } else if (filters.body && !filters.call) run(draft);
  });
  useEffect(() => take(), [call.data]);

  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const link = () => {
    const search = new URLSearchParams({ ...(draft.key && { as: draft.key }), path: draft.path, body: draft.body, ...(draft.headers && { headers: draft.headers }) });
    void copy(`${location.origin}${location.pathname}?${filters.call ? `call=${filters.call}` : search.toString()}`, "Link copied");
  };
  const options = (keys.data?.entries ?? []).map((key) => ({ value: key.id, label: `${key.name} · ${key.user_path}` }));
  if (draft.key && !options.some((option) => option.value === draft.key)) options.unshift({ value: draft.key, label: call.data?.auth_key_name ?? draft.key });
  const headerCount = draft.headers.split("\n").filter((line) => line.trim()).length;

  return (
    <Page
      flush
      title="Explain"
      sub="Every decision for a call, without sending it"
      actions={
        <>
          {session.can("admin:audit:read") && <Button icon={History} aria-label="Pick from the audit log" onClick={() => setFilters({ view: "pick" })}><span className="phone:hidden">Pick from the audit log</span><span className="hidden phone:inline">Pick</span></Button>}
          <Button icon={GitCompareArrows} aria-label="Compare with a change" onClick={() => setFilters({ view: "compare" })}><span className="phone:hidden">Compare with a change</span><span className="hidden phone:inline">Compare</span></Button>
        </>
      }
    >
      <div className="grid flex-1 grid-cols-[400px_minmax(0,1fr)] narrow:grid-cols-[340px_minmax(0,1fr)] phone:grid-cols-1">
        <Form className="border-r border-line px-6 py-5 phone:border-r-0 phone:border-b phone:px-4" onSubmit={() => run(draft)}>
          {filters.call && call.error ? <Note kind="warn">{messageOf(call.error)}</Note> : null}
          <Field label="Call as"><Select value={draft.key} options={[{ value: "", label: "Me" }, ...options]} onChange={(key) => set({ key })} /></Field>
          <Field label="Route"><Select className="font-mono text-small" value={draft.path} options={[...new Set([draft.path, ...ROUTES])].map((path) => ({ value: path, label: `POST ${path}` }))} onChange={(path) => set({ path })} /></Field>
          <Field label="Body" aside="paste JSON or a curl command" error={problem}><TextArea mono rows={16} spellCheck={false} value={draft.body} onChange={(event) => set({ body: event.target.value })} /></Field>
          <details open={headerCount > 0 || undefined}>
            <summary className="mb-2 text-small font-medium">Headers <span className="font-regular text-ink-3">{headerCount || "none"}</span></summary>
            <TextArea mono rows={3} aria-label="Headers" placeholder={"X-Session-Id: abc\nX-Cache-Mode: bypass"} spellCheck={false} value={draft.headers} onChange={(event) => set({ headers: event.target.value })} />
          </details>
          <div className="flex flex-wrap items-center gap-2">
            <Button type="submit" look="primary" busy={explain.isPending} shortcut="⌘↵">Explain</Button>
            <Button look="quiet" icon={Link2} onClick={link}>Copy link</Button>
            {sent && <CopyAs call={{ method: "POST", path: "/admin/api/v1/explain", body: sent }} />}
          </div>
        </Form>
        <div id="explanation" className="min-w-0 scroll-mt-[52px] bg-surface px-7 py-5 phone:px-4" aria-busy={explain.isPending || undefined}>
          {explain.error ? (
            <ErrorNote error={explain.error} title="The gateway cannot explain this request" />
          ) : explain.data ? (
            <>
              <Verdict explanation={explain.data} />
              <Journey label="Decisions" steps={explainSteps(explain.data)} />
            </>
          ) : explain.isPending || (filters.call && call.isPending) ? (
            <SkeletonRows rows={8} columns={3} />
          ) : (
            <EmptyState icon={Route} title="See every decision before a call is made" actions={<Button look="default" onClick={() => run(draft)}>Explain the example</Button>}>
              Shows the caller's access, the remaining limits and budgets, how the model is resolved, the order of targets with reasons, the changes by guardrails, and the upstream request.
            </EmptyState>
          )}
        </div>
      </div>
      {filters.view === "pick" && <PickCall onClose={() => setFilters({ view: null })} onPick={(id) => setFilters({ call: id, view: null })} />}
      {filters.view === "compare" && <Compare onClose={() => setFilters({ view: null })} />}
    </Page>
  );
}
