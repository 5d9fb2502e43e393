import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Schema } from "@/api/client";
import { LineChart } from "@/components/charts/LineChart";
import { Sparkline } from "@/components/charts/Sparkline";
import { EmptyState } from "@/components/EmptyState";
import { Bar } from "@/components/LimitBar";
import { Panel } from "@/components/Panel";
import { healthKind, httpKind, Status, StatusIcon } from "@/components/Status";
import { clock, count, day, duration, money, NONE, percent, plural, time } from "@/format";
import { timeAxis, valuesOf } from "./figures";
import { rangeSearch, type ErrorEvent, type Range, type Usage } from "./queries";

/** Latency of whole answers over time. */
export function LatencyPanel({ usage, range }: { usage: Usage; range: Range }) {
  const times = useMemo(() => usage.periods.map((period) => Date.parse(period.at) / 1000), [usage]);
  const series = useMemo(() => (["p95", "p50"] as const).map((name) => ({ name, values: valuesOf(usage, name), tone: name === "p50" ? ("strong" as const) : ("normal" as const) })), [usage]);
  const hourly = usage.interval === "hourly";
  const known = series.some((each) => each.values.some((value) => value !== null));
  return (
    <Panel title="Latency" sub="whole answer" go={{ label: "Slowest calls", to: "/audit", search: { ...rangeSearch(range), sort: "-duration" } }}>
      <div className="px-4 pb-2">
        {known ? (
          <LineChart label={`Latency per ${hourly ? "hour" : "day"}: p50 and p95`} times={times} series={series} format={duration} axisFormat={timeAxis} timeLabel={(s) => (hourly ? clock(s * 1000) : day(s * 1000))} lastLabel={range.end ? undefined : hourly ? "Now" : "Today"} endWidth={84} peak />
        ) : (
          <EmptyState small title="No calls in this range">Latency appears after the first call.</EmptyState>
        )}
      </div>
    </Panel>
  );
}

/** Cost by user path. */
export function PathsPanel({ usage, range }: { usage: Usage; range: Range }) {
  const paths = usage.user_paths_by_cost.slice(0, 5);
  const most = Math.max(...paths.map((path) => path.total_cost ?? 0), 0);
  const total = usage.totals.total_cost ?? 0;
  return (
    <Panel title="Cost by path" go={{ label: "Usage", to: "/usage", search: { ...rangeSearch(range), by: "user_path" } }}>
      {paths.length ? (
        <ul className="px-4 pb-2">
          {paths.map((path) => (
            <li key={path.user_path} className="py-[5px]">
              <Link to="/usage" search={{ ...rangeSearch(range), user_path: path.user_path || "/" } as never} className="group mb-1 flex items-baseline gap-2 rounded-sm">
                <span className="truncate group-hover:underline">{path.user_path || "/"}</span>
                <span className="num ml-auto font-medium">{money(path.total_cost)}</span>
                <span className="num w-9 text-right text-small text-ink-3">{percent(total ? (path.total_cost ?? 0) / total : null, 0)}</span>
              </Link>
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

const ORDER = ["bad", "warn", "unknown", "ok", "paused", "out"];
const mean = (values: (number | null)[]) => {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

/** Health of the providers, trouble first. */
export function ProvidersPanel({ providers }: { providers: Schema<"StatusView">[] }) {
  const rank = (provider: Schema<"StatusView">) => ORDER.indexOf(healthKind(provider.health.state));
  const sorted = [...providers].sort((a, b) => rank(a) - rank(b) || (b.calls_last_hour ?? 0) - (a.calls_last_hour ?? 0) || a.name.localeCompare(b.name)).slice(0, 5);
  return (
    <Panel title="Providers" sub="first byte, last hour" go={{ label: providers.length > 5 ? `All ${providers.length}` : "Providers", to: "/providers" }}>
      <ul className="pb-1">
        {sorted.map(({ name, health, series, calls_last_hour, errors_last_hour }) => {
          const kind = healthKind(health.state);
          const open = health.breaker === "open";
          const said = open ? "breaker open" : kind === "ok" ? "" : health.state.replaceAll("_", " ");
          return (
            <li key={name} className="border-line not-first:border-t">
              <Link to="/providers" search={{ open: name } as never} title={health.last_error ?? (calls_last_hour == null ? undefined : `${plural(calls_last_hour, "call")} in the last hour, ${plural(errors_last_hour ?? 0, "error")}`)} className="grid h-9 grid-cols-[minmax(0,1fr)_auto_64px] items-center gap-3 px-4 hover:bg-hover">
                <span className="flex min-w-0 items-center gap-1.5">
                  <StatusIcon kind={kind} />
                  <span className="truncate font-medium">{name}</span>
                  <span className={said ? "truncate text-small text-ink-3" : "sr-only"}>{said || "ok"}</span>
                </span>
                <Sparkline values={series?.first_byte_ms ?? []} width={64} tone={kind === "warn" ? "warn" : kind === "bad" ? "bad" : undefined} />
                <span className={`num text-right ${kind === "ok" ? "text-ink-2" : "font-medium"}`}>{open ? NONE : duration(mean(series?.first_byte_ms ?? []))}</span>
              </Link>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

/** The reason in words; the console never carries message texts. */
function why({ error_code, provider_name, attempts }: ErrorEvent): string {
  const code = error_code?.replaceAll("_", " ");
  const words = code ? code.charAt(0).toUpperCase() + code.slice(1) : "Failed";
  return [provider_name ? `${provider_name}: ${words.toLowerCase()}` : words, attempts > 1 ? `${attempts} attempts` : ""].filter(Boolean).join(", ");
}

/** The latest failed calls; each leads to its entry in the audit log. */
export function ErrorsPanel({ errors, usage, range }: { errors: ErrorEvent[]; usage: Usage | null; range: Range }) {
  return (
    <Panel title="Recent errors" sub={usage ? `${count(usage.totals.errors)} in range` : undefined} go={{ label: "All errors", to: "/audit", search: { ...rangeSearch(range), status: "error" } }} className="overflow-hidden">
      {errors.length ? (
        <ul className="pb-1">
          {errors.slice(0, 5).map((row) => (
            <li key={row.request_id}>
              <Link to="/audit" search={{ open: row.request_id } as never} className="grid h-8 grid-cols-[64px_64px_minmax(0,1fr)_minmax(0,1fr)_minmax(0,2fr)] items-center gap-4 px-4 hover:bg-hover phone:h-auto phone:grid-cols-[auto_minmax(0,1fr)_auto] phone:gap-x-3 phone:py-2">
                <span className="num text-ink-2">{time(row.at)}</span>
                <Status kind={httpKind(row.status)}><span className="num">{row.status}</span></Status>
                <span className="truncate">{row.user_path || NONE}</span>
                <span className="truncate text-ink-2 phone:col-span-2">{row.requested_model || NONE}</span>
                <span className="truncate text-ink-2 phone:text-small">{why(row)}</span>
              </Link>
            </li>
          ))}
        </ul>
      ) : (
        <EmptyState small title="No errors since the gateway started">Earlier ones are in the audit log.</EmptyState>
      )}
    </Panel>
  );
}
