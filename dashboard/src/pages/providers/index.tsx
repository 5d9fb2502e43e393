import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { useSave } from "@/api/save";
import { Button } from "@/components/Button";
import { Panel } from "@/components/Panel";
import { toast } from "@/components/Toast";
import { asOf, duration, plural } from "@/format";
import { AddProvider } from "./AddProvider";
import { summary } from "./health";
import { PoolDrawer } from "./PoolDrawer";
import { PoolsPanel } from "./PoolsPanel";
import { ProviderDrawer } from "./ProviderDrawer";
import { ProviderTable } from "./ProviderTable";
import { discover, testStored, usePools, useStatus, type Provider, type TestResult } from "./queries";

const NOTHING = { open: null, pool: null, add: null, type: null };

/** Providers with their health, and pools with the shares of their members. */
export default function ProvidersPage() {
  const { can } = useSession();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters({ open: "", pool: "", add: "", type: "" });
  const status = useStatus();
  const pools = usePools();
  const writable = can("admin:providers:write");
  const poolsWritable = can("admin:pools:write");
  const rows = status.data ?? [];

  const test = useSave<string, TestResult>({
    write: testStored,
    invalidates: [["providers"]],
    onSuccess: (result, name) => toast(result.ok ? { title: `${name} connected in ${duration(result.latency_ms)}`, detail: result.model_count == null ? undefined : plural(result.model_count, "model") } : { kind: "bad", title: `${name}: ${result.error ?? "no connection"}`, detail: "Nothing was changed. Open it to check its address and key.", action: { label: "Open", run: () => setFilters({ ...NOTHING, open: name }) } }),
  });
  const find = useSave<string, Provider>({ write: discover, invalidates: [["providers"], ["models"], ["selectors"]], done: (view) => `${plural(view.health.model_count, "model")} of ${view.name} found` });

  const close = () => setFilters(NOTHING);
  const add = () => setFilters({ ...NOTHING, add: "provider" }, { push: true });
  const newPool = () => setFilters({ ...NOTHING, add: "pool" }, { push: true });
  useShortcut("c", add, writable);
  const poolButton = poolsWritable && <Button icon={Plus} onClick={newPool}>Create pool</Button>;

  return (
    <Page
      title="Providers and pools"
      actions={
        <>
          {status.data && <span className="num text-small text-ink-3 phone:hidden narrow:hidden">{asOf(status.dataUpdatedAt)}</span>}
          <span className="phone:hidden">{poolButton}</span>
          {writable && <Button look="primary" icon={Plus} shortcut="C" onClick={add}>Add provider</Button>}
        </>
      }
    >
      <Panel title="Providers" sub={status.data && summary(rows)} className="overflow-hidden">
        <ProviderTable
          rows={rows}
          loading={status.isPending}
          error={status.error}
          onRetry={() => void status.refetch()}
          open={filters.open || null}
          add={writable && <Button icon={Plus} onClick={add}>Add provider</Button>}
          actions={{
            onOpen: (name) => setFilters({ ...NOTHING, open: name }, { push: true }),
            onTest: (name) => test.mutate({ input: name }),
            onDiscover: (name) => find.mutate({ input: name }),
            onCalls: (name) => void navigate({ to: "/audit", search: { provider: name, days: "1" } as never }),
            testing: test.busy ? (test.variables?.input ?? null) : null,
            writable,
          }}
        />
      </Panel>
      <PoolsPanel pools={pools.data ?? []} loading={pools.isPending} error={pools.error} onRetry={() => void pools.refetch()} onOpen={(pool) => setFilters({ ...NOTHING, pool }, { push: true })} add={poolButton} />
      {pools.data && pools.data.length > 0 && <span className="mt-3 hidden phone:block">{poolButton}</span>}
      {filters.open && <ProviderDrawer key={filters.open} name={filters.open} status={rows.find((row) => row.name === filters.open)} readOnly={!writable} onClose={close} />}
      {(filters.pool || filters.add === "pool") && <PoolDrawer key={filters.pool} name={filters.pool || null} providers={rows.map((row) => row.name)} readOnly={!poolsWritable} onClose={close} />}
      {filters.add === "provider" && <AddProvider type={filters.type} onType={(type) => setFilters({ type })} taken={rows.map((row) => row.name)} pools={poolsWritable ? (pools.data ?? []).filter((pool) => pool.source !== "file") : []} onClose={close} onAdded={close} />}
    </Page>
  );
}
