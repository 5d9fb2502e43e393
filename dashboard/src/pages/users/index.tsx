import { Link } from "@tanstack/react-router";
import { Plus, Users } from "lucide-react";
import { useState } from "react";
import { useFilters } from "@/app/filters";
import { FilterBar, Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { FilterChip } from "@/components/FilterChip";
import { SearchInput } from "@/components/Input";
import { Status, Tag } from "@/components/Status";
import { Table, TableFoot, type Column } from "@/components/Table";
import { ago, moment, plural } from "@/format";
import { useUsers, type User } from "./queries";
import { UserEditor } from "./UserEditor";

const COLUMNS: Column<User>[] = [
  {
    key: "user",
    title: "Person",
    phone: "title",
    className: "max-w-72",
    cell: (row) => (
      <span className="block py-1.5">
        <span className="block truncate font-medium">{row.name || row.email}</span>
        {row.name && <span className="block truncate text-small text-ink-3 phone:hidden">{row.email}</span>}
      </span>
    ),
  },
  {
    key: "roles",
    title: "Roles",
    phone: "sub",
    className: "max-w-72",
    cell: (row) => (
      <span className="flex gap-1.5 overflow-hidden">
        {row.roles.length ? row.roles.map((role) => <Link key={role} to="/roles" search={{ open: role } as never} className="phone:pointer-events-none"><Tag>{role}</Tag></Link>) : <span className="text-ink-3">none</span>}
      </span>
    ),
  },
  { key: "path", title: "Path", cell: (row) => <code className="block max-w-48 truncate">{row.user_path ?? "/"}</code> },
  { key: "tenant", title: "Tenant", cell: (row) => (row.tenant_id ? <Link to="/tenants" search={{ open: row.tenant_id } as never} className="link">{row.tenant_id}</Link> : <span className="text-ink-3">all</span>) },
  { key: "signin", title: "Signs in by", cell: (row) => [row.password_set && "password", ...row.identities.map((each) => each.provider)].filter(Boolean).join(", ") || <span className="text-ink-3">nothing yet</span> },
  { key: "changed", title: "Changed", align: "right", cell: (row) => <span title={moment(row.updated_at)}>{ago(row.updated_at)}</span>, phone: "subEnd" },
  { key: "state", title: "State", phone: "end", cell: (row) => (row.active ? <Status kind="ok">Active</Status> : <Status kind="paused">Deactivated</Status>) },
];

export default function UsersPage() {
  const [filters, setFilters] = useFilters({ search: "", role: "", open: "" });
  const [creating, setCreating] = useState(false);
  const { can } = useSession();
  const writable = can("admin:identity:write");
  const users = useUsers();
  const all = users.data ?? [];
  const text = filters.search.toLowerCase();
  const rows = all.filter((user) => (!filters.role || user.roles.includes(filters.role)) && [user.email, user.name, user.user_path ?? "", user.tenant_id ?? ""].some((each) => each.toLowerCase().includes(text)));
  const opened = all.find((user) => user.id === filters.open);
  useShortcut("c", () => setCreating(true), writable);
  const add = writable && (
    <Button look="primary" icon={Plus} shortcut="C" onClick={() => setCreating(true)}>
      Create user
    </Button>
  );
  return (
    <Page title="People and roles" actions={add} flush>
      <FilterBar end={users.data && plural(rows.length, "person", "people")}>
        <SearchInput label="Name, email, path or tenant" value={filters.search} onChange={(search) => setFilters({ search })} />
        <FilterChip label="Role" value={filters.role} options={[...new Set([...all.flatMap((user) => user.roles), ...(filters.role ? [filters.role] : [])])].sort()} onChange={(role) => setFilters({ role })} />
      </FilterBar>
      <div className="flex-1 bg-surface">
        <Table
          label="People"
          flush
          rows={rows}
          columns={COLUMNS}
          rowKey={(row) => row.id}
          rowHeight={52}
          selected={filters.open || null}
          onOpen={(row) => setFilters({ open: row.id })}
          loading={users.isPending}
          error={users.error}
          onRetry={() => void users.refetch()}
          empty={
            all.length ? (
              <NoMatch what="people" onClear={() => setFilters({ search: null, role: null })} />
            ) : (
              <EmptyState icon={Users} title="Nobody yet" actions={add}>
                People sign in by email or single sign-on, and their roles say what they may do.
              </EmptyState>
            )
          }
        />
      </div>
      {rows.length > 0 && <TableFoot>{plural(rows.length, "person", "people")}</TableFoot>}
      {(creating || opened) && (
        <UserEditor
          key={opened?.id ?? "new"}
          id={creating ? null : (opened?.id ?? null)}
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
