import { Copy } from "lucide-react";
import { useState } from "react";
import { api } from "@/api/client";
import { useSave } from "@/api/save";
import { Button } from "@/components/Button";
import { Field, Form, Pair } from "@/components/Field";
import { Input, NumberInput } from "@/components/Input";
import { Note } from "@/components/Note";
import { copy } from "@/components/Toast";

/** Makes a key and shows it once. */
export function KeyStep({ value, onKey }: { value: string; onKey: (key: string) => void }) {
  const [name, setName] = useState("my-app");
  const [path, setPath] = useState("");
  const [perMinute, setPerMinute] = useState<number | null>(null);
  const create = useSave({
    write: () => api.POST("/admin/api/v1/auth-keys", { body: { name: name.trim(), scopes: ["inference"], ...(path.trim() && { user_path: path.trim() }), ...(perMinute && { rate_limits: { count_cached: false, requests_per_minute: perMinute, requests_per_day: null, tokens_per_minute: null, tokens_per_day: null, max_parallel_requests: null } }) } }),
    invalidates: [["auth-keys"]],
    onSuccess: (key) => onKey(key.key),
  });
  if (value)
    return (
      <Note kind="accent" className="mt-3" action={<Button size="sm" icon={Copy} onClick={() => void copy(value)}>Copy key</Button>}>
        <code className="[overflow-wrap:anywhere]">{value}</code>
        <p className="text-small text-ink-2">It is shown only now. Keep it where your app reads its secrets.</p>
      </Note>
    );
  return (
    <Form className="mt-3 rounded-lg border border-line bg-surface p-4" onSubmit={() => name.trim() && !create.busy && create.mutate({ input: undefined })}>
      <Field label="Name">
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Pair>
        <Field label="User path" aside="optional">
          <Input mono placeholder="/team/app" value={path} onChange={(event) => setPath(event.target.value)} />
        </Field>
        <Field label="Requests per minute" aside="optional">
          <NumberInput placeholder="no limit" value={perMinute} onChange={setPerMinute} />
        </Field>
      </Pair>
      <Button type="submit" look="primary" busy={create.busy} disabled={!name.trim()}>
        Create key
      </Button>
    </Form>
  );
}
