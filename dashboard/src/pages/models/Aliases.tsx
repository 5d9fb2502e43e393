import { Signpost } from "lucide-react";
import { useState } from "react";
import { useDocument } from "@/api/document";
import { FilterBar } from "@/app/Page";
import { useSession } from "@/app/session";
import { ConfirmDialog } from "@/components/Dialog";
import { EditDrawer } from "@/components/EditDrawer";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { Field } from "@/components/Field";
import { Input, SearchInput } from "@/components/Input";
import { Note } from "@/components/Note";
import { Table, TableFoot, type Column } from "@/components/Table";
import { ago, plural } from "@/format";
import type { TabProps } from ".";
import { ALIASES, useAliases, useModels, type Alias, type AliasBody } from "./queries";

const COLUMNS: Column<Alias>[] = [
  { key: "name", title: "Name", phone: "title", cell: (row) => <span className="font-medium">{row.name}</span> },
  { key: "target", title: "Target", phone: "sub", cell: (row) => <span className="text-ink-2">→ {row.target}</span> },
  { key: "description", title: "Description", cell: (row) => <span className="block max-w-96 truncate text-ink-2" title={row.description}>{row.description}</span>, className: "w-full" },
  { key: "from", title: "From", phone: "end", cell: (row) => <span className="text-ink-2">{row.source === "file" ? "file" : "dashboard"}</span> },
  { key: "changed", title: "Changed", align: "right", phone: "subEnd", cell: (row) => <span className="text-ink-2">{row.updated_at ? ago(row.updated_at) : "–"}</span> },
];

/** Aliases: other names for a model, combo or pool. */
export function Aliases({ filters, setFilters }: TabProps) {
  const aliases = useAliases();
  const { can } = useSession();
  const all = aliases.data ?? [];
  const text = filters.search.toLowerCase();
  const rows = all.filter((row) => `${row.name} ${row.target} ${row.description}`.toLowerCase().includes(text));
  return (
    <>
      <FilterBar end={aliases.data && plural(rows.length, "alias", "aliases")}>
        <SearchInput label="Name or target" value={filters.search} onChange={(search) => setFilters({ search })} />
      </FilterBar>
      <Table label="Aliases" flush rows={rows} columns={COLUMNS} rowKey={(row) => row.name} loading={aliases.isPending} error={aliases.error} onRetry={() => void aliases.refetch()} onOpen={(row) => setFilters({ open: row.name })} selected={filters.open || null} empty={text ? <NoMatch what="aliases" onClear={() => setFilters({ search: null })} /> : <EmptyState icon={Signpost} title="No aliases yet">An alias is a name that clients keep while you change the model behind it.</EmptyState>} />
      {rows.length > 0 && <TableFoot>{plural(rows.length, "alias", "aliases")}</TableFoot>}
      {(filters.open || filters.create) && <AliasDrawer key={filters.open} name={filters.open || null} taken={all.map((row) => row.name)} readOnly={!can("admin:aliases:write")} onClose={() => setFilters({ open: null, create: null })} />}
    </>
  );
}

function AliasDrawer({ name: stored, taken, readOnly, onClose }: { name: string | null; taken: string[]; readOnly: boolean; onClose: () => void }) {
  const alias = useDocument(ALIASES, stored, onClose);
  const models = useModels();
  const [name, setName] = useState("");
  const [edit, setEdit] = useState<Partial<AliasBody>>({});
  const [asking, setAsking] = useState(false);
  const body: AliasBody = { ...(alias.before ?? { target: "", description: "" }), ...edit };
  const to = stored ?? name.trim();
  const used = stored === null && taken.includes(to);
  const file = alias.view?.source === "file";
  if (asking && stored) return <ConfirmDialog title={`Delete ${stored}?`} body={<p>Calls to <code>{stored}</code> are then refused with <code>model_not_found</code>. You can undo it for a few seconds.</p>} confirm="Delete alias" busy={alias.deleting} onConfirm={alias.remove} onClose={() => setAsking(false)} />;
  return (
    <EditDrawer title={stored ?? "Create alias"} sub={stored ? "alias" : undefined} onClose={onClose} before={alias.before} after={body} call={{ method: "PUT", path: `/admin/api/v1/aliases/${encodeURIComponent(to)}`, body }} create="Create alias" ready={!readOnly && to !== "" && body.target !== "" && !used} busy={alias.busy} onSave={() => alias.save(to, body)} remove={stored && !readOnly ? { label: "Delete alias", run: () => setAsking(true), why: file ? "It is in the configuration file; remove it there." : undefined } : undefined} errors={alias.errors} conflict={alias.conflict} loading={alias.loading} error={alias.error} onRetry={alias.retry}>
      {file && <Note>Defined in the configuration file. Saving here overrides it.</Note>}
      {stored === null && (
        <Field label="Name" hint="Clients send it as the model." error={alias.errors.name ?? (used ? "An alias has this name already: open it from the list." : undefined)}>
          <Input autoFocus value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" spellCheck={false} />
        </Field>
      )}
      <Field label="Target" hint="A model, combo or pool." error={alias.errors.target}>
        <Input list="alias-targets" value={body.target} placeholder="provider/model" autoComplete="off" spellCheck={false} onChange={(event) => setEdit({ ...edit, target: event.target.value.trim() })} />
      </Field>
      <datalist id="alias-targets">{models.data?.map((model) => <option key={model.selector} value={model.selector} />)}</datalist>
      <Field label="Description" aside="optional" error={alias.errors.description}>
        <Input value={body.description} onChange={(event) => setEdit({ ...edit, description: event.target.value })} />
      </Field>
    </EditDrawer>
  );
}
