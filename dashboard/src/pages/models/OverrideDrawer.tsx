import { useState } from "react";
import { useDocument } from "@/api/document";
import { ConfirmDialog } from "@/components/Dialog";
import { EditDrawer } from "@/components/EditDrawer";
import { Field, FormSection, Pair } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { ListInput } from "@/components/ListInput";
import { Note } from "@/components/Note";
import { labelOf } from "@/components/schema/types";
import { Select } from "@/components/Select";
import { Switch } from "@/components/Switch";
import { OVERRIDES, useModels, type OverrideBody } from "./queries";

const CAPABILITIES = ["tools", "vision", "json_schema", "reasoning", "pdf", "prompt_cache", "audio"];

/** The form of an override. */
export function OverrideDrawer({ selector: stored, proposed, taken, readOnly, onClose }: { selector: string | null; proposed: string; taken: string[]; readOnly: boolean; onClose: () => void }) {
  const override = useDocument(OVERRIDES, stored, onClose);
  const models = useModels();
  const [selector, setSelector] = useState(proposed);
  const [edit, setEdit] = useState<Partial<OverrideBody>>({});
  const [asking, setAsking] = useState(false);
  const draft: OverrideBody = { ...(override.before ?? { enabled: true, user_paths: [], metadata: {} }), ...edit };
  const metadata = Object.fromEntries(Object.entries(draft.metadata).filter(([, value]) => value != null && value !== "" && !(typeof value === "object" && Object.keys(value).length === 0)));
  const body: OverrideBody = { ...draft, metadata };
  const set = (change: Partial<OverrideBody>) => setEdit({ ...edit, ...change });
  const know = (change: OverrideBody["metadata"]) => set({ metadata: { ...draft.metadata, ...change } });
  const capabilities = (draft.metadata.capabilities ?? {}) as Record<string, boolean>;
  const setCapability = (name: string, value: string) => know({ capabilities: Object.fromEntries([...Object.entries(capabilities).filter(([each]) => each !== name), ...(value === "" ? [] : [[name, value === "yes"] as const])]) });
  const to = stored ?? selector.trim();
  const used = stored === null && taken.includes(to);
  const file = override.view?.source === "file";
  if (asking && stored) return <ConfirmDialog title={`Delete the override of ${stored}?`} body={<p>Then the setting <code>MODELS_ENABLED_BY_DEFAULT</code> and wider overrides decide who may use it. You can undo it for a few seconds.</p>} confirm="Delete override" busy={override.deleting} onConfirm={override.remove} onClose={() => setAsking(false)} />;
  return (
    <EditDrawer title={stored ?? "Create override"} sub={stored ? "override" : undefined} onClose={onClose} before={override.before} after={body} call={{ method: "PUT", path: `/admin/api/v1/model-overrides/${encodeURIComponent(to)}`, body }} create="Create override" ready={!readOnly && to !== "" && !used} busy={override.busy} onSave={() => override.save(to, body)} remove={stored && !readOnly ? { label: "Delete override", run: () => setAsking(true), why: file ? "It is in the configuration file; remove it there." : undefined } : undefined} errors={override.errors} conflict={override.conflict} loading={override.loading} error={override.error} onRetry={override.retry}>
      {file && <Note>Defined in the configuration file. Saving here overrides it.</Note>}
      {stored === null && (
        <Field label="Selector" hint={<>A model, or many: <code>provider/*</code>, <code>*/model</code>.</>} error={override.errors.selector ?? (used ? "There is an override of it already: open it from the list." : undefined)}>
          <Input autoFocus list="override-models" value={selector} onChange={(event) => setSelector(event.target.value)} autoComplete="off" spellCheck={false} placeholder="provider/model" />
        </Field>
      )}
      <datalist id="override-models">{models.data?.map((model) => <option key={model.selector} value={model.selector} />)}</datalist>
      <Switch checked={draft.enabled} onChange={(enabled) => set({ enabled })}>
        May be used
      </Switch>
      <Field label="Only by paths" aside="empty: everyone" hint="Keys of these paths and of paths below them." error={override.errors.user_paths}>
        <ListInput values={draft.user_paths} onChange={(user_paths) => set({ user_paths })} placeholder="/search" />
      </Field>
      <FormSection title="Corrections" sub="limits and capabilities of the model" />
      <Field label="Display name" aside="optional">
        <Input value={draft.metadata.display_name ?? ""} onChange={(event) => know({ display_name: event.target.value || null })} />
      </Field>
      <Pair>
        <Field label="Context window" aside="optional">
          <NumberInput value={draft.metadata.context_window ?? null} affix="tokens" onChange={(context_window) => know({ context_window })} />
        </Field>
        <Field label="Longest answer" aside="optional">
          <NumberInput value={draft.metadata.max_output_tokens ?? null} affix="tokens" onChange={(max_output_tokens) => know({ max_output_tokens })} />
        </Field>
      </Pair>
      {override.errors.metadata && <p role="alert" className="text-small text-bad">{override.errors.metadata}</p>}
      <div className="grid grid-cols-3 gap-3 phone:grid-cols-2">
        {[...new Set([...CAPABILITIES, ...Object.keys(capabilities)])].map((name) => (
          <Field key={name} label={labelOf(name, {})}>
            <Select value={name in capabilities ? (capabilities[name] ? "yes" : "no") : ""} options={[{ value: "", label: "as known" }, { value: "yes", label: "yes" }, { value: "no", label: "no" }]} onChange={(value) => setCapability(name, value)} />
          </Field>
        ))}
      </div>
    </EditDrawer>
  );
}
