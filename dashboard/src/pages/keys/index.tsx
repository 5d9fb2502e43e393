import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { FilterChip } from "@/components/FilterChip";
import { SearchInput } from "@/components/Input";
import { Menu } from "@/components/Menu";
import { RevealKey } from "@/components/RevealKey";
import { RotateDialog } from "@/components/RotateDialog";
import { Segmented } from "@/components/Segmented";
import { Table } from "@/components/Table";
import { ago, asOf, count, moment } from "@/format";
import { CreateKey, EditKey } from "./Editor";
import { KeyDetail, type KeyAction } from "./KeyDetail";
import { useKeys, type Key, type NewKey } from "./queries";
import { columnsOf } from "./state";
import { useDeleteKey, useRotateKey, useSwitchKey } from "./writes";

const STATES = ["", "active", "soon", "ended"] as const;
type Asking = { what: "rotate" | "delete"; key: Key } | null;

/** Managed keys: rules, limits, cost; create, rotate, edit, deactivate and delete. */
export default function KeysPage() {
  const session = useSession();
  const may = session.can("admin:auth-keys:write");
  const [filters, setFilters] = useFilters(
    { search: "", state: "", path: "", scope: "", sort: "-created_at", open: "", edit: "", create: "" },
    { state: STATES },
  );
  const keys = useKeys(filters);
  const [made, setMade] = useState<{ key: NewKey; rotated: boolean } | null>(null);
  const [asking, setAsking] = useState<Asking>(null);
  const open = keys.rows.find((key) => key.id === filters.open);
  const first = keys.pages[0];
  const filtered = Boolean(filters.search || filters.state || filters.path || filters.scope);

  const reveal = (key: NewKey, rotated: boolean) => {
    setAsking(null);
    setMade({ key, rotated });
    setFilters({ open: null, create: null });
    window.scrollTo({ top: 0 });
  };
  const rotate = useRotateKey((key) => reveal(key, true));
  const toggle = useSwitchKey();
  const remove = useDeleteKey(() => setAsking(null));
  const act = (what: KeyAction, key: Key) => {
    if (what === "edit") return setFilters({ edit: key.id, open: null });
    if (what === "switch") return toggle.mutate({ input: { key, enabled: !key.enabled } });
    setFilters({ open: null });
    setAsking({ what, key });
  };
  const create = () => setFilters({ create: "1" });
  useShortcut("c", create, may);
  const createButton = may && (
    <Button look="primary" icon={Plus} shortcut="C" onClick={create}>
      Create key
    </Button>
  );
  const clear = () => setFilters({ search: null, state: null, path: null, scope: null });
  const counts = first?.counts;
  const total = first?.total;

  return (
    <Page title="API keys" actions={createButton}>
      {made && (
        <RevealKey
          connect={session.can("admin:cli-tools:read")}
          value={made.key.key}
          onClose={() => setMade(null)}
          title={`${made.key.name} ${made.rotated ? "has a new value" : "is ready"}. Copy its key now; it is shown this once.`}
        >
          {made.rotated &&
            (made.key.previous?.length ? `The old value works until ${moment(made.key.previous.at(-1)?.valid_until)}.` : "The old value has ended.")}
          {made.key.warnings?.join(" ")}
        </RevealKey>
      )}
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <SearchInput label="Name, id or description" value={filters.search} onChange={(search) => setFilters({ search })} />
        <Segmented
          label="State"
          value={filters.state}
          onChange={(state) => setFilters({ state })}
          options={[
            { value: "", label: "All", count: counts?.all },
            { value: "active", label: "Active", count: counts?.active },
            { value: "soon", label: "Ending soon", count: counts?.ending_soon },
            { value: "ended", label: "Ended", count: counts?.ended },
          ]}
        />
        <FilterChip label="Path" value={filters.path} onChange={(path) => setFilters({ path })} placeholder="/search" />
        <FilterChip
          label="Scope"
          value={filters.scope}
          onChange={(scope) => setFilters({ scope })}
          options={["inference", "admin:read", "admin:write", "admin:usage:read", "admin:audit:read"]}
        />
        {first?.as_of && <span className="num ml-auto text-small text-ink-3 phone:hidden">Limits {asOf(first.as_of).replace(/^As/, "as")}</span>}
      </div>
      <div className="overflow-hidden rounded-lg border border-line bg-surface">
        <Table
          label="API keys"
          rows={keys.rows}
          columns={columnsOf(made?.key.id ?? null)}
          rowKey={(key) => key.id}
          rowHeight={52}
          loading={keys.isPending}
          error={keys.error}
          onRetry={() => void keys.refetch()}
          hasMore={keys.hasNextPage}
          onEnd={keys.loadMore}
          selected={filters.open || null}
          onOpen={(key) => setFilters({ open: key.id })}
          sort={{ by: filters.sort.replace(/^-/, ""), desc: filters.sort.startsWith("-") }}
          onSort={({ by, desc }) => setFilters({ sort: (desc ? "-" : "") + by })}
          actions={(key) => (
            <Menu
              label={`Actions for ${key.name}`}
              items={[
                { label: "Details", run: () => setFilters({ open: key.id }) },
                ...(may
                  ? [
                      { label: "Edit", run: () => act("edit", key) },
                      { label: "Rotate", run: () => act("rotate", key) },
                      { label: key.enabled ? "Deactivate" : "Reactivate", run: () => act("switch", key) },
                      "separator" as const,
                      { label: "Delete key", danger: true, run: () => act("delete", key) },
                    ]
                  : []),
              ]}
            />
          )}
          empty={
            filtered ? (
              <NoMatch what="keys" onClear={clear} />
            ) : (
              <EmptyState icon={KeyRound} title="No keys yet" actions={createButton}>
                A key gives an application its own path, limits and cost. The master key stays with you.
              </EmptyState>
            )
          }
        />
      </div>
      {keys.rows.length > 0 && (
        <p className="num px-4 py-2 text-small text-ink-3">
          {total === undefined || filters.state === "soon" ? count(keys.rows.length) : `${count(keys.rows.length)} of ${count(total)}`}
        </p>
      )}

      {filters.create && may && <CreateKey path={filters.path} onClose={() => setFilters({ create: null })} onCreated={(key) => reveal(key, false)} />}
      {filters.edit && may && <EditKey id={filters.edit} onClose={() => setFilters({ edit: null })} />}
      {filters.open && <KeyDetail key={filters.open} id={filters.open} listed={open} onClose={() => setFilters({ open: null })} onAction={act} />}
      {asking?.what === "rotate" && (
        <RotateDialog
          name={asking.key.name}
          busy={rotate.busy}
          onClose={() => setAsking(null)}
          onRotate={(overlap) => rotate.mutate({ input: { id: asking.key.id, overlap } })}
        />
      )}
      {asking?.what === "delete" && (
        <ConfirmDialog
          title={`Delete ${asking.key.name}`}
          body="Calls with this key are refused at once. This cannot be undone; its past usage is kept."
          warning={asking.key.last_used_at ? `It was used ${ago(asking.key.last_used_at)}.` : undefined}
          typed={asking.key.name}
          confirm="Delete key"
          busy={remove.busy}
          instead={
            asking.key.enabled
              ? {
                  label: "Deactivate instead",
                  run: () => {
                    setAsking(null);
                    act("switch", asking.key);
                  },
                }
              : undefined
          }
          onConfirm={() => remove.mutate({ input: asking.key })}
          onClose={() => setAsking(null)}
        />
      )}
    </Page>
  );
}
