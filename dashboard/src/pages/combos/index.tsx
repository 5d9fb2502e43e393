import { Plus, Split } from "lucide-react";
import { useFilters } from "@/app/filters";
import { FilterBar, Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { STRATEGIES } from "@/components/strategies";
import { Tag } from "@/components/Status";
import { Table, TableFoot, type Column } from "@/components/Table";
import { ago, plural } from "@/format";
import { ComboDrawer } from "./ComboDrawer";
import { useCombos, type Combo } from "./queries";

const COLUMNS: Column<Combo>[] = [
  {
    key: "name",
    title: "Name",
    phone: "title",
    cell: (combo) => (
      <span className="block max-w-80">
        <span className="font-medium">{combo.name}</span>
        {combo.description && <span className="block truncate text-small text-ink-3 phone:hidden" title={combo.description}>{combo.description}</span>}
      </span>
    ),
  },
  { key: "strategy", title: "Strategy", phone: "end", cell: (combo) => <span className="flex items-center gap-2"><Tag mono>{combo.strategy}</Tag><span className="text-small text-ink-3 narrow:hidden">{STRATEGIES[combo.strategy]?.short}</span></span> },
  { key: "targets", title: "Targets", phone: "sub", cell: (combo) => <Targets combo={combo} />, className: "w-full" },
  { key: "from", title: "From", cell: (combo) => <span className="text-ink-2">{combo.source === "file" ? "file" : combo.overrides ? "dashboard, over the file" : "dashboard"}</span> },
  { key: "changed", title: "Changed", align: "right", phone: "subEnd", cell: (combo) => <span className="text-ink-2">{combo.updated_at ? ago(combo.updated_at) : "–"}</span> },
];

function Targets({ combo }: { combo: Combo }) {
  const ordered = combo.strategy === "primary_fallback";
  const shown = combo.selectors.slice(0, 3);
  return (
    <span className="flex min-w-0 items-center gap-1.5 truncate text-ink-2">
      {shown.map((selector, i) => (
        <span key={selector} className="flex min-w-0 items-center gap-1.5">
          {i > 0 && <span className="text-ink-3">{ordered ? "→" : "·"}</span>}
          <span className="truncate" title={selector}>{selector}</span>
          {combo.strategy === "weighted" && <span className="num text-small text-ink-3">×{combo.weights[selector] ?? 1}</span>}
        </span>
      ))}
      {combo.selectors.length > shown.length && <span className="text-small text-ink-3">+{combo.selectors.length - shown.length}</span>}
    </span>
  );
}

/** Combos: names for several targets, tried in order or shared by a strategy. */
export default function CombosPage() {
  const { can } = useSession();
  const [filters, setFilters] = useFilters({ search: "", open: "", create: "" });
  const combos = useCombos();
  const writable = can("admin:combos:write");
  const all = combos.data ?? [];
  const word = filters.search.toLowerCase();
  const rows = all.filter((combo) => [combo.name, combo.description, combo.strategy, ...combo.selectors].some((text) => text.toLowerCase().includes(word)));
  const create = () => setFilters({ create: "1", open: null });
  useShortcut("c", create, writable);
  const button = (look: "primary" | "default") => (
    <Button look={look} icon={Plus} shortcut={look === "primary" ? "C" : undefined} onClick={create}>
      Create combo
    </Button>
  );
  const empty = filters.search ? (
    <NoMatch what="combos" onClear={() => setFilters({ search: null })} />
  ) : (
    <EmptyState icon={Split} title="No combos yet" actions={writable && button("default")}>
      A combo is one model name for several targets, e.g. a primary model and its fallbacks. Clients call it like a model.
    </EmptyState>
  );
  return (
    <Page title="Combos" flush actions={writable && button("primary")}>
      <FilterBar end={combos.data && plural(rows.length, "combo")}>
        <SearchInput label="Name, target or strategy" value={filters.search} onChange={(search) => setFilters({ search })} />
      </FilterBar>
      <Table label="Combos" flush rowHeight={52} rows={rows} columns={COLUMNS} rowKey={(combo) => combo.id} loading={combos.isPending} error={combos.error} onRetry={() => void combos.refetch()} empty={empty} onOpen={(combo) => setFilters({ open: combo.id }, { push: true })} selected={filters.open || null} />
      {rows.length > 0 && <TableFoot>{plural(rows.length, "combo")}{rows.length < all.length && ` of ${all.length}`}</TableFoot>}
      {(filters.open || filters.create) && <ComboDrawer key={filters.open} id={filters.open || null} readOnly={!writable} onClose={() => setFilters({ open: null, create: null })} />}
    </Page>
  );
}
