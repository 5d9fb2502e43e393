import { ShieldCheck } from "lucide-react";
import { FilterBar } from "@/app/Page";
import { useSession } from "@/app/session";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { Status, Tag } from "@/components/Status";
import { Table, TableFoot, type Column } from "@/components/Table";
import { ago, plural } from "@/format";
import type { TabProps } from ".";
import { OverrideDrawer } from "./OverrideDrawer";
import { useOverrides, type Override } from "./queries";

const COLUMNS: Column<Override>[] = [
  { key: "selector", title: "Selector", phone: "title", cell: (row) => <span className="block max-w-96 truncate font-medium" title={row.selector}>{row.selector}</span> },
  { key: "access", title: "Who may use it", phone: "end", cell: (row) => (row.enabled ? <Status kind={row.user_paths.length ? "unknown" : "ok"}>{row.user_paths.length ? "Chosen paths" : "Everyone"}</Status> : <Status kind="paused">Nobody</Status>) },
  { key: "paths", title: "Paths", phone: "sub", cell: (row) => <span className="text-ink-2">{row.user_paths.join(", ") || "–"}</span> },
  { key: "metadata", title: "Corrects", className: "w-full", cell: (row) => <span className="flex gap-1">{Object.entries(row.metadata).flatMap(([name, value]) => (value == null || (typeof value === "object" && !Object.keys(value).length) ? [] : [<Tag key={name}>{name.replaceAll("_", " ")}</Tag>]))}</span> },
  { key: "from", title: "From", cell: (row) => <span className="text-ink-2">{row.source === "file" ? "file" : "dashboard"}</span> },
  { key: "changed", title: "Changed", align: "right", phone: "subEnd", cell: (row) => <span className="text-ink-2">{row.updated_at ? ago(row.updated_at) : "–"}</span> },
];

/** Overrides: who may use models, and corrections of what is known about them. */
export function Overrides({ filters, setFilters }: TabProps) {
  const overrides = useOverrides();
  const { can } = useSession();
  const all = overrides.data ?? [];
  const text = filters.search.toLowerCase();
  const rows = all.filter((row) => `${row.selector} ${row.user_paths.join(" ")}`.toLowerCase().includes(text));
  return (
    <>
      <FilterBar end={overrides.data && plural(rows.length, "override")}>
        <SearchInput label="Selector or path" value={filters.search} onChange={(search) => setFilters({ search })} />
      </FilterBar>
      <Table label="Overrides" flush rows={rows} columns={COLUMNS} rowKey={(row) => row.selector} loading={overrides.isPending} error={overrides.error} onRetry={() => void overrides.refetch()} onOpen={(row) => setFilters({ open: row.selector })} selected={filters.open || null} empty={text ? <NoMatch what="overrides" onClear={() => setFilters({ search: null })} /> : <EmptyState icon={ShieldCheck} title="No overrides yet">An override switches models off, keeps them to some paths, or corrects their limits and capabilities.</EmptyState>} />
      {rows.length > 0 && <TableFoot>{plural(rows.length, "override")}</TableFoot>}
      {(filters.open || filters.create) && <OverrideDrawer key={filters.open} selector={filters.open || null} proposed={filters.selector} taken={all.map((row) => row.selector)} readOnly={!can("admin:model-overrides:write")} onClose={() => setFilters({ open: null, create: null, selector: null })} />}
    </>
  );
}
