import { Link } from "@tanstack/react-router";
import { Boxes, CirclePause, CirclePlay, Pencil, Plus } from "lucide-react";
import { useState } from "react";
import { unwrap } from "@/api/client";
import { useSave } from "@/api/save";
import { useFilters } from "@/app/filters";
import { FilterBar, Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { Menu } from "@/components/Menu";
import { Segmented } from "@/components/Segmented";
import { Status, Tag } from "@/components/Status";
import { Table, TableFoot, type Column } from "@/components/Table";
import { ago, day, moment, plural } from "@/format";
import { activateTenant, suspendTenant, TENANTS, useTenants, type Tenant } from "./queries";
import { SuspendDialog } from "./SuspendDialog";
import { TenantEditor } from "./TenantEditor";

const COLUMNS: Column<Tenant>[] = [
  {
    key: "name",
    title: "Tenant",
    phone: "title",
    className: "max-w-72",
    cell: (row) => (
      <span className="block py-1.5">
        <span className="block truncate font-medium">{row.name || row.slug}</span>
        <code className="block truncate text-ink-3 phone:hidden">{row.slug}</code>
      </span>
    ),
  },
  {
    key: "metadata",
    title: "Metadata",
    phone: "sub",
    className: "max-w-0 w-[40%]",
    cell: (row) => (
      <span className="flex gap-1.5 overflow-hidden">
        {Object.entries(row.metadata as Record<string, unknown>).map(([name, value]) => (
          <Tag key={name}>
            {name}: {typeof value === "string" ? value : JSON.stringify(value)}
          </Tag>
        ))}
      </span>
    ),
  },
  { key: "rows", title: "Its rows", cell: (row) => <span className="flex gap-3 text-small"><Link to="/audit" search={{ tenant_id: row.id } as never} className="link">calls</Link><Link to="/keys" search={{ search: row.id } as never} className="link">keys</Link></span> },
  { key: "created", title: "Created", align: "right", cell: (row) => day(row.created_at) },
  { key: "changed", title: "Changed", align: "right", phone: "subEnd", cell: (row) => <span title={moment(row.updated_at)}>{ago(row.updated_at)}</span> },
  { key: "state", title: "State", phone: "end", cell: (row) => (row.status === "active" ? <Status kind="ok">Active</Status> : <Status kind="paused">Suspended</Status>) },
];
const STATES = ["all", "active", "suspended"] as const;

export default function TenantsPage() {
  const [filters, setFilters] = useFilters({ search: "", state: "all", open: "" }, { state: STATES });
  const [creating, setCreating] = useState(false);
  const [suspending, setSuspending] = useState<Tenant | null>(null);
  const { can } = useSession();
  const writable = can("admin:tenants:write");
  const tenants = useTenants();
  const all = tenants.data ?? [];
  const of = (state: string) => all.filter((tenant) => state === "all" || tenant.status === state);
  const rows = of(filters.state).filter((tenant) => `${tenant.slug} ${tenant.name} ${JSON.stringify(tenant.metadata)}`.toLowerCase().includes(filters.search.toLowerCase()));
  const opened = all.find((tenant) => tenant.id === filters.open);
  useShortcut("c", () => setCreating(true), writable);
  const resume = useSave({ write: (tenant: Tenant) => activateTenant(tenant.id), invalidates: [TENANTS, ["changes"]], done: (tenant) => `${tenant.name || tenant.slug} is active`, undo: (tenant) => unwrap(suspendTenant(tenant.id)) });
  const add = writable && (
    <Button look="primary" icon={Plus} shortcut="C" onClick={() => setCreating(true)}>
      Create tenant
    </Button>
  );
  const close = () => {
    setCreating(false);
    setFilters({ open: null });
  };
  return (
    <Page title="Tenants" actions={add} flush>
      <FilterBar>
        <SearchInput label="Name, slug or metadata" value={filters.search} onChange={(search) => setFilters({ search })} />
        <Segmented label="State" value={filters.state} onChange={(state) => setFilters({ state })} options={STATES.map((value) => ({ value, label: { all: "All", active: "Active", suspended: "Suspended" }[value], count: tenants.data && of(value).length }))} />
      </FilterBar>
      <div className="flex-1 bg-surface">
        <Table
          label="Tenants"
          flush
          rows={rows}
          columns={COLUMNS}
          rowKey={(row) => row.id}
          rowHeight={52}
          selected={filters.open || null}
          onOpen={(row) => setFilters({ open: row.id })}
          loading={tenants.isPending}
          error={tenants.error}
          onRetry={() => void tenants.refetch()}
          actions={
            writable
              ? (row) => <Menu label={`Actions for ${row.slug}`} items={[row.status === "active" ? { label: "Suspend tenant", icon: CirclePause, run: () => setSuspending(row) } : { label: "Activate tenant", icon: CirclePlay, run: () => resume.mutate({ input: row }) }, { label: "Edit", icon: Pencil, run: () => setFilters({ open: row.id }) }]} />
              : undefined
          }
          empty={
            all.length ? (
              <NoMatch what="tenants" onClear={() => setFilters({ search: null, state: null })} />
            ) : (
              <EmptyState icon={Boxes} title="No tenants yet" actions={add}>
                A tenant has keys, usage, budgets, caches and an audit log of its own, apart from all others.
              </EmptyState>
            )
          }
        />
      </div>
      {rows.length > 0 && <TableFoot>{plural(rows.length, "tenant")}</TableFoot>}
      {(creating || opened) && !suspending && <TenantEditor key={opened?.id ?? "new"} id={creating ? null : (opened?.id ?? null)} writable={writable} onClose={close} onSuspend={setSuspending} />}
      {suspending && <SuspendDialog tenant={suspending} onClose={() => setSuspending(null)} />}
    </Page>
  );
}
