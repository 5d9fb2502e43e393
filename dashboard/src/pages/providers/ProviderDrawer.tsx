import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useState } from "react";
import { unwrap } from "@/api/client";
import { useDocument } from "@/api/document";
import { useSave } from "@/api/save";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { EditDrawer } from "@/components/EditDrawer";
import { Field } from "@/components/Field";
import { NumberInput } from "@/components/Input";
import { Note } from "@/components/Note";
import { KeyValues } from "@/components/Panel";
import { healthKind, Mark, Status } from "@/components/Status";
import { Switch } from "@/components/Switch";
import { ago, count, duration, percent, plural } from "@/format";
import { ConnectionTest } from "./ConnectionTest";
import { reasonOf, SOURCES, stateWord } from "./health";
import { ModelHealthList } from "./ModelHealthList";
import { cleaned, ConnectionFields, MoreFields, withoutKey } from "./ProviderFields";
import { discover, newProvider, PROVIDERS, testStored, testUnsaved, useTypes, type Provider, type ProviderBody, type ProviderStatus } from "./queries";

/** A provider: health, test, discovery of models, and the form. */
export function ProviderDrawer({ name, status, readOnly, onClose }: { name: string; status: ProviderStatus | undefined; readOnly: boolean; onClose: () => void }) {
  const provider = useDocument(PROVIDERS, name, onClose);
  const types = useTypes();
  const [edit, setEdit] = useState<Partial<ProviderBody>>({});
  const [asking, setAsking] = useState(false);
  const draft: ProviderBody = { ...(provider.before ?? newProvider("")), ...edit };
  const body = cleaned(draft);
  const before = provider.before && cleaned(provider.before);
  const changed = JSON.stringify(body) !== JSON.stringify(before);
  const print = JSON.stringify(body);
  const test = useMutation({ mutationFn: () => (changed ? testUnsaved({ ...body, name }) : unwrap(testStored(name))), onMutate: () => ({ print }) });
  const find = useSave<string, Provider>({ write: discover, invalidates: [["providers"], ["models"], ["selectors"]], done: (view) => `${plural(view.health.model_count, "model")} of ${name} found` });
  const change = (part: Partial<ProviderBody>) => setEdit({ ...edit, ...part });

  const { view } = provider;
  const own = view?.source === "admin";
  const type = types.data?.find((each) => each.type === draft.type);
  const reason = status && reasonOf(status);
  const shown = { ...withoutKey(body) };

  if (asking)
    return (
      <ConfirmDialog
        title={view?.overrides ? `Delete the changes of ${name}?` : `Delete ${name}?`}
        body={view?.overrides ? <p>The values from the {SOURCES[view.overrides] ?? view.overrides} are then in force again. The key stored here is lost and cannot be restored.</p> : <p>Calls no longer go to it, and its key is lost: this cannot be undone. Pools and combos that name it skip it.</p>}
        warning={status?.health.in_flight ? `${plural(status.health.in_flight, "call")} in flight now.` : undefined}
        instead={view?.enabled ? { label: "Disable instead", run: () => (setAsking(false), provider.save(name, { ...PROVIDERS.bodyOf(view), enabled: false })) } : undefined}
        typed={name}
        confirm="Delete provider"
        busy={provider.deleting}
        onConfirm={provider.remove}
        onClose={() => setAsking(false)}
      />
    );
  return (
    <EditDrawer
      title={<><Mark name={view?.type ?? name} /> <span className="truncate">{name}</span></>}
      sub={type?.title ?? view?.type}
      onClose={onClose}
      before={before}
      after={shown}
      call={{ method: "PUT", path: `/admin/api/v1/providers/${encodeURIComponent(name)}`, body: shown }}
      create="Save"
      ready={!readOnly}
      busy={provider.busy}
      onSave={() => provider.save(name, body)}
      remove={readOnly ? undefined : { label: "Delete provider", run: () => setAsking(true), why: own ? undefined : `It is configured in the ${SOURCES[view?.source ?? ""] ?? "configuration"}; remove it there, or disable it here.` }}
      errors={provider.errors}
      conflict={provider.conflict}
      loading={provider.loading}
      error={provider.error}
      onRetry={provider.retry}
    >
      {reason && <Note kind={reason.kind}>{reason.text}</Note>}
      {status && (
        <KeyValues
          items={[
            { label: "Health", value: <Status kind={status.enabled ? healthKind(status.health.state) : "paused"}>{stateWord(status.health.state, status.enabled)}</Status> },
            { label: "First byte", value: duration(status.health.latency_ewma_ms) },
            { label: "Errors", value: <Link to="/audit" search={{ provider: name, status: "error", days: "1" }} className="link">{percent(status.health.error_rate)}{status.errors_last_hour ? `, ${plural(status.errors_last_hour, "call")} in the last hour` : ""}</Link> },
            { label: "Calls, last hour", value: <Link to="/audit" search={{ provider: name, days: "1" }} className="link">{status.calls_last_hour == null ? "Show calls" : count(status.calls_last_hour)}</Link> },
            { label: "Models", value: <Link to="/models" search={{ provider: name }} className="link">{count(status.health.model_count)}</Link> },
            { label: "Models listed", value: status.health.last_discovery_at ? ago(status.health.last_discovery_at) : "never" },
            { label: "From", value: `${SOURCES[status.source] ?? status.source}${view?.overrides ? `, over the ${SOURCES[view.overrides] ?? view.overrides}` : ""}` },
          ]}
        />
      )}
      {status && status.models.length > 0 && <ModelHealthList models={status.models} />}
      {!readOnly && (
        <>
          <ConnectionTest result={test.data} error={test.error} stale={test.context !== undefined && test.context.print !== print} busy={test.isPending} onTest={() => test.mutate()} stored={!changed} />
          <div className="flex flex-wrap items-center justify-between gap-3">
            <Switch checked={draft.enabled} onChange={(enabled) => change({ enabled })}>
              Enabled
            </Switch>
            <Button icon={Search} size="sm" busy={find.busy} disabled={changed} title={changed ? "Save first: it lists the models of the stored provider." : undefined} onClick={() => find.mutate({ input: name })}>
              Discover models
            </Button>
          </div>
        </>
      )}
      {!own && view && <Note>Configured in the {SOURCES[view.source] ?? view.source}. Saving stores a version here that goes before it; deleting that one restores it.</Note>}
      <ConnectionFields body={draft} onChange={change} type={type} errors={provider.errors} keySet={view?.api_key_set} keyEnd={view?.api_key_last4} addressChanged={before !== null && body.base_url !== before.base_url} />
      <Field label="Priority" hint="Lower is asked first for a bare model name.">
        <NumberInput value={draft.priority} onChange={(priority) => change({ priority: priority ?? 0 })} />
      </Field>
      <MoreFields body={draft} onChange={change} type={type} errors={provider.errors} />
    </EditDrawer>
  );
}
