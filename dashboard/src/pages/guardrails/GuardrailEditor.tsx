import { useState } from "react";
import { ADMIN, unwrap } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { Drawer } from "@/components/Drawer";
import { EditDrawer, fieldError } from "@/components/EditDrawer";
import { ErrorNote } from "@/components/EmptyState";
import { Field, FormSection, Pair } from "@/components/Field";
import { Input } from "@/components/Input";
import type { JsonObject, JsonSchema } from "@/components/schema/types";
import { Segmented } from "@/components/Segmented";
import { Select } from "@/components/Select";
import { SkeletonRows } from "@/components/Skeleton";
import { ConfigFields, configParams } from "./ConfigFields";
import { kindOf } from "./kinds";
import { bodyOf, deleteGuardrail, GUARDRAILS, putGuardrail, useGuardrail, useGuardrailTypes, type Guardrail, type GuardrailBody, type GuardrailType } from "./queries";

type EditorProps = { name: string | null; taken: readonly string[]; onClose: () => void; onSaved: (name: string) => void };

/** The form of a new or stored guardrail, made from the schema of its type. */
export function GuardrailEditor({ name, taken, onClose, onSaved }: EditorProps) {
  const types = useGuardrailTypes(true);
  const stored = useGuardrail(name);
  const error = types.error ?? stored.error;
  if (!types.data || (name !== null && !stored.data))
    return (
      <Drawer title={name ?? "Create guardrail"} onClose={onClose}>
        {error ? <ErrorNote error={error} onRetry={() => void Promise.all([types.refetch(), stored.refetch()])} /> : <SkeletonRows rows={6} columns={1} />}
      </Drawer>
    );
  return <EditorForm types={types.data} stored={stored.data ?? null} etag={stored.etag} taken={taken} reload={() => void stored.refetch()} onClose={onClose} onSaved={onSaved} />;
}

type FormProps = { types: GuardrailType[]; stored: Guardrail | null; etag: string | null; taken: readonly string[]; reload: () => void; onClose: () => void; onSaved: (name: string) => void };
const NEW: GuardrailBody = { type: "pii_redact", config: {}, direction: "both", mode: "enforce", description: null, user_path: null, on_error: "block", on_unreadable: "allow" };
const DIRECTIONS = { input: "Requests", output: "Answers", both: "Both", log: "Records only" } as const;

function EditorForm({ types, stored, etag, taken, reload, onClose, onSaved }: FormProps) {
  const before = stored ? bodyOf(stored) : null;
  const [name, setName] = useState(stored?.name ?? "");
  const [draft, setDraft] = useState<GuardrailBody>(before ?? NEW);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [nameWrong, setNameWrong] = useState<string>();
  const set = (change: Partial<GuardrailBody>) => setDraft({ ...draft, ...change });
  const type = types.find((each) => each.type === draft.type);
  const schema = type?.schema as JsonSchema | undefined;
  const directions = type?.directions ?? [];

  const save = useSave({
    write: (body: GuardrailBody, headers) => putGuardrail(name, body, headers),
    invalidates: [GUARDRAILS, ["changes"]],
    done: () => (stored ? `${name} is saved` : { title: `${name} is created`, detail: "Add it to a workflow to say which calls it inspects." }),
    undo: () => (before ? unwrap(putGuardrail(name, before)) : unwrap(deleteGuardrail(name))),
    what: `the guardrail ${name}`,
    onCompare: reload,
    onSuccess: () => {
      onSaved(name);
      onClose();
    },
    onError: (error) => {
      setFailed(error);
      return true;
    },
  });
  const check = () => {
    const wrong = stored ? undefined : !name.trim() ? "A guardrail needs a name." : name.includes("/") ? "A name has no slash." : taken.includes(name) ? "There is a guardrail with this name." : undefined;
    setNameWrong(wrong);
    return !wrong;
  };
  const submit = () => {
    setFailed(null);
    save.mutate({ input: draft, etag });
  };
  const chooseType = (next: GuardrailBody["type"]) => {
    const allowed = types.find((each) => each.type === next)?.directions ?? [];
    const direction = draft.direction && allowed.includes(draft.direction) ? draft.direction : allowed.includes("both") ? "both" : allowed[0];
    set({ type: next, config: {}, direction });
  };

  return (
    <EditDrawer
      title={stored ? stored.name : "Create guardrail"}
      sub={kindOf(draft.type).label}
      before={before}
      after={draft}
      call={{ method: "PUT", path: `${ADMIN}/guardrails/${encodeURIComponent(name)}`, body: draft }}
      yaml={{ name, ...draft }}
      create="Create guardrail"
      check={check}
      onSave={submit}
      onClose={onClose}
      busy={save.busy}
      failed={failed}
      fields={["name", "description", "user_path", ...configParams(schema, failed)]}
    >
      {!stored && (
        <Field label="Name" error={nameWrong ?? fieldError(failed, "name")} hint="Workflows refer to it by this name.">
          <Input autoFocus value={name} onChange={(event) => setName(event.target.value)} placeholder="no-secrets" />
        </Field>
      )}
      {!stored && (
        <Field label="Type" hint={type?.description}>
          <Select value={draft.type} onChange={chooseType} options={types.map((each) => ({ value: each.type, label: each.title }))} />
        </Field>
      )}
      {schema && <ConfigFields key={draft.type} schema={schema} value={(draft.config ?? {}) as JsonObject} onChange={(config) => set({ config: config as GuardrailBody["config"] })} failed={failed} />}
      <FormSection title="Behaviour" />
      <Field label="Inspects">
        <Segmented label="Inspects" full value={draft.direction ?? "both"} onChange={(direction) => set({ direction })} options={directions.map((each) => ({ value: each, label: DIRECTIONS[each] }))} />
      </Field>
      <Field label="Mode" hint={draft.mode === "monitor" ? "Verdicts are recorded; calls go on unchanged." : "Verdicts take effect."}>
        <Segmented label="Mode" full value={draft.mode ?? "enforce"} onChange={(mode) => set({ mode })} options={[{ value: "enforce", label: "Enforce" }, { value: "monitor", label: "Monitor" }]} />
      </Field>
      <Pair>
        <Field label="If it fails">
          <Select value={draft.on_error ?? "block"} onChange={(on_error) => set({ on_error })} options={[{ value: "block", label: "Block the call" }, { value: "allow", label: "Let the call through" }]} />
        </Field>
        <Field label="Unreadable parts">
          <Select value={draft.on_unreadable ?? "allow"} onChange={(on_unreadable) => set({ on_unreadable })} options={[{ value: "allow", label: "Let through" }, { value: "block", label: "Block the call" }]} />
        </Field>
      </Pair>
      <Field label="Description" aside="optional" error={fieldError(failed, "description")}>
        <Input value={draft.description ?? ""} onChange={(event) => set({ description: event.target.value || null })} />
      </Field>
      <Field label="Path" aside="optional" hint="Workflows of this path and below may use it." error={fieldError(failed, "user_path")}>
        <Input mono placeholder="/" value={draft.user_path ?? ""} onChange={(event) => set({ user_path: event.target.value || null })} />
      </Field>
    </EditDrawer>
  );
}
