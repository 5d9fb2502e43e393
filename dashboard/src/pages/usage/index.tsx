import { useNavigate } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { useCallback } from "react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { buttonClass } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { EmptyState, ErrorNote, NoMatch } from "@/components/EmptyState";
import { FilterChip } from "@/components/FilterChip";
import { SearchInput } from "@/components/Input";
import { Segmented } from "@/components/Segmented";
import { Table } from "@/components/Table";
import { Tabs } from "@/components/Tabs";
import { count, isoDay, zoneLabel } from "@/format";
import { RangePicker } from "../overview/RangePicker";
import { UsageChart } from "./Chart";
import { csvOf, rangeOf, useBreakdown, useCalls, useKeyName, useSeries, useUnpriced, type Group, type Metric } from "./queries";
import { CALL_COLUMNS, groupColumns, UNPRICED_COLUMNS, valueOf } from "./tables";

const DAYS = [
  { value: "1", label: "1 d" },
  { value: "7", label: "7 d" },
  { value: "30", label: "30 d" },
  { value: "90", label: "90 d" },
] as const;
const VIEWS = [
  { value: "model", label: "Models" },
  { value: "provider", label: "Providers" },
  { value: "user_path", label: "Paths" },
  { value: "auth_key", label: "Keys" },
  { value: "unpriced", label: "Unpriced" },
  { value: "calls", label: "Calls" },
] as const;
const EMPTY = (
  <EmptyState small title="No calls in this range">
    Choose a longer range, or make a call in the playground.
  </EmptyState>
);

/** Cost, requests and tokens by model, provider, path and key, against the period before; and the calls behind them. */
export default function UsagePage() {
  const navigate = useNavigate();
  const session = useSession();
  const defaults = { days: "30", start: "", end: "", user_path: "", model: "", provider: "", key: "", by: "model", metric: "cost", search: "" };
  const [filters, setFilters] = useFilters(defaults, {
    days: DAYS.map((each) => each.value),
    by: VIEWS.map((each) => each.value),
    metric: ["cost", "requests", "tokens"],
  });
  const grouped = !["unpriced", "calls"].includes(filters.by);
  const by = (grouped ? filters.by : "model") as Group;
  const breakdown = useBreakdown(filters, by, grouped);
  const series = useSeries(filters, by, filters.metric as Metric, grouped);
  const unpriced = useUnpriced(filters, filters.by === "unpriced");
  const calls = useCalls(filters, filters.search, filters.by === "calls");
  const rows = breakdown.data?.entries ?? [];
  const keyNames = JSON.stringify(rows.flatMap((row) => (row.auth_key_id && row.auth_key_name ? [[row.auth_key_id, row.auth_key_name]] : [])));
  const nameOf = useCallback(
    (value: string) => (by === "auth_key" ? (new Map<string, string>(JSON.parse(keyNames)).get(value) ?? (value || "master key")) : value || "refused"),
    [by, keyNames],
  );
  const foundName = useKeyName(filters.key, !grouped && session.can("admin:auth-keys:read"));
  const keyName = rows.find((row) => row.auth_key_id === filters.key)?.auth_key_name ?? foundName;
  const { first, last } = rangeOf(filters);
  const total = rows.reduce((sum, row) => sum + (row.total_cost ?? 0), 0);
  const kept = {
    days: filters.days,
    start: filters.start,
    end: filters.end,
    user_path: filters.user_path,
    model: filters.model,
    provider: filters.provider,
    key: filters.key,
  };
  const filtered = Boolean(filters.user_path || filters.model || filters.provider || filters.key || filters.search);
  const csv = csvOf(filters, by);
  const none = filtered ? (
    <NoMatch what="calls" onClear={() => setFilters({ user_path: null, model: null, provider: null, key: null, search: null })} />
  ) : (
    EMPTY
  );
  const range = (
    <Segmented label="Range" value={filters.start ? "" : filters.days} onChange={(days) => setFilters({ days, start: null, end: null })} options={DAYS} />
  );
  return (
    <Page
      title="Usage"
      toolbar={
        <>
          {range}
          <RangePicker first={`${first}T12:00:00Z`} last={`${last}T12:00:00Z`} onChange={(start, end) => setFilters({ start, end })} />
        </>
      }
      actions={
        <>
          <span className="text-small text-ink-3 phone:hidden">days in {zoneLabel()}</span>
          <span className="phone:hidden">
            <CopyAs call={{ method: "GET", path: csv }} />
          </span>
          <a href={csv} download className={buttonClass({})}>
            <Download aria-hidden className="text-ink-3" />
            CSV
          </a>
        </>
      }
    >
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <span className="hidden phone:block">{range}</span>
        <FilterChip label="Path" value={filters.user_path} onChange={(user_path) => setFilters({ user_path })} placeholder="/search" />
        <FilterChip label="Model" value={filters.model} onChange={(model) => setFilters({ model })} />
        <FilterChip label="Provider" value={filters.provider} onChange={(provider) => setFilters({ provider })} placeholder="Name or type" />
        <FilterChip
          label="Key"
          value={filters.key}
          onChange={(key) => setFilters({ key })}
          placeholder="Id of a key"
          display={keyName}
        />
      </div>
      {grouped &&
        (series.error && !series.data ? (
          <div className="rounded-lg border border-line bg-surface">
            <ErrorNote error={series.error} onRetry={() => void series.refetch()} />
          </div>
        ) : (
          <UsageChart
            rows={rows}
            complete={rows.length === (breakdown.data?.total ?? 0)}
            series={series}
            metric={filters.metric as Metric}
            onMetric={(metric) => setFilters({ metric })}
            running={last === isoDay(Date.now())}
            nameOf={nameOf}
            onZoom={(from, to) => setFilters({ start: isoDay(from * 1000), end: isoDay(to * 1000) }, { push: true })}
          />
        ))}
      <section className={`overflow-hidden rounded-lg border border-line bg-surface ${grouped ? "mt-4" : ""}`}>
        <Tabs
          label="Grouped by"
          className="px-4"
          value={filters.by as (typeof VIEWS)[number]["value"]}
          onChange={(next) => setFilters({ by: next })}
          tabs={VIEWS}
        />
        {grouped && (
          <Table
            label={`Usage by ${by}`}
            rows={rows}
            columns={groupColumns(by, total, kept, nameOf)}
            rowKey={(row) => `${row.provider_name ?? ""}/${valueOf(row, by)}`}
            loading={breakdown.isPending}
            error={breakdown.error}
            onRetry={() => void breakdown.refetch()}
            empty={none}
          />
        )}
        {filters.by === "unpriced" && (
          <Table
            label="Models without a price"
            rows={unpriced.data ?? []}
            columns={UNPRICED_COLUMNS}
            rowKey={(row) => `${row.provider_name}/${row.model}`}
            loading={unpriced.isPending}
            error={unpriced.error}
            onRetry={() => void unpriced.refetch()}
            empty={
              <EmptyState small title="Every call has a price">
                Models that are used without a price would be listed here; their calls are not counted as $0.
              </EmptyState>
            }
          />
        )}
        {filters.by === "calls" && (
          <>
            <div className="border-b border-line px-4 py-2.5">
              <SearchInput label="Search calls" value={filters.search} onChange={(search) => setFilters({ search })} />
            </div>
            <Table
              label="Calls"
              rows={calls.rows}
              columns={CALL_COLUMNS}
              rowKey={(row) => row.id}
              loading={calls.isPending}
              error={calls.error}
              onRetry={() => void calls.refetch()}
              hasMore={calls.hasNextPage}
              onEnd={calls.loadMore}
              onOpen={session.can("admin:audit:read") ? (row) => void navigate({ to: "/audit", search: { open: row.request_id } }) : undefined}
              empty={none}
            />
          </>
        )}
      </section>
      {grouped && breakdown.data && rows.length > 0 && (
        <p className="num px-4 py-2 text-small text-ink-3">
          {count(rows.length)} of {count(breakdown.data.total)}
        </p>
      )}
      {filters.by === "calls" && calls.rows.length > 0 && (
        <p className="num px-4 py-2 text-small text-ink-3">
          {count(calls.rows.length)} of {count(calls.pages[0]?.total)}
        </p>
      )}
    </Page>
  );
}
