import { useState } from "react";
import { useDocument } from "@/api/document";
import { ConfirmDialog } from "@/components/Dialog";
import { EditDrawer } from "@/components/EditDrawer";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";
import { Note } from "@/components/Note";
import { Select } from "@/components/Select";
import { keptWeights, STRATEGIES, STRATEGY_OPTIONS } from "@/components/strategies";
import { Checkbox } from "@/components/Switch";
import { TargetList } from "@/components/TargetList";
import { POOLS, type PoolBody } from "./queries";

const NEW: PoolBody = { description: "", members: [""], strategy: "round_robin", weights: {}, health_aware: true };

/** The form of a pool. */
export function PoolDrawer({ name: stored, providers, readOnly, onClose }: { name: string | null; providers: string[]; readOnly: boolean; onClose: () => void }) {
  const pool = useDocument(POOLS, stored, onClose);
  const [name, setName] = useState("");
  const [edit, setEdit] = useState<Partial<PoolBody>>({});
  const [asking, setAsking] = useState(false);
  const draft: PoolBody = { ...(pool.before ?? NEW), ...edit };
  const set = (change: Partial<PoolBody>) => setEdit({ ...edit, ...change });
  const members = draft.members.filter(Boolean);
  const body: PoolBody = { ...draft, members, weights: keptWeights(members, draft.weights) };
  const to = stored ?? name.trim();
  const file = pool.view?.source === "file";

  if (asking && stored)
    return <ConfirmDialog title={`Delete ${stored}?`} body={<p>Calls to <code>{stored}/…</code> are then refused. The providers stay. You can undo it for a few seconds.</p>} confirm="Delete pool" busy={pool.deleting} onConfirm={pool.remove} onClose={() => setAsking(false)} />;
  return (
    <EditDrawer
      title={stored ?? "Create pool"}
      sub={stored ? "pool" : undefined}
      onClose={onClose}
      before={pool.before}
      after={body}
      call={stored ? { method: "PUT", path: `/admin/api/v1/pools/${encodeURIComponent(stored)}`, body } : { method: "POST", path: "/admin/api/v1/pools", body: { name: to, ...body } }}
      create="Create pool"
      ready={!readOnly && to !== "" && members.length > 0}
      busy={pool.busy}
      onSave={() => pool.save(to, body)}
      remove={stored && !readOnly ? { label: "Delete pool", run: () => setAsking(true), why: file ? "It is in the configuration file; remove it there." : undefined } : undefined}
      errors={pool.errors}
      conflict={pool.conflict}
      loading={pool.loading}
      error={pool.error}
      onRetry={pool.retry}
    >
      {file && <Note>Defined in the configuration file. Saving here overrides it.</Note>}
      {stored === null && (
        <Field label="Name" hint={<>Called as <code>{to || "name"}/model</code>.</>} error={pool.errors.name}>
          <Input autoFocus value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" spellCheck={false} />
        </Field>
      )}
      <Field label="Description" aside="optional" error={pool.errors.description}>
        <Input value={draft.description} onChange={(event) => set({ description: event.target.value })} />
      </Field>
      <Field label="Strategy" hint={STRATEGIES[draft.strategy]?.long} error={pool.errors.strategy}>
        <Select value={draft.strategy} options={STRATEGY_OPTIONS} onChange={(strategy) => set({ strategy })} />
      </Field>
      <TargetList noun="Member" values={draft.members} onChange={(next) => set({ members: next })} weights={draft.strategy === "weighted" ? draft.weights : undefined} onWeights={(weights) => set({ weights })} suggestions={providers} placeholder="provider" error={pool.errors.members ?? pool.errors.weights} note={(value) => (value && !providers.includes(value) ? <p className="mt-1 ml-5.5 text-small text-ink-2">No provider has this name.</p> : null)} />
      <Checkbox checked={draft.health_aware} onChange={(health_aware) => set({ health_aware })} sub="Members whose breaker is open or that cool down are left out.">
        Skip members that are down
      </Checkbox>
    </EditDrawer>
  );
}
