import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useDocument } from "@/api/document";
import { Button, IconButton } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { EditDrawer } from "@/components/EditDrawer";
import { Field } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { count } from "@/format";
import { overrideOf, PRICE_FIELDS, PRICES, rate, rates, type ModelPrice, type Price } from "./queries";

type Tier = NonNullable<ModelPrice["tiers"]>[number];
const TIER_FIELDS = [["input_per_mtok", "Input"], ["output_per_mtok", "Output"], ["cached_input_per_mtok", "Cached input"]] as const;

/** The price of a model: base of the catalogue, override to edit, and what is charged. */
export function PriceDrawer({ selector: stored, known, readOnly, onClose }: { selector: string | null; known: readonly Price[]; readOnly: boolean; onClose: () => void }) {
  const price = useDocument(PRICES, stored, onClose);
  const [selector, setSelector] = useState("");
  const [edit, setEdit] = useState<ModelPrice | null>(null);
  const [asking, setAsking] = useState(false);
  const to = stored ?? selector.trim();
  const view = price.view ?? known.find((each) => each.selector === to);
  const draft = edit ?? price.before ?? {};
  const body = overrideOf({ ...draft, tiers: draft.tiers?.length ? draft.tiers : null } as ModelPrice);
  const base: ModelPrice = view?.base ?? {};
  const set = (change: ModelPrice) => setEdit({ ...draft, ...change });
  const value = (of: ModelPrice, name: string) => (of as Record<string, number | null | undefined>)[name];
  const exists = Boolean(view?.override);
  const tiers = draft.tiers ?? [];
  const setTier = (at: number, change: Partial<Tier>) => set({ tiers: tiers.map((tier, i) => (i === at ? { ...tier, ...change } : tier)) });

  if (asking && stored) return <ConfirmDialog title={`Delete the override of ${stored}?`} body={<p>{view?.base ? `Then the catalogue's price is charged: ${rates(view.base)}.` : "Then its calls are unpriced: they are counted, their cost is not."} Costs that were booked stay. You can undo it for a few seconds.</p>} confirm="Delete override" busy={price.deleting} onConfirm={price.remove} onClose={() => setAsking(false)} />;
  return (
    <EditDrawer title={stored ?? "Set price"} sub={stored ? "price" : undefined} onClose={onClose} before={stored === null || !exists ? null : price.before} after={body} call={{ method: "PUT", path: `/admin/api/v1/model-pricing/${encodeURIComponent(to)}`, body }} create="Set price" ready={!readOnly && to !== "" && Object.keys(body).length > 0} busy={price.busy} onSave={() => price.save(to, body)} remove={stored && exists && !readOnly ? { label: "Delete override", run: () => setAsking(true) } : undefined} errors={price.errors} conflict={price.conflict} loading={price.loading} error={price.error} onRetry={price.retry}>
      {stored === null && (
        <Field label="Model" hint={<><code>provider/model</code>, or a provider type instead of the provider.</>} error={price.errors.selector}>
          <Input autoFocus list="price-models" value={selector} onChange={(event) => setSelector(event.target.value)} autoComplete="off" spellCheck={false} />
        </Field>
      )}
      <datalist id="price-models">{known.map((each) => <option key={each.selector} value={each.selector} />)}</datalist>
      <table className="w-full">
        <caption className="mb-2 text-left text-small text-ink-3">US dollars. An empty field uses the base price.</caption>
        <thead>
          <tr className="border-b border-line text-small text-ink-3 [&>th]:pb-1.5 [&>th]:font-medium">
            <th scope="col" className="text-left">Per</th>
            <th scope="col" className="text-right">Base</th>
            <th scope="col" className="w-32 pl-4 text-left">Override</th>
            <th scope="col" className="text-right">Effective</th>
          </tr>
        </thead>
        <tbody>
          {PRICE_FIELDS.map(([name, label, per]) => {
            const [low, over] = [value(base, name), value(body, name)];
            return (
              <tr key={name} className="border-b border-line last:border-0 [&>td]:py-1">
                <td><span className="block">{label}</span><span className="block text-small text-ink-3">per {per}</span></td>
                <td className="num text-right text-ink-2">{rate(low)}</td>
                <td className="pl-4">
                  <NumberInput aria-label={label} aria-invalid={price.errors[name] ? true : undefined} value={over ?? null} placeholder={low == null ? "" : String(low)} disabled={readOnly} onChange={(next) => set({ [name]: next } as ModelPrice)} />
                  {price.errors[name] && <span role="alert" className="text-small text-bad">{price.errors[name]}</span>}
                </td>
                <td className={`num pl-2 text-right ${over != null ? "font-medium" : ""}`}>{rate(over ?? low)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <fieldset>
        <legend className="mb-1.5 text-small font-medium">Prices above a length of the input</legend>
        {!tiers.length && base.tiers?.map((tier) => <p key={tier.above_tokens} className="mb-1 text-small text-ink-2">Base: above {count(tier.above_tokens)} tokens {rates(tier as ModelPrice)}</p>)}
        <div className="space-y-3">
          {tiers.map((tier, i) => (
            <div key={i} className="grid grid-cols-[repeat(4,minmax(0,1fr))_28px] items-end gap-2 phone:grid-cols-2">
              <Field label="Above tokens"><NumberInput value={tier.above_tokens} onChange={(next) => setTier(i, { above_tokens: next ?? 0 })} /></Field>
              {TIER_FIELDS.map(([name, label]) => <Field key={name} label={label}><NumberInput value={tier[name] ?? null} onChange={(next) => setTier(i, { [name]: next })} /></Field>)}
              <IconButton label={`Remove the prices above ${count(tier.above_tokens)} tokens`} icon={Trash2} size="sm" onClick={() => set({ tiers: tiers.filter((_, k) => k !== i) })} />
            </div>
          ))}
        </div>
        {price.errors.tiers && <p role="alert" className="mt-1.5 text-small text-bad">{price.errors.tiers}</p>}
        <Button size="sm" icon={Plus} className="mt-2" disabled={readOnly} onClick={() => set({ tiers: [...tiers, { above_tokens: (tiers.at(-1)?.above_tokens ?? 0) + 128_000, input_per_mtok: null, output_per_mtok: null, cached_input_per_mtok: null }] })}>
          Add a length
        </Button>
      </fieldset>
    </EditDrawer>
  );
}
