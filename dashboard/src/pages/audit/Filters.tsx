import { Clock, Plus } from "lucide-react";
import { useState } from "react";
import { FilterBar } from "@/app/Page";
import { Button } from "@/components/Button";
import { Field, Pair } from "@/components/Field";
import { FilterChip } from "@/components/FilterChip";
import { Input, SearchInput } from "@/components/Input";
import { Menu } from "@/components/Menu";
import { Popover } from "@/components/Popover";
import { Segmented } from "@/components/Segmented";
import { day, isoDay, zoneLabel } from "@/format";
import type { Filters, SetFilters } from "./queries";
import type { Entry, Stats } from "./types";

const RANGES = [{ value: "1", label: "Today" }, { value: "7", label: "7 d" }, { value: "30", label: "30 d" }, { value: "90", label: "90 d" }, { value: "365", label: "1 y" }] as const;
const SORTS = [{ value: "-timestamp", label: "Newest first" }, { value: "timestamp", label: "Oldest first" }, { value: "-duration", label: "Slowest first" }, { value: "duration", label: "Fastest first" }];
/** Filters that are shown only when set, or chosen from "Filter". */
const MORE = { provider: "Provider", method: "Method", path: "Route", stream: "Stream", session_id: "Session", error_type: "Error type" } as const;
type MoreName = keyof typeof MORE;
const OUTCOMES = [{ value: "error", label: "errors" }, { value: "ok", label: "without errors" }];

const distinct = (values: (string | null | undefined)[]) => [...new Set(values.filter((value): value is string => Boolean(value)))].sort();

function rangeLabel({ days, start_date, end_date }: Filters): string {
  if (!start_date && !end_date) return days === "1" ? "Today" : days === "365" ? "Last year" : `Last ${days} days`;
  const name = (date: string) => day(`${date}T12:00:00Z`);
  if (start_date && end_date) return start_date === end_date ? name(start_date) : `${name(start_date)} – ${name(end_date)}`;
  return start_date ? `Since ${name(start_date)}` : `Until ${name(end_date)}`;
}

function RangeChip({ filters, setFilters }: { filters: Filters; setFilters: SetFilters }) {
  const [open, setOpen] = useState(false);
  const change = (change: Parameters<SetFilters>[0]) => setFilters(change);
  return (
    <Popover open={open} onOpenChange={setOpen} label="Range" trigger={<Button size="sm" icon={Clock}>{rangeLabel(filters)}</Button>}>
      <div className="space-y-3">
        <Segmented full size="sm" label="Days" value={filters.start_date || filters.end_date ? "" : filters.days} options={RANGES} onChange={(days) => (change({ days, start_date: null, end_date: null }), setOpen(false))} />
        <Pair>
          <Field label="From"><Input type="date" max={filters.end_date || isoDay(new Date())} value={filters.start_date} onChange={(event) => change({ start_date: event.target.value })} /></Field>
          <Field label="To"><Input type="date" min={filters.start_date} value={filters.end_date} onChange={(event) => change({ end_date: event.target.value })} /></Field>
        </Pair>
        <p className="text-small text-ink-3">Whole days in {zoneLabel()}.</p>
      </div>
    </Popover>
  );
}

/** Search, range and filters; all of them are in the URL and work on the server. */
export function AuditFilters({ filters, setFilters, stats, rows }: { filters: Filters; setFilters: SetFilters; stats: Stats | null | undefined; rows: readonly Entry[] }) {
  const [added, setAdded] = useState<MoreName[]>([]);
  const chip = (name: keyof Filters, label: string, extra: { options?: string[] | { value: string; label: string }[]; placeholder?: string; display?: string } = {}) => (
    <FilterChip key={name} label={label} value={filters[name]} onChange={(value) => setFilters({ [name]: value })} {...extra} {...(extra.options && !extra.options.length ? { options: undefined } : {})} />
  );
  const options: Record<MoreName, string[] | { value: string; label: string }[] | undefined> = {
    provider: Object.keys(stats?.by_provider ?? {}),
    method: ["POST", "GET", "DELETE"],
    path: distinct(rows.map((row) => row.path)),
    stream: [{ value: "true", label: "streamed" }, { value: "false", label: "not streamed" }],
    session_id: undefined,
    error_type: distinct(rows.map((row) => row.error_type)),
  };
  const shown = (Object.keys(MORE) as MoreName[]).filter((name) => filters[name] || added.includes(name));
  const hidden = (Object.keys(MORE) as MoreName[]).filter((name) => !shown.includes(name));
  const keys = new Map(rows.filter((row) => row.auth_key_id).map((row) => [row.auth_key_id!, row.auth_key_name ?? `…${row.auth_key_id!.slice(-6)}`]));
  const sort = SORTS.find((each) => each.value === filters.sort) ?? SORTS[0]!;
  return (
    <FilterBar
      end={
        <>
          <Menu label="Order" items={SORTS.map((each) => ({ label: each.label, run: () => setFilters({ sort: each.value }) }))}>
            <button type="button" className="rounded-sm text-ink-2 hover:text-ink">{sort.label}</button>
          </Menu>
          <span title="Time zone of the list">{zoneLabel()}</span>
        </>
      }
    >
      <SearchInput label="Request id, model, path, error" value={filters.search} onChange={(search) => setFilters({ search })} />
      <RangeChip filters={filters} setFilters={setFilters} />
      {chip("status", "Status", { options: [...OUTCOMES, ...distinct([...Object.keys(stats?.by_status ?? {}), /^\d/.test(filters.status) ? filters.status : ""]).map((value) => ({ value, label: value }))] })}
      {chip("requested_model", "Model", { options: distinct([...rows.map((row) => row.requested_model), filters.requested_model]) })}
      {chip("user_path", "Path", { placeholder: "/team/app" })}
      {chip("auth_key_id", "Key", { options: [...keys].map(([value, label]) => ({ value, label })), placeholder: "Id of a key", display: keys.get(filters.auth_key_id) })}
      {shown.map((name) => chip(name, MORE[name], { options: options[name] as string[] | undefined }))}
      {hidden.length > 0 && (
        <Menu label="Add a filter" align="start" items={hidden.map((name) => ({ label: MORE[name], run: () => setAdded([...added, name]) }))}>
          <button type="button" className="inline-flex h-7 items-center gap-1.5 rounded-md border border-dashed border-line-strong pr-2.5 pl-2 text-small text-ink-2 hover:border-line-control hover:text-ink phone:h-10">
            <Plus aria-hidden className="size-3.5 text-ink-3" />
            Filter
          </button>
        </Menu>
      )}
    </FilterBar>
  );
}
