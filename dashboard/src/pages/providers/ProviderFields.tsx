import { Lock, Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "@/components/Button";
import { Field, Pair } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { ListInput } from "@/components/ListInput";
import { Select } from "@/components/Select";
import type { ProviderBody, ProviderType, Resilience } from "./queries";

type FieldsProps = { body: ProviderBody; onChange: (change: Partial<ProviderBody>) => void; type: ProviderType | undefined; errors: Record<string, string>; keySet?: boolean; keyEnd?: string | null; addressChanged?: boolean };

/** Key and address of a provider. */
export function ConnectionFields({ body, onChange, type, errors, keySet, keyEnd, addressChanged }: FieldsProps) {
  const missing = keySet && addressChanged && !body.api_key;
  return (
    <>
      {type?.takes_api_key !== false && (
        <Field label="API key" aside={type?.api_key_required ? "stored encrypted, never shown again" : "optional"} error={errors.api_key} hint={keySet ? "Empty keeps the stored key." : undefined} warning={missing ? "The stored key belongs to the old address: enter the key of the new one." : undefined}>
          <Input type="password" icon={Lock} autoComplete="new-password" value={body.api_key ?? ""} placeholder={keySet ? `stored, ends in ${keyEnd ?? "…"}` : undefined} onChange={(event) => onChange({ api_key: event.target.value || undefined })} />
        </Field>
      )}
      <Field label="Address" aside={type?.base_url_required ? "required" : "empty: the type's own"} error={errors.base_url}>
        <Input mono type="url" value={body.base_url} placeholder={type?.base_url ?? "https://host.example/v1"} onChange={(event) => onChange({ base_url: event.target.value.trim() })} />
      </Field>
    </>
  );
}

const TIMES: { name: keyof Resilience; label: string; unit?: string }[] = [
  { name: "connect_timeout_ms", label: "Connect timeout", unit: "ms" },
  { name: "first_byte_timeout_ms", label: "First byte timeout", unit: "ms" },
  { name: "idle_timeout_ms", label: "Idle timeout", unit: "ms" },
  { name: "total_timeout_ms", label: "Total timeout", unit: "ms" },
  { name: "max_retries", label: "Retries" },
  { name: "breaker_failures", label: "Failures that open the breaker" },
  { name: "breaker_open_ms", label: "Breaker stays open", unit: "ms" },
];

/** Fields that are seldom changed: models, API version, headers, timeouts, retries, breaker. */
export function MoreFields({ body, onChange, type, errors }: FieldsProps) {
  const set = Object.values(body.resilience).some((value) => value != null) || Object.keys(body.headers).length > 0;
  const headers = Object.entries(body.headers);
  const replaceHeader = (at: number, name: string, value: string) => onChange({ headers: Object.fromEntries(headers.map((old, i) => (i === at ? [name, value] : old))) });
  const wrong = errors.headers ?? errors.resilience ?? errors.models ?? errors.api_version;
  return (
    <details open={set || Boolean(wrong) || undefined} className="group border-t border-line pt-3">
      <summary className="list-inside text-ink-2 marker:text-ink-3 phone:min-h-10">
        Models, timeouts, retries, headers <span className="ml-1 text-ink-3">{set ? "some set here" : "as in the settings"}</span>
      </summary>
      <div className="mt-4 space-y-4">
        <Field label="Models" aside="empty: as the provider lists them" error={errors.models}>
          <ListInput values={body.models} onChange={(models) => onChange({ models })} placeholder="gpt-4o, gpt-4o-mini" />
        </Field>
        {(type?.type === "azure" || body.api_version !== "") && (
          <Field label="API version" aside="optional" error={errors.api_version}>
            <Input mono value={body.api_version} onChange={(event) => onChange({ api_version: event.target.value.trim() })} />
          </Field>
        )}
        <div className="grid grid-cols-2 gap-3">
          {TIMES.map(({ name, label, unit }) => (
            <Field key={name} label={label}>
              <NumberInput value={(body.resilience[name] as number | null | undefined) ?? null} placeholder="default" affix={unit} onChange={(value) => onChange({ resilience: { ...body.resilience, [name]: value } })} />
            </Field>
          ))}
          <Field label="HTTP/2">
            <Select value={body.resilience.http2 == null ? "" : String(body.resilience.http2)} options={[{ value: "", label: "default" }, { value: "true", label: "on" }, { value: "false", label: "off" }]} onChange={(value) => onChange({ resilience: { ...body.resilience, http2: value === "" ? null : value === "true" } })} />
          </Field>
        </div>
        {errors.resilience && <p role="alert" className="text-small text-bad">{errors.resilience}</p>}
        <fieldset>
          <legend className="mb-1.5 text-small font-medium">Headers sent with every call</legend>
          <div className="space-y-2">
            {headers.map(([name, value], i) => (
              <div key={i} className="flex items-center gap-2">
                <Input mono aria-label={`Name of header ${i + 1}`} value={name} onChange={(event) => replaceHeader(i, event.target.value.trim(), value)} placeholder="x-team" />
                <Input mono aria-label={`Value of header ${i + 1}`} value={value} onChange={(event) => replaceHeader(i, name, event.target.value)} />
                <IconButton label={`Remove header ${i + 1}`} icon={Trash2} size="sm" onClick={() => onChange({ headers: Object.fromEntries(headers.filter((_, k) => k !== i)) })} />
              </div>
            ))}
          </div>
          {errors.headers && <p role="alert" className="mt-1.5 text-small text-bad">{errors.headers}</p>}
          <Button size="sm" icon={Plus} className="mt-2" disabled={"" in body.headers} onClick={() => onChange({ headers: { ...body.headers, "": "" } })}>
            Add header
          </Button>
        </fieldset>
      </div>
    </details>
  );
}

/** Name (of a new one) and priority. */
export function NameFields({ name, onName, priority, onPriority, error }: { name: string; onName: (name: string) => void; priority: number; onPriority: (priority: number) => void; error?: string }) {
  return (
    <Pair>
      <Field label="Name" error={error}>
        <Input value={name} autoComplete="off" spellCheck={false} onChange={(event) => onName(event.target.value)} />
      </Field>
      <Field label="Priority" hint="Lower is asked first for a bare model name.">
        <NumberInput value={priority} onChange={(value) => onPriority(value ?? 0)} />
      </Field>
    </Pair>
  );
}

/** The body as the API takes it: without empty resilience, headers and key. */
export function cleaned(body: ProviderBody): ProviderBody {
  const resilience = Object.fromEntries(Object.entries(body.resilience).filter(([, value]) => value != null));
  const headers = Object.fromEntries(Object.entries(body.headers).filter(([name]) => name));
  const { api_key, ...rest } = body;
  return { ...rest, resilience, headers, ...(api_key ? { api_key } : {}) };
}

/** The body for showing and copying: the key stays out. */
export function withoutKey(body: ProviderBody): object {
  const { api_key, ...rest } = body;
  return api_key ? { ...rest, api_key: "$PROVIDER_API_KEY" } : rest;
}
