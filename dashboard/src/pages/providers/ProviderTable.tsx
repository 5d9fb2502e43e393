import { Link } from "@tanstack/react-router";
import { Eye, FlaskConical, Lock, ScrollText, Search, Server } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "@/components/Button";
import { Sparkline, TickBars } from "@/components/charts/Sparkline";
import { cx } from "@/components/cx";
import { EmptyState } from "@/components/EmptyState";
import { Menu } from "@/components/Menu";
import { healthKind, Mark, Status } from "@/components/Status";
import { Table, type Column } from "@/components/Table";
import { count, duration, NONE, percent, plural } from "@/format";
import { breakerText, quietText, reasonOf, SOURCES, stateWord } from "./health";
import type { ProviderStatus } from "./queries";

const kindOf = (row: ProviderStatus) => (row.enabled ? healthKind(row.health.state) : "paused");
const points = (row: ProviderStatus) => row.series?.first_byte_ms.filter((value) => value !== null).length ?? 0;

/** Sums of five minutes each, as red bars. */
const perFive = (errors: readonly number[]) =>
  Array.from({ length: Math.ceil(errors.length / 5) }, (_, i) => {
    const value = errors.slice(i * 5, i * 5 + 5).reduce((sum, each) => sum + each, 0);
    return { value, bad: value };
  });

const COLUMNS: Column<ProviderStatus>[] = [
  { key: "name", title: "Name", phone: "title", cell: (row) => <span className="flex min-w-0 items-center gap-2.5"><span className="phone:hidden"><Mark name={row.type} /></span><span className="max-w-64 truncate" title={row.name}><span className="font-medium">{row.name}</span>{row.type !== row.name && <span className="ml-1 text-ink-2 phone:hidden">{row.type}</span>}</span></span> },
  { key: "health", title: "Health", phone: "end", cell: (row) => <Status kind={kindOf(row)}>{stateWord(row.health.state, row.enabled)}</Status> },
  { key: "breaker", title: "Breaker", phone: "sub", cell: (row) => <span className={breakerText(row) === "Closed" ? "text-ink-2" : "font-medium"}>{breakerText(row)}</span> },
  {
    key: "spark",
    title: "First byte, last hour",
    className: "min-w-44",
    cell: (row) => (points(row) > 1 ? <Sparkline values={row.series?.first_byte_ms ?? []} tone={kindOf(row) === "warn" ? "warn" : kindOf(row) === "bad" ? "bad" : undefined} width={158} height={20} /> : <span className="text-ink-3">{quietText(row)}</span>),
  },
  { key: "now", title: "Now", align: "right", phone: "subEnd", cell: (row) => (row.health.breaker === "open" ? NONE : duration(row.health.latency_ewma_ms)) },
  {
    key: "errors",
    title: "Errors",
    align: "right",
    cell: (row) => (
      <span className="inline-flex items-center justify-end gap-2">
        {Boolean(row.errors_last_hour) && <span className="w-11"><TickBars height={14} label={`${plural(row.errors_last_hour ?? 0, "failed call")} in the last hour, per 5 minutes`} bars={perFive(row.series?.errors ?? [])} /></span>}
        <Link to="/audit" search={{ provider: row.name, status: "error", days: "1" }} title="Failed calls in the audit log" className={cx("hover:underline", row.health.error_rate >= 0.02 ? "font-medium" : "text-ink-2")}>
          {percent(row.health.error_rate, row.health.error_rate === 1 ? 0 : 1)}
        </Link>
      </span>
    ),
  },
  { key: "flight", title: "In flight", align: "right", cell: (row) => <span className="text-ink-2">{row.health.in_flight == null ? "–" : count(row.health.in_flight)}</span> },
  { key: "models", title: "Models", align: "right", cell: (row) => <Link to="/models" search={{ provider: row.name }} className="text-ink-2 hover:underline">{count(row.health.model_count)}</Link> },
  { key: "from", title: "From", cell: (row) => <span className="inline-flex items-center gap-1.5 text-ink-2">{row.source !== "admin" && <Lock aria-hidden className="size-3.5 text-ink-3" />}{SOURCES[row.source] ?? row.source}</span> },
];

type Actions = { onOpen: (name: string) => void; onTest: (name: string) => void; onDiscover: (name: string) => void; onCalls: (name: string) => void; testing: string | null; writable: boolean };

/** Providers with health; the reason of trouble and what can be done stand under the row. */
export function ProviderTable({ rows, loading, error, onRetry, add, open, actions }: { rows: ProviderStatus[]; loading: boolean; error: unknown; onRetry: () => void; add: ReactNode; open: string | null; actions: Actions }) {
  const detail = (row: ProviderStatus) => {
    const reason = reasonOf(row);
    if (!reason) return null;
    const failed = row.errors_last_hour;
    return (
      <div className={cx("mb-1 ml-[30px] flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1.5 rounded-md px-3 py-1 text-small phone:mx-3 phone:mb-3", reason.kind === "bad" ? "bg-bad-soft" : "bg-warn-soft")}>
        <span className="min-w-0 flex-1 whitespace-normal [overflow-wrap:anywhere] phone:flex-none phone:basis-full">{reason.text}</span>
        {actions.writable && (
          <Button size="sm" busy={actions.testing === row.name} onClick={() => actions.onTest(row.name)}>
            Test now
          </Button>
        )}
        <Link to="/audit" search={{ provider: row.name, status: "error", days: "1" }} className="link phone:grid phone:min-h-10 phone:place-items-center">
          {failed ? plural(failed, "failed call") : "Failed calls"}
        </Link>
      </div>
    );
  };
  return (
    <Table
      label="Providers"
      rows={rows}
      columns={COLUMNS}
      rowHeight={40}
      rowKey={(row) => row.name}
      loading={loading}
      error={error}
      onRetry={onRetry}
      onOpen={(row) => actions.onOpen(row.name)}
      selected={open}
      detail={detail}
      empty={
        <EmptyState icon={Server} title="No providers yet" actions={add}>
          A provider is an account at a model vendor, or a server of your own. Calls go nowhere until there is one.
        </EmptyState>
      }
      actions={(row) => (
        <Menu
          label={`Actions for ${row.name}`}
          items={[
            { label: "Open", icon: Eye, run: () => actions.onOpen(row.name) },
            { label: "Calls", icon: ScrollText, run: () => actions.onCalls(row.name) },
            ...(actions.writable
              ? (["separator", { label: "Test connection", icon: FlaskConical, run: () => actions.onTest(row.name) }, { label: "Discover models", icon: Search, run: () => actions.onDiscover(row.name) }] as const)
              : []),
          ]}
        />
      )}
    />
  );
}
