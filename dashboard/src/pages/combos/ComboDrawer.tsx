import { CircleCheck, ListChecks, TriangleAlert } from "lucide-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "@/api/client";
import { useDocument } from "@/api/document";
import { messageOf } from "@/api/errors";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { EditDrawer } from "@/components/EditDrawer";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";
import { Note } from "@/components/Note";
import { Select } from "@/components/Select";
import { keptWeights, STRATEGIES, STRATEGY_OPTIONS } from "@/components/strategies";
import { TargetList } from "@/components/TargetList";
import { COMBOS, useSelectors, type ComboBody } from "./queries";

const NEW: ComboBody = { description: "", selectors: ["", ""], strategy: "primary_fallback", weights: {} };

/** The form of a combo: strategy, targets in order, weights, and a check of what they resolve to. */
export function ComboDrawer({ id, readOnly, onClose }: { id: string | null; readOnly: boolean; onClose: () => void }) {
  const combo = useDocument(COMBOS, id, onClose);
  const selectors = useSelectors(true);
  const [name, setName] = useState("");
  const [edit, setEdit] = useState<Partial<ComboBody>>({});
  const [asking, setAsking] = useState(false);
  const check = useMutation({ mutationFn: () => unwrap(api.POST("/admin/api/v1/combos/{id}/validate", { params: { path: { id: id ?? "" } } })) });

  const draft: ComboBody = { ...(combo.before ?? NEW), ...edit };
  const set = (change: Partial<ComboBody>) => setEdit({ ...edit, ...change });
  const named = draft.selectors.filter(Boolean);
  const body: ComboBody = { ...draft, selectors: named, weights: keptWeights(named, draft.weights) };
  const to = id ?? name.trim();
  const known = selectors.data?.data.map((each) => each.id);
  const file = combo.view?.source === "file";

  const note = (value: string) => {
    const result = check.data?.selectors.find((each) => each.selector === value);
    if (result) return <Result ok={result.ok}>{result.ok ? `Resolves to ${result.targets.slice(0, 3).join(", ")}${result.targets.length > 3 ? ` and ${result.targets.length - 3} more` : ""}` : (result.problem ?? "It resolves to nothing.")}</Result>;
    if (value && known && !known.includes(value) && value !== to) return <Result ok={false}>No model, alias or pool has this name. The target is stored, and skipped until one has.</Result>;
    return null;
  };

  if (asking && id)
    return (
      <ConfirmDialog title={`Delete ${id}?`} body={<p>Calls to <code>{id}</code> are then refused with <code>model_not_found</code>. You can undo it for a few seconds.</p>} confirm="Delete combo" busy={combo.deleting} onConfirm={combo.remove} onClose={() => setAsking(false)} />
    );
  return (
    <EditDrawer
      title={id ?? "Create combo"}
      sub={id ? "combo" : undefined}
      onClose={onClose}
      before={combo.before}
      after={body}
      call={id ? { method: "PUT", path: `/admin/api/v1/combos/${encodeURIComponent(id)}`, body } : { method: "POST", path: "/admin/api/v1/combos", body: { name: to, ...body } }}
      create="Create combo"
      ready={!readOnly && to !== "" && named.length >= 2}
      busy={combo.busy}
      onSave={() => combo.save(to, body)}
      remove={id && !readOnly ? { label: "Delete combo", run: () => setAsking(true), why: file ? "It is in the configuration file; remove it there." : undefined } : undefined}
      errors={combo.errors}
      conflict={combo.conflict}
      loading={combo.loading}
      error={combo.error}
      onRetry={combo.retry}
    >
      {file && <Note>Defined in the configuration file. Saving here overrides it.</Note>}
      {id === null && (
        <Field label="Name" hint="Clients send it as the model." error={combo.errors.name}>
          <Input autoFocus value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" spellCheck={false} />
        </Field>
      )}
      <Field label="Description" aside="optional" error={combo.errors.description}>
        <Input value={draft.description} onChange={(event) => set({ description: event.target.value })} />
      </Field>
      <Field label="Strategy" hint={STRATEGIES[draft.strategy]?.long} error={combo.errors.strategy}>
        <Select value={draft.strategy} options={STRATEGY_OPTIONS} onChange={(strategy) => set({ strategy })} />
      </Field>
      <TargetList noun="Target" values={draft.selectors} onChange={(next) => set({ selectors: next })} weights={draft.strategy === "weighted" ? draft.weights : undefined} onWeights={(weights) => set({ weights })} suggestions={known?.filter((each) => each !== to)} placeholder="provider/model, alias or pool" least={2} note={note} error={combo.errors.selectors ?? combo.errors.weights} />
      {id !== null && (
        <div className="border-t border-line pt-4">
          <Button icon={ListChecks} busy={check.isPending} onClick={() => check.mutate()}>
            Check targets
          </Button>
          {check.data && (
            <Note kind={check.data.valid ? "ok" : "warn"} className="mt-3">
              {check.data.valid ? "Every stored target resolves to a model now." : "Some stored targets resolve to nothing now; calls skip them."}
            </Note>
          )}
          {check.error && <Note kind="bad" className="mt-3">{messageOf(check.error)}</Note>}
        </div>
      )}
    </EditDrawer>
  );
}

function Result({ ok, children }: { ok: boolean; children: React.ReactNode }) {
  const Icon = ok ? CircleCheck : TriangleAlert;
  return (
    <p className="mt-1 ml-5.5 flex gap-1.5 text-small text-ink-2">
      <Icon aria-hidden className={`mt-px size-3.5 ${ok ? "text-ok" : "text-warn"}`} />
      <span className="min-w-0 [overflow-wrap:anywhere]">{children}</span>
    </p>
  );
}
