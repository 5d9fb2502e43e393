import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Schema } from "@/api/client";
import { LineChart } from "@/components/charts/LineChart";
import { EmptyState } from "@/components/EmptyState";
import { Bar } from "@/components/LimitBar";
import { Panel } from "@/components/Panel";
import { healthKind, httpKind, Status, StatusIcon } from "@/components/Status";
import { Table, type Column } from "@/components/Table";
import { clock, count, day, duration, money, NONE, percent, time } from "@/format";
import type { ErrorEvent, Range, Usage } from "./queries";

/** Latency of whole answers over time. */
export function LatencyPanel({ usage, range }: { usage: Usage; range: Range }) {
  const times = useMemo(() => usage.periods.map((period) => Date.parse(period.at) / 1000), [usage]);
  const series = useMemo(() => (["p95", "p50"] as const).map((name) => ({ name, values: usage.series.find((each) => each.name === name)?.values ?? [], tone: name === "p50" ? ("strong" as const) : ("normal" as const) })), [usage]);
  const hourly = usage.interval === "hourly";
  const known = series.some((each) => each.values.some((value) => value !== null));
  return (
    <Panel title="Latency" sub="whole answer" go={{ label: "Slowest calls", to: "/audit", search: { sort: "-duration", days: range.days } }}>
      <div className="px-4 pb-2">
        {known ? (
          <LineChart label={`Latency per ${hourly ? "hour" : "day"}: p50 and p95`} times={times} series={series} format={duration} axisFormat={(v) => (v === 0 ? "0 s" : v < 1000 ? `${v} ms` : `${v / 1000} s`)} timeLabel={(s) => (hourly ? clock(s * 1000) : day(s * 1000))} lastLabel={range.end ? undefined : hourly ? "Now" : "Today"} endWidth={84} peak />
        ) : (
          <EmptyState small title="No calls in this range">Latency is drawn from the first call on.</EmptyState>
        )}
      </div>
    </Panel>
  );
}

/** Cost by user path. */
export function PathsPanel({ usage, range }: { usage: Usage; range: Range }) {
  const paths = [...usage.user_paths].sort((a, b) => (b.total_cost ?? 0) - (a.total_cost ?? 0)).slice(0, 5);
  const most = Math.max(...paths.map((path) => path.total_cost ?? 0), 0);
  const total = usage.totals.total_cost ?? 0;
  return (
    <Panel title="Cost by path" go={{ label: "Usage", to: "/usage", search: { days: range.days, by: "user_path" } }}>
      {paths.length ? (
        <ul className="px-4 pb-2">
          {paths.map((path) => (
            <li key={path.user_path} className="py-[5px]">
              <div className="mb-1 flex items-baseline gap-2">
                <Link to="/usage" search={{ days: range.days, user_path: path.user_path }} className="truncate hover:underline">
                  {path.user_path}
                </Link>
                <span className="num ml-auto font-medium">{money(path.total_cost)}</span>
                <span className="num w-9 text-right text-small text-ink-3">{percent(total ? (path.total_cost ?? 0) / total : null, 0)}</span>
              </div>
              <Bar share={most ? (path.total_cost ?? 0) / most : 0} />
            </li>
          ))}
        </ul>
      ) : (
        <EmptyState small title="No calls in this range">Calls are booked on the path of their key.</EmptyState>
      )}
    </Panel>
  );
}

/** Health of the providers, trouble first. */
export function ProvidersPanel({ providers }: { providers: Schema<"StatusView">[] }) {
  const order = ["bad", "warn", "unknown", "ok", "paused", "out"];
  const sorted = [...providers].sort((a, b) => order.indexOf(healthKind(a.health.state)) - order.indexOf(healthKind(b.health.state)) || a.name.localeCompare(b.name)).slice(0, 5);
  return (
    <Panel title="Providers" sub="first byte, average" go={{ label: providers.length > 5 ? `All ${providers.length}` : "Providers", to: "/providers" }}>
      <ul className="pb-1">
        {sorted.map(({ name, health }) => {
          const kind = healthKind(health.state);
          const open = health.breaker === "open";
          return (
            <li key={name} className="grid h-9 grid-cols-[minmax(0,1fr)_auto] items-center gap-3 border-line px-4 not-first:border-t">
              <span className="flex min-w-0 items-center gap-1.5">
                <StatusIcon kind={kind} />
                <Link to="/providers" search={{ open: name }} className="truncate font-medium hover:underline">
                  {name}
                </Link>
                {kind !== "ok" && <span className="truncate text-small text-ink-3" title={health.last_error ?? undefined}>{open ? "breaker open" : health.state}</span>}
                {kind === "ok" && <span className="sr-only">ok</span>}
              </span>
              <span className={`num text-right ${kind === "ok" ? "text-ink-2" : "font-medium"}`}>{open ? NONE : duration(health.latency_ewma_ms)}</span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

const COLUMNS: Column<ErrorEvent>[] = [
  { key: "time", title: "Time", cell: (row) => <span className="num text-ink-2">{time(row.at)}</span>, phone: "sub" },
  { key: "status", title: "Status", cell: (row) => <Status kind={httpKind(row.status)}><span className="num">{row.status}</span></Status>, phone: "end" },
  { key: "path", title: "Path", cell: (row) => row.user_path ?? NONE, phone: "sub" },
  { key: "model", title: "Model", cell: (row) => <span className="text-ink-2">{row.requested_model || NONE}</span>, phone: "title" },
  { key: "why", title: "Why", cell: (row) => <span className="text-ink-2">{row.error_message ?? row.error_code ?? NONE}</span> },
];

/** The latest failed calls. */
export function ErrorsPanel({ errors, usage, range, onOpen }: { errors: ErrorEvent[]; usage: Usage | null; range: Range; onOpen: (row: ErrorEvent) => void }) {
  return (
    <Panel title="Recent errors" sub={usage ? `${count(usage.totals.errors)} in range` : undefined} go={{ label: "All errors", to: "/audit", search: { status: "error", days: range.days } }} className="overflow-hidden">
      <Table label="Recent errors" rows={errors.slice(0, 5)} columns={COLUMNS} rowKey={(row) => row.request_id} onOpen={onOpen} rowHeight={32} bare empty={<EmptyState small title="No errors">Failed calls of this process appear here.</EmptyState>} />
    </Panel>
  );
}
