import { Box } from "lucide-react";
import { Link } from "@tanstack/react-router";
import { FilterBar } from "@/app/Page";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { FilterChip } from "@/components/FilterChip";
import { SearchInput } from "@/components/Input";
import { RowLink } from "@/components/RowLink";
import { Segmented } from "@/components/Segmented";
import { Status, Tag } from "@/components/Status";
import { Table, TableFoot, type Column } from "@/components/Table";
import { compact, NONE, plural } from "@/format";
import type { TabProps } from ".";
import { ModelDrawer } from "./ModelDrawer";
import { rates, useModels, type Model } from "./queries";

type Access = { who: "everyone" | "paths" | "nobody"; kind: "ok" | "paused" | "unknown"; text: string };

/** The access rule of a model as a short label. */
export function accessOf(model: Model): Access {
  const { effective_enabled, user_paths } = model.access;
  if (!effective_enabled) return { who: "nobody", kind: "paused", text: "Nobody" };
  if (!user_paths.length) return { who: "everyone", kind: "ok", text: "Everyone" };
  return { who: "paths", kind: "unknown", text: user_paths.length === 1 ? `Only ${user_paths[0]}` : `Only ${plural(user_paths.length, "path")}` };
}

const word = (text: string) => text.replaceAll("_", " ").replace(/^(json|pdf)\b/, (name) => name.toUpperCase());
const COLUMNS: Column<Model>[] = [
  { key: "model", title: "Model", sort: "selector", first: "asc", phone: "title", cell: (row) => <span className="block max-w-96 truncate" title={row.selector}><span className="font-medium">{row.model.metadata.display_name ?? row.model.id}</span>{row.model.metadata.display_name && <span className="ml-1.5 text-small text-ink-3">{row.model.id}</span>}</span> },
  { key: "provider", title: "Provider", sort: "provider", first: "asc", phone: "sub", cell: (row) => <RowLink to="/providers" search={{ open: row.provider_name }} className="text-ink-2 hover:underline">{row.provider_name}</RowLink> },
  { key: "modes", title: "Mode", cell: (row) => <span className="text-ink-2">{row.model.metadata.modes.map(word).join(", ") || NONE}</span> },
  { key: "can", title: "Capabilities", cell: (row) => <Capabilities model={row} /> },
  { key: "context", title: "Context", align: "right", sort: "context", phone: "sub", cell: (row) => <span className="text-ink-2">{compact(row.model.metadata.context_window)}</span> },
  { key: "price", title: "In / out per M", align: "right", sort: "price", phone: "end", cell: (row) => <RowLink to="/models" search={{ tab: "pricing", open: row.selector } as never} className={row.model.metadata.pricing ? "hover:underline" : "text-ink-3 hover:underline"}>{rates(row.model.metadata.pricing)}</RowLink> },
  { key: "access", title: "Who may use it", phone: "subEnd", cell: (row) => <Status kind={accessOf(row).kind}><span className="inline-block max-w-40 truncate align-bottom">{accessOf(row).text}</span></Status> },
];

function Capabilities({ model }: { model: Model }) {
  const all = Object.entries(model.model.metadata.capabilities).flatMap(([name, on]) => (on ? [word(name)] : []));
  return (
    <span className="flex items-center gap-1" title={all.join(", ")}>
      {all.slice(0, 3).map((name) => <Tag key={name}>{name}</Tag>)}
      {all.length > 3 && <span className="text-small text-ink-3">+{all.length - 3}</span>}
    </span>
  );
}

const SORTS: Record<string, (model: Model) => string | number> = {
  selector: (model) => model.selector,
  provider: (model) => model.provider_name,
  context: (model) => model.model.metadata.context_window ?? -1,
  price: (model) => model.model.metadata.pricing?.input_per_mtok ?? -1,
};

/** The models of all providers. */
export function Inventory({ filters, setFilters }: TabProps) {
  const models = useModels();
  const all = models.data ?? [];
  const text = filters.search.toLowerCase();
  const inSearch = all.filter((row) => (!text || `${row.selector} ${row.model.metadata.display_name ?? ""} ${row.model.metadata.family ?? ""}`.toLowerCase().includes(text)) && (!filters.provider || row.provider_name === filters.provider) && (!filters.access || accessOf(row).who === filters.access));
  const counts = new Map<string, number>();
  for (const row of inSearch) for (const category of row.model.metadata.categories) counts.set(category, (counts.get(category) ?? 0) + 1);
  const desc = filters.sort.startsWith("-");
  const by = desc ? filters.sort.slice(1) : filters.sort;
  const key = SORTS[by] ?? SORTS.selector!;
  const rows = inSearch
    .filter((row) => !filters.category || row.model.metadata.categories.includes(filters.category as never))
    .sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (desc ? -1 : 1);
    });
  const clear = () => setFilters({ search: null, provider: null, category: null, access: null });
  const filtered = filters.search || filters.provider || filters.category || filters.access;
  const open = all.find((row) => row.selector === filters.open);
  return (
    <>
      <FilterBar end={models.data && plural(rows.length, "model")}>
        <SearchInput label="Model, family or provider" value={filters.search} onChange={(search) => setFilters({ search })} />
        <Segmented label="Category" value={filters.category} onChange={(category) => setFilters({ category })} options={[{ value: "", label: "All", count: inSearch.length }, ...[...counts].map(([value, count]) => ({ value, label: word(value), count }))]} />
        <FilterChip label="Provider" value={filters.provider || null} onChange={(provider) => setFilters({ provider })} options={[...new Set(all.map((row) => row.provider_name))].map((value) => ({ value, label: value }))} />
        <FilterChip label="Access" value={filters.access || null} onChange={(access) => setFilters({ access })} options={[{ value: "everyone", label: "Everyone" }, { value: "paths", label: "Some paths" }, { value: "nobody", label: "Nobody" }]} />
      </FilterBar>
      <Table label="Models" flush rows={rows} columns={COLUMNS} rowKey={(row) => row.selector} loading={models.isPending} error={models.error} onRetry={() => void models.refetch()} sort={{ by, desc }} onSort={(sort) => setFilters({ sort: `${sort.desc ? "-" : ""}${sort.by}` })} onOpen={(row) => setFilters({ open: row.selector })} selected={filters.open || null} empty={filtered ? <NoMatch what="models" onClear={clear} /> : <EmptyState icon={Box} title="No models yet" actions={<Link to="/providers" search={{ add: "provider" }} className="link">Add a provider</Link>}>Models appear here once a provider is connected.</EmptyState>} />
      {rows.length > 0 && <TableFoot>{plural(rows.length, "model")}{rows.length < all.length && ` of ${all.length}`}</TableFoot>}
      {open && <ModelDrawer model={open} onClose={() => setFilters({ open: null })} />}
    </>
  );
}
