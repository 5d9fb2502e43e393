import { useState } from "react";
import { Drawer } from "@/components/Drawer";
import { EditDrawer } from "@/components/EditDrawer";
import { ErrorNote } from "@/components/EmptyState";
import { Field, FormSection, Pair } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { ListInput } from "@/components/ListInput";
import { Select } from "@/components/Select";
import { SkeletonRows } from "@/components/Skeleton";
import { useSaveSettings, useSettings, type Settings } from "./queries";

type Fields = Pick<
  Settings,
  | "daily_reset_hour"
  | "daily_reset_minute"
  | "weekly_reset_weekday"
  | "weekly_reset_hour"
  | "weekly_reset_minute"
  | "monthly_reset_day"
  | "monthly_reset_hour"
  | "monthly_reset_minute"
  | "thresholds"
  | "webhook_url"
>;
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"].map((label, i) => ({ value: String(i), label }));
const fieldsOf = ({ updated_at: _a, webhook_secret: _b, webhook_secret_set: _c, webhook_secret_last4: _d, ...rest }: Settings): Fields => ({
  ...rest,
  webhook_url: rest.webhook_url ?? null,
});
const two = (value: number) => String(value).padStart(2, "0");

/** When periods begin, at which shares a webhook is sent, and where to. */
export function BudgetSettings({ onClose, writable }: { onClose: () => void; writable: boolean }) {
  const settings = useSettings();
  if (settings.data) return <SettingsForm key={settings.etag} stored={settings.data} etag={settings.etag} onClose={onClose} writable={writable} />;
  return (
    <Drawer title="Settings of budgets" onClose={onClose}>
      {settings.error ? <ErrorNote error={settings.error} onRetry={() => void settings.refetch()} /> : <SkeletonRows rows={6} columns={1} />}
    </Drawer>
  );
}

function SettingsForm({ stored, etag, onClose, writable }: { stored: Settings; etag: string | null; onClose: () => void; writable: boolean }) {
  const before = fieldsOf(stored);
  const [draft, setDraft] = useState(before);
  const [refused, setRefused] = useState<Record<string, string>>({});
  const save = useSaveSettings(before as Settings, onClose, (param, message) => {
    setRefused({ [param.replace(/[.[].*/, "")]: message });
    return true;
  });
  const set = (change: Partial<Fields>) => {
    setRefused({});
    setDraft({ ...draft, ...change });
  };
  const clockField = (name: "daily" | "weekly" | "monthly", label: string) => (
    <Field label={label} error={refused[`${name}_reset_hour`] ?? refused[`${name}_reset_minute`]}>
      <Input
        type="time"
        value={`${two(draft[`${name}_reset_hour`])}:${two(draft[`${name}_reset_minute`])}`}
        onChange={(event) => {
          const [hour, minute] = event.target.value.split(":").map(Number);
          if (hour !== undefined && minute !== undefined) set({ [`${name}_reset_hour`]: hour, [`${name}_reset_minute`]: minute });
        }}
      />
    </Field>
  );
  return (
    <EditDrawer
      title="Settings of budgets"
      onClose={onClose}
      before={before}
      after={draft}
      call={{ method: "PUT", path: "/admin/api/v1/budgets/settings", body: draft }}
      busy={save.busy}
      readOnly={!writable}
      onSave={() => save.mutate({ input: draft, etag })}
      errors={refused}
    >
      <h3 className="font-strong">
        Start of periods <small className="ml-1 text-small font-regular text-ink-3">times in UTC</small>
      </h3>
      {clockField("daily", "Day begins at")}
      <Pair>
        <Field label="Week begins on" error={refused.weekly_reset_weekday}>
          <Select value={String(draft.weekly_reset_weekday)} onChange={(value) => set({ weekly_reset_weekday: Number(value) })} options={WEEKDAYS} />
        </Field>
        {clockField("weekly", "Week begins at")}
      </Pair>
      <Pair>
        <Field label="Month begins on day" hint="The last day in shorter months." error={refused.monthly_reset_day}>
          <NumberInput value={draft.monthly_reset_day} onChange={(value) => set({ monthly_reset_day: value ?? 1 })} />
        </Field>
        {clockField("monthly", "Month begins at")}
      </Pair>
      <FormSection title="Webhook" sub="sent once per period and threshold, signed with HMAC-SHA256" />
      <Field label="Thresholds" hint="Percent of the amount." error={refused.thresholds}>
        <ListInput
          values={draft.thresholds.map((value) => `${Number((value * 100).toFixed(4))}%`)}
          onChange={(values) => set({ thresholds: values.map((value) => Number.parseFloat(value) / 100).filter((value) => value > 0) })}
          placeholder="80%"
        />
      </Field>
      <Field
        label="Address"
        aside="optional"
        error={refused.webhook_url}
        hint={
          stored.webhook_secret_set
            ? `Signed with the secret that ends in ${stored.webhook_secret_last4 ?? "…"}.`
            : "A secret is made when an address is saved."
        }
      >
        <Input type="url" value={draft.webhook_url ?? ""} placeholder="https://" onChange={(event) => set({ webhook_url: event.target.value || null })} />
      </Field>
    </EditDrawer>
  );
}
