import { History } from "lucide-react";
import { useFilters } from "@/app/filters";
import { FilterBar, Page } from "@/app/Page";
import { Kbd } from "@/components/Button";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { FilterChip } from "@/components/FilterChip";
import { Table, TableFoot, type Column } from "@/components/Table";
import { ago, day, moment, plural, time, useZone, zoneLabel } from "@/format";
import { ActionTag, ChangeDrawer } from "./ChangeDrawer";
import { KINDS, kindTitle } from "./kinds";
import { useChanges, type Change } from "./queries";
import { summaryOf, titleOf } from "./summary";

const COLUMNS: Column<Change>[] = [
  { key: "at", title: "When", phone: "end", cell: (row) => <span className="num" title={`${moment(row.at)}, ${ago(row.at)}`}>{day(row.at)}, {time(row.at)}</span> },
  { key: "actor", title: "Changed by", phone: "subEnd", className: "max-w-44", cell: (row) => <span className="block truncate">{row.actor}</span> },
  { key: "action", title: "Action", cell: (row) => <ActionTag action={row.action} /> },
  { key: "kind", title: "Kind", phone: "sub", cell: (row) => <>{kindTitle(row.kind)}<span className="hidden phone:inline"> · {row.action}</span></> },
  { key: "name", title: "Name", phone: "title", className: "max-w-64", cell: (row) => <span className="block truncate font-medium" title={row.name}>{titleOf(row)}</span> },
  { key: "what", title: "Change", className: "max-w-0 w-[32%] narrow:hidden", cell: (row) => <span className="block truncate text-small text-ink-3">{summaryOf(row)}</span> },
];

export default function ChangesPage() {
  const [filters, setFilters] = useFilters({ kind: "", name: "", actor: "", open: "" });
  useZone();
  const changes = useChanges(filters);
  const opened = changes.rows.find((row) => String(row.revision) === filters.open);
  const filtered = Boolean(filters.kind || filters.name || filters.actor);
  const actors = [...new Set([...changes.rows.map((row) => row.actor), ...(filters.actor ? [filters.actor] : [])])];
  const clear = () => setFilters({ kind: null, name: null, actor: null });

  return (
    <Page title="Changes" sub="Every change of the configuration, with author and difference" flush>
      <FilterBar end={<>Times in {zoneLabel()}</>}>
        <FilterChip label="Kind" value={filters.kind} options={KINDS.map((value) => ({ value, label: kindTitle(value) }))} onChange={(kind) => setFilters({ kind, open: null })} />
        <FilterChip label="Name" value={filters.name} placeholder="Exact name" onChange={(name) => setFilters({ name, open: null })} />
        {actors.length > 1 ? <FilterChip label="Changed by" value={filters.actor} options={actors} onChange={(actor) => setFilters({ actor, open: null })} /> : <FilterChip label="Changed by" value={filters.actor} placeholder="Key, email or settings" onChange={(actor) => setFilters({ actor, open: null })} />}
      </FilterBar>
      <div className="flex-1 bg-surface">
        <Table
          label="Changes"
          flush
          rows={changes.rows}
          columns={COLUMNS}
          rowKey={(row) => String(row.revision)}
          selected={filters.open || null}
          onOpen={(row) => setFilters({ open: String(row.revision) })}
          loading={changes.isPending}
          error={changes.error}
          onRetry={() => void changes.refetch()}
          hasMore={changes.hasNextPage}
          onEnd={changes.loadMore}
          empty={filtered ? <NoMatch what="changes" onClear={clear} /> : <EmptyState icon={History} title="No changes yet">Each create, update and delete of a key, provider, workflow or setting is recorded here with the values before and after it.</EmptyState>}
        />
      </div>
      {changes.rows.length > 0 && (
        <TableFoot keys={<><Kbd>J</Kbd><Kbd>K</Kbd> move <Kbd>↵</Kbd> open</>}>
          {plural(changes.rows.length, "change")}
          {changes.hasNextPage && " so far"}
        </TableFoot>
      )}
      {opened && <ChangeDrawer key={opened.revision} change={opened} onClose={() => setFilters({ open: null })} onFilter={(change) => setFilters({ ...change, open: null })} />}
    </Page>
  );
}
