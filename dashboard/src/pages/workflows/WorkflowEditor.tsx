import { useState } from "react";
import { ADMIN, unwrap } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { EditDrawer, fieldError } from "@/components/EditDrawer";
import { Field, FormSection, Pair } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { Select } from "@/components/Select";
import { Switch } from "@/components/Switch";
import { GuardrailSteps } from "./GuardrailSteps";
import { activate, bodyOf, comparable, createVersion, deactivate, WORKFLOWS, type Payload, type Scope, type Version, type WorkflowBody } from "./queries";
import { scopeWords } from "./tree";

const FEATURES = [["guardrails", "Guardrails"], ["budget", "Budget"], ["cache", "Cache"], ["fallback", "Fallback"], ["audit", "Audit log"], ["usage", "Usage"]] as const;
const STRATEGIES = ["primary_fallback", "round_robin", "weighted", "random", "least_loaded", "latency", "cost", "adaptive"] as const;
const EMPTY: WorkflowBody = { scope: {}, name: "", description: null, workflow_payload: { schema_version: 1, features: { cache: true, audit: true, usage: true, budget: true, guardrails: true, fallback: true }, guardrails: [] } };

/** Members without a value are left out, as the gateway stores them. */
const compactObject = <T extends object>(value: T | null | undefined): T | undefined => {
  const fields = Object.entries(value ?? {}).filter(([, each]) => each != null && each !== "");
  return fields.length ? (Object.fromEntries(fields) as T) : undefined;
};

function tidy(body: WorkflowBody): WorkflowBody {
  const { routing, cache, guardrails, ...rest } = body.workflow_payload ?? {};
  const route = compactObject(routing);
  const keep = compactObject(cache);
  return { ...body, scope: compactObject(body.scope) ?? {}, workflow_payload: { ...rest, ...(guardrails?.length && { guardrails }), ...(route && { routing: route }), ...(keep && { cache: keep }) } };
}

/** The form of a version: a stored one is never changed, saving makes the next and activates it. */
export function WorkflowEditor({ from, onClose, onSaved }: { from: Version | null; onClose: () => void; onSaved: (id: string) => void }) {
  const start = from ? bodyOf(from) : EMPTY;
  const [draft, setDraft] = useState<WorkflowBody>(start);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [nameWrong, setNameWrong] = useState<string>();
  const payload: Payload = draft.workflow_payload ?? {};
  const setPayload = (change: Partial<Payload>) => setDraft({ ...draft, workflow_payload: { ...payload, ...change } });
  const scope: Scope = draft.scope ?? {};
  const setScope = (change: Partial<Scope>) => setDraft({ ...draft, scope: { ...scope, ...change } });

  const save = useSave({
    write: (body: WorkflowBody) => createVersion(body),
    invalidates: [WORKFLOWS, ["changes"]],
    done: (record) => ("version" in record ? `Version ${record.version} of ${scopeWords(record.scope)} is in force` : "The workflow is in force"),
    undo: (record) => unwrap<unknown>(from?.active ? activate(from.id) : deactivate(record.id)),
    onSuccess: (record) => {
      onSaved(record.id);
      onClose();
    },
    onError: (error) => {
      setFailed(error);
      return true;
    },
  });
  const check = () => {
    const wrong = draft.name.trim() ? undefined : "A workflow needs a name.";
    setNameWrong(wrong);
    return !wrong;
  };
  const submit = () => {
    setFailed(null);
    save.mutate({ input: tidy(draft) });
  };

  return (
    <EditDrawer
      title={from ? "New version" : "Create workflow"}
      sub={from ? `${scopeWords(from.scope)}, from version ${from.version}` : undefined}
      before={from ? comparable(tidy(start)) : null}
      after={comparable(tidy(draft))}
      call={{ method: "POST", path: `${ADMIN}/workflows`, body: tidy(draft) }}
      create="Create workflow"
      check={check}
      effect="Saving makes the next version and puts it in force."
      onSave={submit}
      onClose={onClose}
      busy={save.busy}
      failed={failed}
      fields={["name", "scope.scope_user_path", "scope.scope_provider_name", "scope.scope_model"]}
    >
      <Field label="Name" error={nameWrong ?? fieldError(failed, "name")}>
        <Input autoFocus={!from} value={draft.name} onChange={(event) => setDraft({ ...draft, name: event.target.value })} />
      </Field>
      <Field label="Description" aside="optional" hint="The reason for this version, shown in its history.">
        <Input value={draft.description ?? ""} onChange={(event) => setDraft({ ...draft, description: event.target.value || null })} />
      </Field>
      {!from && (
        <>
          <FormSection title="Scope" sub="empty: all calls" />
          <Field label="Path" aside="optional" error={fieldError(failed, "scope.scope_user_path")}>
            <Input mono placeholder="/search" value={scope.scope_user_path ?? ""} onChange={(event) => setScope({ scope_user_path: event.target.value || null })} />
          </Field>
          <Pair>
            <Field label="Provider" aside="optional" error={fieldError(failed, "scope.scope_provider_name")}>
              <Input value={scope.scope_provider_name ?? ""} onChange={(event) => setScope({ scope_provider_name: event.target.value || null })} />
            </Field>
            <Field label="Model" aside="optional" error={fieldError(failed, "scope.scope_model")}>
              <Input value={scope.scope_model ?? ""} disabled={!scope.scope_provider_name} onChange={(event) => setScope({ scope_model: event.target.value || null })} />
            </Field>
          </Pair>
        </>
      )}
      <FormSection title="Guardrails" sub="those of the same step inspect the same text" />
      <GuardrailSteps steps={payload.guardrails ?? []} onChange={(guardrails) => setPayload({ guardrails })} />
      <FormSection title="Features" />
      <div className="grid grid-cols-2 gap-2">
        {FEATURES.map(([name, label]) => (
          <Switch key={name} checked={payload.features?.[name] !== false} onChange={(on) => setPayload({ features: { ...payload.features, [name]: on } })}>
            {label}
          </Switch>
        ))}
      </div>
      <FormSection title="Routing" sub="empty: as set by the alias, combo or pool" />
      <Field label="Strategy">
        <Select value={payload.routing?.strategy ?? ""} options={[{ value: "", label: "Not set" }, ...STRATEGIES.map((value) => ({ value, label: value }))]} onChange={(strategy) => setPayload({ routing: { ...payload.routing, strategy: strategy === "" ? null : strategy } })} />
      </Field>
      <Pair>
        <Field label="Time limit" aside="optional">
          <NumberInput affix="ms" value={payload.routing?.timeout_ms ?? null} onChange={(timeout_ms) => setPayload({ routing: { ...payload.routing, timeout_ms } })} />
        </Field>
        <Field label="Retries" aside="optional">
          <NumberInput value={payload.routing?.retries ?? null} onChange={(retries) => setPayload({ routing: { ...payload.routing, retries } })} />
        </Field>
      </Pair>
      <FormSection title="Cache" sub="empty: as in the settings" />
      <Pair>
        <Field label="Kept for" aside="optional">
          <NumberInput affix="s" value={payload.cache?.ttl_seconds ?? null} onChange={(ttl_seconds) => setPayload({ cache: { ...payload.cache, ttl_seconds } })} />
        </Field>
        <Field label="Similarity from" aside="optional">
          <NumberInput value={payload.cache?.semantic_threshold ?? null} onChange={(semantic_threshold) => setPayload({ cache: { ...payload.cache, semantic_threshold } })} />
        </Field>
      </Pair>
    </EditDrawer>
  );
}
