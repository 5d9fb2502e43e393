import { CircleDollarSign } from "lucide-react";
import { FilterBar } from "@/app/Page";
import { useSession } from "@/app/session";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { FilterChip } from "@/components/FilterChip";
import { SearchInput } from "@/components/Input";
import { Segmented } from "@/components/Segmented";
import { Status } from "@/components/Status";
import { Table, TableFoot, type Column } from "@/components/Table";
import { plural } from "@/format";
import type { TabProps } from ".";
import { PriceDrawer } from "./PriceDrawer";
import { rates, usePrices, type Price } from "./queries";

const KINDS = { catalog: ["ok", "Catalogue"], override: ["ok", "Override"], missing: ["warn", "Unpriced"] } as const;

const COLUMNS: Column<Price>[] = [
  { key: "selector", title: "Model", phone: "title", className: "w-full", cell: (row) => <span className="block max-w-96 truncate font-medium" title={row.selector}>{row.selector}</span> },
  { key: "source", title: "Source", phone: "sub", cell: (row) => <Status kind={KINDS[row.source][0]}>{KINDS[row.source][1]}</Status> },
  { key: "base", title: "Base", align: "right", cell: (row) => <span className="text-ink-2">{row.base ? rates(row.base) : "–"}</span> },
  { key: "override", title: "Override", align: "right", cell: (row) => <span className={row.override ? "text-accent-ink" : "text-ink-3"}>{row.override ? rates(row.override) : "–"}</span> },
  { key: "effective", title: "Effective", align: "right", phone: "end", cell: (row) => <span className={row.effective ? "font-medium" : "text-warn"}>{rates(row.effective)}</span> },
];

/** Prices: the catalogue's, what overrides it, and what is charged. */
export function Pricing({ filters, setFilters }: TabProps) {
  const prices = usePrices();
  const { can } = useSession();
  const all = prices.data ?? [];
  const text = filters.search.toLowerCase();
  const found = all.filter((row) => row.selector.toLowerCase().includes(text) && (!filters.provider || row.selector.startsWith(`${filters.provider}/`)));
  const rows = found.filter((row) => !filters.source || row.source === filters.source);
  const number = (source: string) => found.filter((row) => row.source === source).length;
  const filtered = filters.search || filters.provider || filters.source;
  return (
    <>
      <FilterBar end="US dollars per million tokens, input / output">
        <SearchInput label="Model or provider" value={filters.search} onChange={(search) => setFilters({ search })} />
        <Segmented label="Source" value={filters.source} onChange={(source) => setFilters({ source })} options={[{ value: "", label: "All", count: found.length }, { value: "catalog", label: "Catalogue", count: number("catalog") }, { value: "override", label: "Override", count: number("override") }, { value: "missing", label: "Unpriced", count: number("missing") }]} />
        <FilterChip label="Provider" value={filters.provider || null} onChange={(provider) => setFilters({ provider })} options={[...new Set(all.map((row) => row.selector.split("/")[0] ?? ""))].filter(Boolean)} />
      </FilterBar>
      <Table label="Prices" flush rows={rows} columns={COLUMNS} rowKey={(row) => row.selector} loading={prices.isPending} error={prices.error} onRetry={() => void prices.refetch()} onOpen={(row) => setFilters({ open: row.selector })} selected={filters.open || null} empty={filtered ? <NoMatch what="prices" onClear={() => setFilters({ search: null, provider: null, source: null })} /> : <EmptyState icon={CircleDollarSign} title="No prices yet">Prices come from the built-in catalogue as soon as a provider is connected; an override takes precedence.</EmptyState>} />
      {rows.length > 0 && <TableFoot>{plural(rows.length, "price")}{rows.length < all.length && ` of ${all.length}`}</TableFoot>}
      {(filters.open || filters.create) && <PriceDrawer key={filters.open} selector={filters.open || null} known={all} readOnly={!can("admin:model-pricing:write")} onClose={() => setFilters({ open: null, create: null })} />}
    </>
  );
}
