import { FolderTree, KeyRound } from "lucide-react";
import { useState } from "react";
import { Field, FormSection, Pair } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { ListInput } from "@/components/ListInput";
import { Note } from "@/components/Note";
import { Select } from "@/components/Select";
import { Checkbox } from "@/components/Switch";
import { day, endOfDay, isoDay, longDay, money, zoneLabel } from "@/format";
import { inWords, type Draft } from "./draft";
import { LIMITS, useBudgetsOf } from "./queries";

const KINDS: { value: string; label: string; scopes: string[] }[] = [
  { value: "inference", label: "Inference", scopes: ["inference"] },
  { value: "usage", label: "Read usage", scopes: ["admin:usage:read"] },
  { value: "read", label: "Read everything", scopes: ["admin:read"] },
  { value: "admin", label: "Inference and administration", scopes: ["inference", "admin:write"] },
];
const same = (a: string[], b: string[]) => a.length === b.length && a.every((each) => b.includes(each));
const later = (days: number) => new Date(Math.floor(Date.now() / 60_000) * 60_000 + days * 86_400_000).toISOString();

type FormProps = { draft: Draft; onChange: (draft: Draft) => void; errors: Record<string, string>; budgets: boolean };

/** The fields of a key, for a new one and for an edit. */
export function KeyForm({ draft, onChange, errors, budgets }: FormProps) {
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change });
  const list = (name: "allowed_models" | "denied_models" | "allowed_providers") => ({
    values: draft[name] ?? [],
    onChange: (values: string[]) => set({ [name]: values.length ? values : null }),
  });
  const holding = useBudgetsOf(draft.user_path, budgets)[0];
  const nothing = draft.allowed_models?.length === 0;
  return (
    <>
      <Field label="Name" hint="A label. Several keys may have the same name." error={errors.name}>
        <Input autoFocus autoComplete="off" value={draft.name} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label="Description" aside="optional" error={errors.description}>
        <Input autoComplete="off" value={draft.description} onChange={(event) => set({ description: event.target.value })} />
      </Field>
      <Field
        label="Path"
        error={errors.user_path}
        hint={
          holding ? (
            <>
              Calls are booked here. The {holding.period_label} budget of <b className="font-medium">{holding.user_path}</b> holds: {money(holding.remaining)}{" "}
              of {money(holding.amount)} left.
            </>
          ) : (
            "Calls are booked here, and budgets of this path and those above hold."
          )
        }
      >
        <Input icon={FolderTree} spellCheck={false} autoComplete="off" value={draft.user_path} onChange={(event) => set({ user_path: event.target.value })} />
      </Field>
      <Pair>
        <Scopes draft={draft} set={set} error={errors.scopes} />
        <Ends draft={draft} set={set} error={errors.expiry ?? errors.expires_at} />
      </Pair>
      <Field label="Models" aside={nothing ? "nothing is allowed" : "none chosen: all of them"} error={errors.allowed_models}>
        <ListInput {...list("allowed_models")} placeholder="Alias, combo or model, * allowed" />
      </Field>
      <details open={Boolean(draft.denied_models?.length || draft.allowed_providers?.length || draft.provider_pool_id) || undefined}>
        <summary className="link w-fit py-1 text-small">More about models and providers</summary>
        <div className="mt-3 space-y-4">
          <Field label="Denied models" hint="Checked for the model that serves the call; deny takes precedence." error={errors.denied_models}>
            <ListInput {...list("denied_models")} placeholder="provider/model, * allowed" />
          </Field>
          <Pair>
            <Field label="Providers" hint="None chosen: all of them." error={errors.allowed_providers}>
              <ListInput {...list("allowed_providers")} placeholder="Name of a provider" />
            </Field>
            <Field label="Pool" hint="Only its members serve this key." error={errors.provider_pool_id}>
              <Input
                autoComplete="off"
                value={draft.provider_pool_id}
                placeholder="Name of a pool"
                onChange={(event) => set({ provider_pool_id: event.target.value })}
              />
            </Field>
          </Pair>
        </div>
      </details>
      <FormSection title="Limits" sub="leave empty for none" />
      <div className="grid grid-cols-2 gap-x-3 gap-y-4">
        {LIMITS.map(({ name, label }) => (
          <Field key={name} label={label} error={errors[name] ?? errors[`rate_limits.${name}`]}>
            <NumberInput
              value={draft.rate_limits[name] ?? null}
              placeholder="No limit"
              onChange={(value) => set({ rate_limits: { ...draft.rate_limits, [name]: value } })}
            />
          </Field>
        ))}
      </div>
      <Checkbox
        checked={draft.rate_limits.count_cached ?? false}
        onChange={(count_cached) => set({ rate_limits: { ...draft.rate_limits, count_cached } })}
        sub="Tokens that a provider reads from its prompt cache count too."
      >
        Count cached tokens
      </Checkbox>
      <Note kind="accent" icon={KeyRound}>
        <b className="font-strong">In words.</b> <span className="text-ink-2">{inWords(draft)}</span>
      </Note>
    </>
  );
}

function Scopes({ draft, set, error }: { draft: Draft; set: (change: Partial<Draft>) => void; error?: string }) {
  const known = KINDS.find((kind) => same(kind.scopes, draft.scopes));
  const [own, setOwn] = useState(!known);
  return (
    <div className="space-y-2">
      <Field label="May do" error={own ? undefined : error}>
        <Select
          value={own ? "own" : (known?.value ?? "own")}
          options={[...KINDS, { value: "own", label: "Chosen scopes" }]}
          onChange={(value) => {
            const kind = KINDS.find((each) => each.value === value);
            setOwn(!kind);
            if (kind) set({ scopes: kind.scopes });
          }}
        />
      </Field>
      {own && (
        <Field
          label="Scopes"
          error={error}
          hint={
            <>
              inference, admin:read, admin:write or <code>admin:AREA:read</code>
            </>
          }
        >
          <ListInput
            values={draft.scopes}
            onChange={(scopes) => set({ scopes })}
            suggestions={["inference", "admin:read", "admin:write", "admin:usage:read", "admin:audit:read"]}
          />
        </Field>
      )}
    </div>
  );
}

function Ends({ draft, set, error }: { draft: Draft; set: (change: Partial<Draft>) => void; error?: string }) {
  const [dated, setDated] = useState(draft.expiry !== null);
  const [span, setSpan] = useState("");
  const value = draft.expiry === null ? "never" : dated ? "date" : span;
  const options = [
    { value: "never", label: "Never" },
    ...[7, 30, 90, 365].map((days) => ({
      value: String(days),
      label: `In ${days === 365 ? "a year" : `${days} days`}, ${longDay(later(days)).replace(/^(\d+ \w{3})\w*/, "$1")}`,
    })),
    { value: "date", label: "On a date" },
  ];
  return (
    <div className="space-y-2">
      <Field label="Ends" error={dated ? undefined : error}>
        <Select
          value={value}
          options={options}
          onChange={(next) => {
            setDated(next === "date");
            setSpan(next);
            set({ expiry: next === "never" ? null : next === "date" ? (draft.expiry ?? later(30)) : later(Number(next)) });
          }}
        />
      </Field>
      {dated && draft.expiry !== null && (
        <Field label="End date" error={error} hint={`Ends at the end of ${day(draft.expiry)}, ${zoneLabel(new Date(draft.expiry))}.`}>
          <Input type="date" value={isoDay(draft.expiry)} onChange={(event) => event.target.value && set({ expiry: endOfDay(event.target.value) })} />
        </Field>
      )}
    </div>
  );
}
