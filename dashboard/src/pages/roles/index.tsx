import { Link } from "@tanstack/react-router";
import { Lock, Plus, UserCog } from "lucide-react";
import { useState } from "react";
import { useFilters } from "@/app/filters";
import { FilterBar, Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { Tag } from "@/components/Status";
import { Table, TableFoot, type Column } from "@/components/Table";
import { ago, moment, plural } from "@/format";
import { permissionsOf, useRoles, type Role } from "./queries";
import { RoleEditor } from "./RoleEditor";
import { ruleWords } from "./rules";

const COLUMNS: Column<Role>[] = [
  { key: "name", title: "Role", phone: "title", className: "max-w-56", cell: (row) => <span className="block truncate font-medium">{row.name}</span> },
  { key: "description", title: "Description", phone: "sub", className: "max-w-72", cell: (row) => <span className="block truncate text-ink-2">{row.description}</span> },
  {
    key: "permissions",
    title: "Permissions",
    className: "max-w-0 w-[38%]",
    cell: (row) => (
      <span className="flex gap-1.5 overflow-hidden">
        {permissionsOf(row).map((rule, i) => (
          <Tag key={i} kind={rule.effect === "deny" ? "bad" : "neutral"}>
            {ruleWords(rule)}
          </Tag>
        ))}
      </span>
    ),
  },
  { key: "people", title: "People", cell: (row) => <Link to="/users" search={{ role: row.name } as never} className="link">who has it</Link> },
  { key: "changed", title: "Changed", align: "right", phone: "subEnd", cell: (row) => (row.updated_at ? <span title={moment(row.updated_at)}>{ago(row.updated_at)}</span> : <span className="text-ink-3">–</span>) },
  { key: "kind", title: "Kind", phone: "end", cell: (row) => (row.system ? <Tag icon={Lock}>built in</Tag> : <span className="text-small text-ink-3">own</span>) },
];

export default function RolesPage() {
  const [filters, setFilters] = useFilters({ search: "", open: "" });
  const [creating, setCreating] = useState(false);
  const { can } = useSession();
  const writable = can("admin:identity:write");
  const roles = useRoles();
  const all = roles.data ?? [];
  const rows = all.filter((role) => `${role.name} ${role.description}`.toLowerCase().includes(filters.search.toLowerCase()));
  const opened = all.find((role) => role.name === filters.open);
  useShortcut("c", () => setCreating(true), writable);
  const add = writable && (
    <Button look="primary" icon={Plus} shortcut="C" onClick={() => setCreating(true)}>
      Create role
    </Button>
  );
  return (
    <Page title="Roles" actions={add} flush>
      <FilterBar end="Deny wins over allow; without a rule nothing is allowed.">
        <SearchInput label="Name or description" value={filters.search} onChange={(search) => setFilters({ search })} />
      </FilterBar>
      <div className="flex-1 bg-surface">
        <Table
          label="Roles"
          flush
          rows={rows}
          columns={COLUMNS}
          rowKey={(row) => row.name}
          rowHeight={40}
          selected={filters.open || null}
          onOpen={(row) => setFilters({ open: row.name })}
          loading={roles.isPending}
          error={roles.error}
          onRetry={() => void roles.refetch()}
          empty={all.length ? <NoMatch what="roles" onClear={() => setFilters({ search: null })} /> : <EmptyState icon={UserCog} title="No roles" actions={add} />}
        />
      </div>
      {rows.length > 0 && <TableFoot>{plural(rows.length, "role")}</TableFoot>}
      {(creating || opened) && (
        <RoleEditor
          key={opened?.name ?? "new"}
          role={creating ? null : (opened ?? null)}
          writable={writable}
          onClose={() => {
            setCreating(false);
            setFilters({ open: null });
          }}
        />
      )}
    </Page>
  );
}
