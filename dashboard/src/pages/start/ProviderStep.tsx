import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Lock } from "lucide-react";
import { useState } from "react";
import { api, unwrap } from "@/api/client";
import { messageOf } from "@/api/errors";
import { Button } from "@/components/Button";
import { cx } from "@/components/cx";
import { ErrorNote } from "@/components/EmptyState";
import { Input } from "@/components/Input";
import { Note } from "@/components/Note";
import { SkeletonRows } from "@/components/Skeleton";
import { Mark } from "@/components/Status";
import { toast } from "@/components/Toast";
import { plural } from "@/format";
import { testProvider, useTypes, type NewProvider, type ProviderType } from "./queries";

const FIRST = ["anthropic", "openai", "gemini", "groq", "ollama"];
const CARD = "flex h-11 min-w-0 items-center gap-2 rounded-md border border-line-strong bg-surface px-2.5 text-left hover:border-line-control hover:bg-hover aria-checked:border-accent-ink aria-checked:bg-accent-soft aria-checked:shadow-[inset_0_0_0_1px_var(--accent-ink)]";

const hostOf = (url: string | null | undefined) => (url && URL.canParse(url) ? new URL(url).host : null);

/** Chooses a type, tests the key, and stores the provider only when the test succeeds. */
export function ProviderStep() {
  const types = useTypes();
  const [all, setAll] = useState(false);
  const [chosen, setChosen] = useState("anthropic");
  if (types.error) return <ErrorNote error={types.error} onRetry={() => void types.refetch()} />;
  if (!types.data) return <SkeletonRows rows={3} columns={3} />;
  const real = types.data.filter((type) => type.type !== "demo");
  const first = FIRST.flatMap((name) => real.find((type) => type.type === name) ?? []);
  const shown = all ? [...first, ...real.filter((type) => !FIRST.includes(type.type))] : first;
  const type = real.find((each) => each.type === chosen);
  return (
    <div className="mt-3 rounded-lg border border-line bg-surface p-4">
      <div role="radiogroup" aria-label="Provider" className="grid grid-cols-3 gap-2 phone:grid-cols-2">
        {shown.map((each) => (
          <button key={each.type} type="button" role="radio" aria-checked={each.type === chosen} onClick={() => setChosen(each.type)} className={CARD}>
            <Mark name={each.title} />
            <span className="truncate">{each.title}</span>
          </button>
        ))}
        {!all && real.length > first.length && (
          <button type="button" onClick={() => setAll(true)} className={cx(CARD, "text-ink-2")}>
            <Mark name="…" />
            {real.length - first.length} more
          </button>
        )}
      </div>
      {type && <Connect key={type.type} type={type} />}
    </div>
  );
}

function Connect({ type }: { type: ProviderType }) {
  const client = useQueryClient();
  const [key, setKey] = useState("");
  const [url, setUrl] = useState("");
  const local = !type.api_key_required;
  const body: NewProvider = { type: type.type, name: type.type.replaceAll("_", "-"), ...(key && { api_key: key.trim() }), ...(url && { base_url: url.trim() }) };
  const ready = (!type.api_key_required || key.trim()) && (!type.base_url_required || url.trim());
  const add = useMutation({
    mutationFn: async () => {
      const test = await testProvider(body);
      if (!test.ok) throw new Error(test.error ?? "The test failed.");
      await unwrap(api.POST("/admin/api/v1/providers", { body }));
      return test;
    },
    onSuccess: async (test) => {
      toast({ kind: "ok", title: `Added ${body.name}`, detail: test.model_count == null ? undefined : `${plural(test.model_count, "model")}, answered in ${test.latency_ms} ms` });
      await client.invalidateQueries({ queryKey: ["providers"] });
      await client.invalidateQueries({ queryKey: ["v1-models"] });
    },
  });
  const host = hostOf(url) ?? hostOf(type.base_url);
  return (
    <form
      className="mt-3 space-y-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !add.isPending) add.mutate();
      }}
    >
      {(type.base_url_required || local) && <Input mono aria-label={`Address of ${type.title}`} placeholder={type.base_url ?? "https://…"} value={url} onChange={(event) => setUrl(event.target.value)} />}
      <div className="flex gap-2 phone:flex-wrap">
        {type.takes_api_key && <Input type="password" icon={Lock} autoComplete="off" aria-label={`API key of ${type.title}`} placeholder={type.api_key_required ? "API key" : "API key, if it needs one"} value={key} onChange={(event) => setKey(event.target.value)} />}
        <Button type="submit" look="primary" busy={add.isPending} disabled={!ready}>
          Test and add
        </Button>
      </div>
      <p className="text-small text-ink-3">{type.takes_api_key ? "Stored encrypted on this machine." : "Needs no key."}{host && ` ${type.takes_api_key ? "It leaves only to" : "Calls go to"} ${host}.`}</p>
      {add.error && <Note kind="bad">{messageOf(add.error)} Nothing was stored.</Note>}
    </form>
  );
}
