import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowUp, Download, ScrollText } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { ApiError } from "@/api/errors";
import { Page } from "@/app/Page";
import { useShortcut } from "@/app/shortcuts";
import { Button, buttonClass, Kbd } from "@/components/Button";
import { cx } from "@/components/cx";
import { EmptyState, ErrorNote, NoMatch } from "@/components/EmptyState";
import { Menu } from "@/components/Menu";
import { Table, TableFoot } from "@/components/Table";
import { asOf, count, plural } from "@/format";
import { columnsFor } from "./columns";
import { AuditFilters } from "./Filters";
import { Inspector, type InspectorTab } from "./Inspector";
import { canFollow, useLiveTail } from "./live";
import { exportUrl, filtered, NO_CALL_FILTERS, useAuditFilters, useAuditLog, useAuditStats } from "./queries";
import { Summary } from "./Summary";

/** All audited calls: filters in the URL, histogram, live tail, and the inspector. */
export default function AuditPage() {
  const [filters, setFilters] = useAuditFilters();
  const log = useAuditLog(filters);
  const figures = useAuditStats(filters);
  const client = useQueryClient();
  const [tailing, setTailing] = useState(true);
  const [over, setOver] = useState(false);
  const scrolled = useScrolled();
  const follows = tailing && canFollow(filters);
  const live = useLiveTail(filters, follows, over || scrolled || filters.open !== "");
  useShortcut("l", () => setTailing(!tailing));

  const first = log.pages[0];
  const rows = useMemo(() => {
    const known = new Set(log.rows.map((row) => row.id));
    return [...live.shown.filter((row) => !known.has(row.id)), ...log.rows];
  }, [live.shown, log.rows]);
  const stats = figures.data?.stats;
  const columns = useMemo(() => columnsFor(stats?.p95_ms ? Math.max(stats.p95_ms, 1) : 0), [stats?.p95_ms]);

  // Enough to suggest values for filters, however long the list gets.
  const newest = useMemo(() => rows.slice(0, 500), [rows]);

  // The list beyond the newest calls would have a gap: it is read again.
  const full = live.shown.length >= 500;
  useEffect(() => {
    if (full) void client.resetQueries({ queryKey: ["audit"] });
  }, [full, client]);

  const at = filters.open === "" ? -1 : rows.findIndex((row) => row.id === filters.open || row.request_id === filters.open);
  const open = (id: string) => setFilters({ open: id }, { push: !filters.open });
  const step = (by: -1 | 1) => {
    const row = rows[at + by];
    if (row) open(row.id);
  };
  const showNew = () => {
    live.take();
    window.scrollTo({ top: 0 });
  };
  const off = log.error instanceof ApiError && log.error.unavailable;

  return (
    <Page
      flush
      title="Audit log"
      actions={
        <>
          <Menu label="Export" items={[{ label: "CSV, without bodies", run: () => download(exportUrl(filters, "csv")) }, { label: "JSON lines, whole entries", run: () => download(exportUrl(filters, "jsonl")) }]}>
            <Button look="quiet" icon={Download} className="phone:hidden">Export</Button>
          </Menu>
          <Button aria-pressed={follows} data-state={live.state} disabled={!canFollow(filters)} title={canFollow(filters) ? undefined : "The live tail needs newest first and a range that reaches today"} shortcut="L" onClick={() => setTailing(!tailing)}>
            <span aria-hidden className={cx("size-[7px] rounded-full", live.state === "live" ? (live.waiting ? "bg-warn" : "bg-ok") : "bg-line-control")} />
            {follows ? (live.state === "failed" ? "Not live" : "Live tail") : "Live tail off"}
          </Button>
        </>
      }
    >
      <AuditFilters filters={filters} setFilters={setFilters} stats={stats} rows={newest} />
      {!log.error && !figures.error && <Summary stats={stats} now={figures.dataUpdatedAt} filters={filters} setFilters={setFilters} />}
      {/* The bar belongs to it: on the way there, the list must not move. */}
      <div className="flex-1 bg-surface" onPointerEnter={(event) => event.pointerType === "mouse" && setOver(true)} onPointerLeave={() => setOver(false)}>
        <NewBar count={live.waiting} dropped={live.dropped} onShow={showNew} />
        {off ? (
          <ErrorNote error={log.error} title="The audit log is off" actions={<Link to="/settings" search={{ search: "LOGGING_ENABLED" } as never} className={buttonClass({})}>Open the setting</Link>} />
        ) : (
          <Table
            flush
            label="Calls"
            rows={rows}
            columns={columns}
            rowKey={(row) => row.id}
            loading={log.isPending}
            error={log.error}
            onRetry={() => void log.refetch()}
            onOpen={(row) => open(row.id)}
            selected={rows[at]?.id ?? null}
            sort={{ by: filters.sort.replace("-", ""), desc: filters.sort.startsWith("-") }}
            onSort={({ by, desc }) => setFilters({ sort: (desc ? "-" : "") + by })}
            hasMore={log.hasNextPage}
            onEnd={log.loadMore}
            empty={
              filtered(filters) ? (
                <NoMatch what="calls" onClear={() => setFilters(NO_CALL_FILTERS)}>No call in this range matches all filters.</NoMatch>
              ) : (
                <EmptyState icon={ScrollText} title="No calls in this range" actions={<Link to="/playground" className={buttonClass({ look: "primary" })}>Open the playground</Link>}>
                  Every call of the gateway appears here, the moment it ends. Make one in the playground, or choose a longer range.
                </EmptyState>
              )
            }
          />
        )}
      </div>
      {rows.length > 0 && (
        <TableFoot keys={<><Kbd>J</Kbd><Kbd>K</Kbd> move <Kbd>↵</Kbd> open <Kbd>/</Kbd> search <Kbd>L</Kbd> live</>}>
          <span>{count(rows.length)}{first?.total != null && ` of ${first.total_is_exact === false ? "more than " : ""}${count(first.total + rows.length - log.rows.length)}`}</span>
          <span>{log.isFetchingNextPage ? "Reading more" : log.hasNextPage ? "Scroll for more" : "All shown"}</span>
          {first?.search_truncated && <span>The search stopped after 200,000 calls; scroll to go on.</span>}
          {log.dataUpdatedAt > 0 && <span className="phone:hidden">{asOf(log.dataUpdatedAt)}{stats?.truncated && ", figures of the newest 100,000"}</span>}
        </TableFoot>
      )}
      {filters.open && <Inspector id={filters.open} known={rows[at]} tab={filters.tab as InspectorTab} onTab={(tab) => setFilters({ tab })} onClose={() => setFilters({ open: null, tab: null })} onStep={at >= 0 ? step : undefined} onOpen={open} />}
    </Page>
  );
}

function NewBar({ count: waiting, dropped, onShow }: { count: number; dropped: number; onShow: () => void }) {
  return (
    <div role="status" className={cx("sticky top-[52px] z-5", waiting + dropped > 0 && "border-b border-accent-line bg-accent-soft")}>
      {waiting > 0 && (
        <button type="button" onClick={onShow} className="flex min-h-8 w-full items-center justify-center gap-2 text-small phone:min-h-10">
          <ArrowUp aria-hidden className="size-3.5 text-accent-ink" />
          <b className="num font-medium text-accent-ink">{plural(waiting, "new call")}</b>
          <span className="text-ink-2 phone:hidden">paused while you read</span>
        </button>
      )}
      {dropped > 0 && <p className="py-1.5 text-center text-small text-ink-2">{plural(dropped, "call")} came too fast to follow; reload the list to see them.</p>}
    </div>
  );
}

function useScrolled(): boolean {
  const [scrolled, setScrolled] = useState(false);
  useEffect(() => {
    const onScroll = () => setScrolled(window.scrollY > 160);
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => window.removeEventListener("scroll", onScroll);
  }, []);
  return scrolled;
}

function download(url: string) {
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  link.click();
}
