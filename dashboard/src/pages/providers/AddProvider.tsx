import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";
import { useState } from "react";
import { ApiError, messageOf } from "@/api/errors";
import { Button } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { Drawer } from "@/components/Drawer";
import { ErrorNote } from "@/components/EmptyState";
import { Field, Form } from "@/components/Field";
import { ListInput } from "@/components/ListInput";
import { Segmented } from "@/components/Segmented";
import { SkeletonRows } from "@/components/Skeleton";
import { Mark } from "@/components/Status";
import { STRATEGIES } from "@/components/strategies";
import { Checkbox } from "@/components/Switch";
import { toast } from "@/components/Toast";
import { addProvider, freeName, type Audience } from "./add";
import { ChooseType } from "./ChooseType";
import { ConnectionTest } from "./ConnectionTest";
import { cleaned, ConnectionFields, MoreFields, NameFields, withoutKey } from "./ProviderFields";
import { hostOf, newProvider, PROVIDERS, testUnsaved, useTypes, type Pool, type ProviderBody } from "./queries";

const AUDIENCES = [{ value: "everyone", label: "Everyone" }, { value: "paths", label: "Chosen paths" }, { value: "nobody", label: "Nobody yet" }] as const;

/** Adds a provider in two steps: choose its type, then connect and test. */
export function AddProvider({ type: chosen, onType, taken, pools, onClose, onAdded }: { type: string; onType: (type: string | null) => void; taken: string[]; pools: Pool[]; onClose: () => void; onAdded: (name: string) => void }) {
  const types = useTypes();
  const type = types.data?.find((each) => each.type === chosen);
  const step = (active: boolean, done: boolean, text: string) => (
    <span aria-current={active ? "step" : undefined} className={active ? "font-medium" : "text-ink-2"}>
      {done && <CircleCheck aria-hidden className="mr-1.5 inline size-3.5 align-[-2px] text-ok" />}
      {text}
    </span>
  );
  const steps = (
    <div className="flex gap-4 border-b border-line bg-canvas px-5 py-2.5 text-small">
      {step(!type, Boolean(type), "1 Choose")}
      {step(Boolean(type), false, "2 Connect and test")}
    </div>
  );
  if (type) return <Connect key={type.type} type={type} steps={steps} onBack={() => onType(null)} taken={taken} pools={pools} onClose={onClose} onAdded={onAdded} />;
  return (
    <Drawer title="Add a provider" onClose={onClose} steps={steps}>
      {types.error ? <ErrorNote error={types.error} onRetry={() => void types.refetch()} /> : types.isPending ? <SkeletonRows rows={8} columns={2} /> : <ChooseType types={types.data ?? []} onChoose={onType} />}
    </Drawer>
  );
}

type ConnectProps = { type: NonNullable<ReturnType<typeof useTypes>["data"]>[number]; steps: React.ReactNode; onBack: () => void; taken: string[]; pools: Pool[]; onClose: () => void; onAdded: (name: string) => void };

function Connect({ type, steps, onBack, taken, pools, onClose, onAdded }: ConnectProps) {
  const client = useQueryClient();
  const [name, setName] = useState(() => freeName(type.type, taken));
  const [body, setBody] = useState<ProviderBody>(() => newProvider(type.type));
  const [audience, setAudience] = useState<Audience>("everyone");
  const [paths, setPaths] = useState<string[]>([]);
  const [pool, setPool] = useState<string | null>(null);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const sent = cleaned(body);
  const print = JSON.stringify(sent);

  const fail = (error: unknown) => {
    const root = error instanceof ApiError ? error.param?.split(/[.[]/)[0] : undefined;
    if (root && PROVIDERS.fields.includes(root)) setErrors({ [root]: messageOf(error) });
    return Boolean(root && PROVIDERS.fields.includes(root));
  };
  const test = useMutation({ mutationFn: () => testUnsaved(sent), onMutate: () => (setErrors({}), { print }), onError: fail });
  const stale = test.context !== undefined && test.context.print !== print;
  const passed = test.data?.ok === true && !stale;

  const add = useMutation({
    mutationFn: () => addProvider({ name: name.trim(), body: sent, audience, paths, pool: pools.find((each) => each.name === pool) ?? null }),
    onMutate: () => setErrors({}),
    onSuccess: () => {
      toast({ title: `${name.trim()} is added`, detail: audience === "nobody" ? "Nobody may use it yet: change its rule under Models, Overrides." : undefined });
      onAdded(name.trim());
    },
    onError: (error) => {
      if (!fail(error)) toast({ kind: "bad", title: messageOf(error), detail: error instanceof ApiError ? `${error.status} ${error.code}` : undefined });
    },
    onSettled: () => Promise.all([["providers"], ["pools"], ["models"], ["selectors"]].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });

  const complete = name.trim() !== "" && (!type.api_key_required || Boolean(body.api_key)) && (!type.base_url_required || body.base_url !== "") && (audience !== "paths" || paths.length > 0);
  const primary = passed ? () => add.mutate() : () => test.mutate();
  const change = (part: Partial<ProviderBody>) => setBody({ ...body, ...part });
  const footer = (
    <>
      <CopyAs call={{ method: "POST", path: "/admin/api/v1/providers", body: { name, ...withoutKey(sent) } }} yaml={{ name, ...withoutKey(sent) }} />
      <Button className="ml-auto" onClick={onBack}>
        Back
      </Button>
      {passed ? (
        <Button look="primary" shortcut="⌘↵" disabled={!complete} busy={add.isPending} onClick={primary}>
          Add provider
        </Button>
      ) : (
        <>
          {(test.error || test.data?.ok === false) && (
            <Button disabled={!complete} busy={add.isPending} onClick={() => add.mutate()}>
              Add untested
            </Button>
          )}
          <Button look="primary" shortcut="⌘↵" disabled={!complete} busy={test.isPending} onClick={primary}>
            Test connection
          </Button>
        </>
      )}
    </>
  );
  return (
    <Drawer title="Add a provider" onClose={onClose} steps={steps} footer={footer}>
      <Form onSubmit={() => complete && !test.isPending && !add.isPending && primary()}>
        <div className="flex items-center gap-3 rounded-md border border-line bg-well p-3">
          <Mark name={type.type} large />
          <div className="min-w-0 flex-1">
            <div className="font-medium">{type.title}</div>
            <div className="truncate text-small text-ink-2">{hostOf(type.base_url) ?? "your own server"} · {type.type}</div>
          </div>
          <Button size="sm" onClick={onBack}>
            Change
          </Button>
        </div>
        <NameFields name={name} onName={setName} priority={body.priority} onPriority={(priority) => change({ priority })} error={errors.name ?? (taken.includes(name.trim()) ? "A provider has this name already." : undefined)} />
        <ConnectionFields body={body} onChange={change} type={type} errors={errors} />
        <ConnectionTest result={test.data} error={Object.keys(errors).length ? null : test.error} stale={stale} busy={test.isPending} onTest={complete && (test.data || test.error) ? () => test.mutate() : undefined} />
        <div>
          <div className="mb-1.5 text-small font-medium">Who may use it</div>
          <Segmented label="Who may use it" full value={audience} onChange={setAudience} options={AUDIENCES} />
        </div>
        {audience === "paths" && (
          <Field label="Paths" hint="Keys of these paths and of paths below them.">
            <ListInput values={paths} onChange={setPaths} placeholder="/search" />
          </Field>
        )}
        {pools.slice(0, 4).map((each) => (
          <Checkbox key={each.name} checked={pool === each.name} onChange={(on) => setPool(on ? each.name : null)} sub={`Strategy ${each.strategy}: ${STRATEGIES[each.strategy]?.short ?? ""}.`}>
            Add it to the pool <strong className="font-medium">{each.name}</strong>
          </Checkbox>
        ))}
        <MoreFields body={body} onChange={change} type={type} errors={errors} />
      </Form>
    </Drawer>
  );
}
