import { FolderTree } from "lucide-react";
import { useState } from "react";
import { EditDrawer } from "@/components/EditDrawer";
import { Field, Pair } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { Note } from "@/components/Note";
import { Select } from "@/components/Select";
import { Checkbox } from "@/components/Switch";
import { bodyOf, draftOf, EMPTY, pathOf, PERIODS, useSaveBudget, type Budget, type BudgetDraft } from "./queries";

function problems(draft: BudgetDraft, taken: boolean) {
  const found: Record<string, string> = {};
  if (!draft.user_path.startsWith("/")) found.user_path = "A path begins with /, e.g. /search.";
  if (taken) found.user_path = "This path has a budget for this period. Edit that one.";
  if (!(draft.amount && draft.amount > 0)) found.amount = "An amount above 0, in US dollars.";
  if (!PERIODS.includes(draft.period) && !(Number(draft.period) > 0)) found.period = "A number of seconds, e.g. 7200.";
  if (draft.on_exhausted === "downgrade" && !draft.downgrade_to) found.downgrade_to = "The model that serves calls then.";
  return found;
}

/** The drawer of a budget: a new one, or the change of an existing one with its difference before it is saved. */
export function BudgetEditor({ stored, all, onClose }: { stored?: Budget; all: Budget[]; onClose: () => void }) {
  const [draft, setDraft] = useState(stored ? draftOf(stored) : EMPTY);
  const [tried, setTried] = useState(false);
  const [refused, setRefused] = useState<Record<string, string>>({});
  const taken = !stored && all.some((each) => each.user_path === draft.user_path && draftOf(each).period === draft.period && !each.parent);
  const found = problems(draft, taken);
  const errors = { ...(tried || taken ? found : {}), ...refused };
  const save = useSaveBudget(stored, onClose, (param, message) => {
    setRefused({ [param]: message });
    return param in draft;
  });
  const check = () => {
    setTried(true);
    return Object.keys(found).length === 0;
  };
  const set = (change: Partial<BudgetDraft>) => {
    setRefused({});
    setDraft({ ...draft, ...change });
  };
  const body = bodyOf(draft);
  return (
    <EditDrawer
      title={stored ? `Edit the ${stored.period_label} budget of ${stored.user_path}` : "Create a budget"}
      onClose={onClose}
      before={stored ? bodyOf(draftOf(stored)) : null}
      after={body}
      call={{ method: "PUT", path: pathOf(draft), body }}
      yaml={{ user_path: draft.user_path, period: draft.period, ...body }}
      create="Create budget"
      check={check}
      busy={save.busy}
      onSave={() => save.mutate({ input: draft, etag: stored?.etag })}
      errors={errors}
    >
      {stored?.source === "config" && <Note>Defined in the configuration file. Saving here overrides it.</Note>}
      {stored?.parent && <Note>This budget comes from the child amount of {stored.parent}. What is saved here is its own.</Note>}
      <Fields draft={draft} set={set} errors={errors} fixed={Boolean(stored)} />
    </EditDrawer>
  );
}

function Fields({
  draft,
  set,
  errors,
  fixed,
}: {
  draft: BudgetDraft;
  set: (change: Partial<BudgetDraft>) => void;
  errors: Record<string, string>;
  fixed: boolean;
}) {
  const own = !PERIODS.includes(draft.period);
  return (
    <>
      <Field label="Path" hint="Calls of this path and of those below count." error={errors.user_path}>
        <Input
          icon={FolderTree}
          autoFocus={!fixed}
          disabled={fixed}
          spellCheck={false}
          value={draft.user_path}
          onChange={(event) => set({ user_path: event.target.value })}
        />
      </Field>
      <Pair>
        <Field label="Period" error={own ? undefined : errors.period}>
          <Select
            disabled={fixed}
            value={own ? "own" : draft.period}
            onChange={(period) => set({ period: period === "own" ? "7200" : period })}
            options={[...PERIODS.map((value) => ({ value, label: value.charAt(0).toUpperCase() + value.slice(1) })), { value: "own", label: "Other length" }]}
          />
        </Field>
        <Field label="Amount" error={errors.amount}>
          <NumberInput value={draft.amount} onChange={(amount) => set({ amount })} affix="USD" autoFocus={fixed} />
        </Field>
      </Pair>
      {own && (
        <Field label="Length in seconds" error={errors.period}>
          <NumberInput disabled={fixed} value={Number(draft.period) || null} onChange={(seconds) => set({ period: String(seconds ?? "") })} affix="s" />
        </Field>
      )}
      <Field
        label="When a call may cost more than is left"
        error={errors.on_tight}
        hint={draft.on_tight === "clamp" ? "Its output is limited to what is left, if that is a useful size." : "It is refused with 429."}
      >
        <Select
          value={draft.on_tight}
          onChange={(on_tight) => set({ on_tight })}
          options={[
            { value: "clamp", label: "Limit its output" },
            { value: "refuse", label: "Refuse it" },
          ]}
        />
      </Field>
      <Pair>
        <Field label="When it is used up" error={errors.on_exhausted}>
          <Select
            value={draft.on_exhausted}
            onChange={(on_exhausted) => set({ on_exhausted })}
            options={[
              { value: "block", label: "Refuse calls" },
              { value: "downgrade", label: "Use another model" },
            ]}
          />
        </Field>
        {draft.on_exhausted === "downgrade" && (
          <Field label="Other model" error={errors.downgrade_to}>
            <Input value={draft.downgrade_to} placeholder="Alias, combo or model" onChange={(event) => set({ downgrade_to: event.target.value })} />
          </Field>
        )}
      </Pair>
      <Field label="Each path below" aside="optional" hint="Every direct child path gets a budget of its own of this amount." error={errors.child_default}>
        <NumberInput value={draft.child_default} onChange={(child_default) => set({ child_default })} affix="USD" placeholder="None" />
      </Field>
      <Checkbox
        checked={draft.per_run}
        onChange={(per_run) => set({ per_run })}
        sub={
          <>
            The amount holds for each run that <code>X-Run-Id</code> names.
          </>
        }
      >
        For each agent run by itself
      </Checkbox>
    </>
  );
}
