import { KeyRound, Lock } from "lucide-react";
import { useId, useState } from "react";
import { api, BASE } from "@/api/client";
import { useSave } from "@/api/save";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { Field, Pair } from "@/components/Field";
import { Input } from "@/components/Input";
import { ListInput } from "@/components/ListInput";
import { useModelNames, type CliTool, type Connection } from "./queries";
import { Prose } from "@/components/Prose";

/** Key, address and models that the tool is to use. */
export function ToolForm({ tool, value, onChange }: { tool: CliTool; value: Connection; onChange: (change: Partial<Connection>) => void }) {
  const session = useSession();
  const list = useId();
  const [asked, setAsked] = useState(false);
  const names = useModelNames(asked);
  const create = useSave({
    write: () => api.POST("/admin/api/v1/auth-keys", { body: { name: `${tool.id} ${new Date().toISOString().slice(0, 10)}`, scopes: ["inference"] } }),
    invalidates: [["auth-keys"]],
    done: (key) => ({ title: `Created key ${key.name}`, detail: "It is shown only in this form: copy the configuration before you leave." }),
    onSuccess: (key) => onChange({ api_key: key.key }),
  });
  const others = tool.model_fields.filter((field) => field.name !== "model");
  return (
    <div className="space-y-4" onFocus={() => setAsked(true)}>
      <Pair>
        <Field label="Gateway key" hint="Kept in this page only, and masked in the preview.">
          <div className="flex gap-2">
            <Input type="password" icon={Lock} mono autoComplete="off" placeholder="gk_…" value={value.api_key} onChange={(event) => onChange({ api_key: event.target.value.trim() })} />
            {session.can("admin:auth-keys:write") && (
              <Button icon={KeyRound} busy={create.busy} onClick={() => create.mutate({ input: undefined })}>
                Create key
              </Button>
            )}
          </div>
        </Field>
        <Field label="Address" aside="optional" hint="As the developer's machine reaches the gateway.">
          <Input mono placeholder={`${location.origin}${BASE}`} value={value.base_url} onChange={(event) => onChange({ base_url: event.target.value.trim() })} />
        </Field>
      </Pair>
      <Pair>
        <Field label="Model" aside="optional">
          <Input list={list} placeholder="Any alias, combo or model" value={value.model} onChange={(event) => onChange({ model: event.target.value })} />
        </Field>
        <Field label="Models to offer" aside="optional">
          <ListInput values={value.models} suggestions={names} onChange={(models) => onChange({ models })} />
        </Field>
      </Pair>
      {others.length > 0 && (
        <div className="grid grid-cols-3 gap-3 phone:grid-cols-1">
          {others.map((field) => (
            <Field key={field.name} label={<code>{field.name}</code>} hint={<Prose text={field.description ?? ""} />}>
              <Input list={list} value={value.model_overrides[field.name] ?? ""} onChange={(event) => onChange({ model_overrides: { ...value.model_overrides, [field.name]: event.target.value } })} />
            </Field>
          ))}
        </div>
      )}
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  );
}
