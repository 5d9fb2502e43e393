import { Link, Navigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { ErrorNote } from "@/components/EmptyState";
import { Note } from "@/components/Note";
import { Segmented } from "@/components/Segmented";
import { Select } from "@/components/Select";
import { SkeletonRows } from "@/components/Skeleton";
import { Live } from "@/components/Status";
import { asOf, isoDay } from "@/format";
import { FIGURES, type FigureName } from "./figures";
import { Hero } from "./Hero";
import { ErrorsPanel, LatencyPanel, PathsPanel, ProvidersPanel } from "./Panels";
import { usageOf, useOverview } from "./queries";
import { RangePicker } from "./RangePicker";
import { RatePanel, useRate } from "./Rate";

const DAYS = [{ value: "1", label: "Today" }, { value: "7", label: "7 d" }, { value: "30", label: "30 d" }, { value: "90", label: "90 d" }] as const;

/** Key figures of a range against the one before, health, live rate and errors. */
export default function OverviewPage() {
  const session = useSession();
  const [filters, setFilters] = useFilters({ days: "30", start: "", end: "", path: "", figure: "cost", guide: "" }, { days: DAYS.map((each) => each.value), figure: FIGURES.map((each) => each.name) });
  const overview = useOverview(filters);
  const rate = useRate(session.can("admin:console:read"));
  const usage = useMemo(() => usageOf(overview.data), [overview.data]);
  const unconfigured = overview.data?.providers.every((provider) => provider.type === "demo") === true && session.can("admin:providers:write");
  const paths = usage?.user_paths.map((path) => path.user_path) ?? [];

  const ranges = <Segmented label="Range" value={filters.start ? "" : filters.days} onChange={(days) => setFilters({ days, start: null, end: null })} options={DAYS} />;
  const pathFilter = <Select look="bar" aria-label="User path" value={filters.path} onChange={(path) => setFilters({ path })} options={[{ value: "", label: "All paths" }, ...[...new Set([...(filters.path ? [filters.path] : []), ...paths])].map((path) => ({ value: path, label: path }))]} />;
  const zoom = (from: number, to: number) => setFilters({ start: isoDay(from * 1000), end: isoDay(to * 1000) }, { push: true });

  if (unconfigured && usage?.totals.requests === 0 && !filters.guide) return <Navigate to="/start" replace />;
  return (
    <Page
      title="Overview"
      toolbar={
        <>
          {ranges}
          <RangePicker first={usage?.periods[0]?.at} last={usage?.periods.at(-1)?.at} onChange={(start, end) => setFilters({ start, end })} />
          {pathFilter}
        </>
      }
      actions={
        <>
          {overview.data && <span className="num text-small text-ink-3 phone:hidden">{asOf(overview.data.as_of)}</span>}
          <Live on={rate.state === "live"} />
        </>
      }
    >
      <div className="mb-3 hidden gap-2 phone:flex">
        {ranges}
        {pathFilter}
      </div>
      {unconfigured && <Note kind="accent" className="mb-3" action={<Link to="/start" className="link whitespace-nowrap">Open the guide</Link>}>No provider is configured: only the demo model answers.</Note>}
      {overview.error && !overview.data ? (
        <ErrorNote error={overview.error} onRetry={() => void overview.refetch()} />
      ) : !overview.data ? (
        <div className="rounded-lg border border-line bg-surface">
          <SkeletonRows rows={9} columns={6} />
        </div>
      ) : (
        <div className="grid grid-cols-3 gap-4 narrow:grid-cols-2 phone:grid-cols-1 phone:gap-3 [&>*]:min-w-0">
          {usage ? (
            <div className="col-span-full">
              <Hero usage={usage} figure={filters.figure as FigureName} onFigure={(figure) => setFilters({ figure })} range={filters} onZoom={zoom} />
            </div>
          ) : (
            <Note className="col-span-full">Figures need the scope <code>admin:usage:read</code>.</Note>
          )}
          {usage && <LatencyPanel usage={usage} range={filters} />}
          {usage && <PathsPanel usage={usage} range={filters} />}
          <ProvidersPanel providers={overview.data.providers} />
          <RatePanel rate={rate} inFlight={overview.data.in_flight} />
          {overview.data.recent_errors && (
            <div className="col-span-2 phone:col-span-1">
              <ErrorsPanel errors={overview.data.recent_errors} usage={usage} range={filters} />
            </div>
          )}
        </div>
      )}
    </Page>
  );
}
