import { useState } from "react";
import { useMutation } from "@tanstack/react-query";
import { api, unwrap, type Schema } from "@/api/client";
import { Button } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { ErrorNote } from "@/components/EmptyState";
import { Field, Form, Pair } from "@/components/Field";
import { Input, TextArea } from "@/components/Input";
import { Note } from "@/components/Note";
import { KeyValues, Panel } from "@/components/Panel";
import { Select } from "@/components/Select";
import { duration, NONE } from "@/format";

const SAMPLE = JSON.stringify({ model: "demo-chat", messages: [{ role: "user", content: "Hello" }] }, null, 2);
const REASONS: Record<string, string> = {
  disabled: "A workflow turned caching off for this call.",
  not_cacheable: "Calls of this kind are not cached.",
  bypass: "The headers ask for a fresh answer.",
  not_found: "No answer to this call is stored for this caller.",
  expired: "An answer was stored, and its time is over.",
  below_threshold: "The nearest stored question is not similar enough.",
  prompt_changed: "A similar question differs in a number, name or negation.",
  too_long: "The last turn is too long to be compared.",
  embedder_failed: "The text could not be turned into a vector.",
};

/** The body as it would be sent; the text itself while it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Tells whether a call would be answered from the cache, and why not. Nothing is sent. */
export function Debugger() {
  const [path, setPath] = useState("/v1/chat/completions");
  const [key, setKey] = useState("");
  const [text, setText] = useState(SAMPLE);
  const [wrong, setWrong] = useState<string | null>(null);
  const asked = (body: unknown) => ({ path, body, ...(key && { as_key_id: key }) }) as Schema<"ExplainRequest">;
  const check = useMutation({ mutationFn: (body: unknown) => unwrap(api.POST("/admin/api/v1/cache/debug", { body: asked(body) })) });
  const submit = () => {
    try {
      const body: unknown = JSON.parse(text);
      setWrong(null);
      check.mutate(body);
    } catch (error) {
      setWrong(`Not JSON: ${(error as Error).message}`);
    }
  };
  return (
    <Panel title="Cache decision" sub="nothing is sent">
      <div className="grid grid-cols-2 gap-6 px-4 pb-4 narrow:grid-cols-1">
        <Form onSubmit={submit}>
          <Pair>
            <Field label="Endpoint">
              <Select value={path} onChange={setPath} options={["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"]} />
            </Field>
            <Field label="As key" aside="optional">
              <Input value={key} placeholder="Id of a key; empty: your own" onChange={(event) => setKey(event.target.value.trim())} />
            </Field>
          </Pair>
          <Field label="Body" error={wrong}>
            <TextArea mono rows={9} spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
          </Field>
          <div className="flex gap-2">
            <Button type="submit" look="primary" busy={check.isPending}>
              Check
            </Button>
            <CopyAs call={{ method: "POST", path: "/admin/api/v1/cache/debug", body: asked(parsed(text)) }} />
          </div>
        </Form>
        <div aria-live="polite" className="min-w-0">
          {check.error ? (
            <ErrorNote error={check.error} title="Not checked" />
          ) : check.data ? (
            <Verdict result={check.data} />
          ) : (
            <p className="text-ink-3">The decision appears here, with its cache keys and thresholds.</p>
          )}
        </div>
      </div>
    </Panel>
  );
}

function Verdict({ result }: { result: Schema<"CacheDebugResult"> }) {
  const semantic = ["semantic", "both"].includes(result.cache_type);
  return (
    <div className="space-y-3">
      {result.miss_reason ? (
        <Note kind={result.cacheable ? "info" : "warn"}>
          <b className="font-strong">Miss.</b> {REASONS[result.miss_reason] ?? ""} <code>{result.miss_reason}</code>
        </Note>
      ) : (
        <Note kind="ok">
          <b className="font-strong">Hit.</b> The stored answer would be served.
        </Note>
      )}
      {result.semantic_shadow === "hit" && (
        <Note>
          The semantic cache has an answer and does not serve it: <code>SEMANTIC_CACHE_MODE</code> is shadow.
        </Note>
      )}
      <KeyValues
        items={[
          { label: "Layers searched", value: result.cache_type },
          { label: "Exact key", value: result.exact_cache_key || NONE, mono: true },
          { label: "Kept for", value: duration(result.exact_ttl_seconds * 1000) },
          ...(semantic
            ? [
                { label: "Similarity", value: `${result.semantic_score?.toFixed(4) ?? NONE}, needed ${result.semantic_threshold}` },
                {
                  label: "Words in common",
                  value: result.prompt_similarity_threshold
                    ? `${result.prompt_similarity?.toFixed(2) ?? NONE}, needed ${result.prompt_similarity_threshold}`
                    : "not compared",
                },
                { label: "Semantic key", value: result.semantic_cache_key || NONE, mono: true },
                { label: "Embedder", value: result.embedder_identity || NONE, mono: true },
              ]
            : []),
          { label: "Guardrails", value: result.guardrails_hash, mono: true },
          { label: "Answer as", value: result.effective_content_type, mono: true },
        ]}
      />
    </div>
  );
}
