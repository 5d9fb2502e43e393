import { useNavigate } from "@tanstack/react-router";
import { Activity, ArrowUp, CirclePause, CirclePlay, Eraser } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useFilters } from "@/app/filters";
import { FilterBar, Page } from "@/app/Page";
import { useShortcut } from "@/app/shortcuts";
import { Button, Kbd } from "@/components/Button";
import { cx } from "@/components/cx";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { Segmented } from "@/components/Segmented";
import { Live } from "@/components/Status";
import { Table, TableFoot } from "@/components/Table";
import { plural, zoneLabel } from "@/format";
import { COLUMNS } from "./columns";
import { Minute } from "./Minute";
import { isRequest, KINDS, textOfEvent, useConsole, type ConsoleEvent } from "./events";

const OPTIONS = [{ value: "", label: "All" }, { value: "request", label: "Requests" }, { value: "fallback", label: "Fallbacks" }, { value: "breaker", label: "Breakers" }, { value: "budget", label: "Budgets" }, { value: "config", label: "Changes" }] as const;

/** Live events of this gateway process; works without the audit log. */
export default function ConsolePage() {
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters({ event: "", search: "" }, { event: ["", ...KINDS] });
  const [stopped, setStopped] = useState(false);
  const [over, setOver] = useState(false);
  const console_ = useConsole(filters.event, stopped || over);
  useShortcut("p", () => setStopped(!stopped));
  const search = useCallback((text: string) => setFilters({ search: text }), [setFilters]);
  const needle = filters.search.toLowerCase();
  const rows = useMemo(() => (needle ? console_.events.filter((event) => textOfEvent(event).toLowerCase().includes(needle)) : console_.events), [console_.events, needle]);

  const open = (event: ConsoleEvent) => {
    if (isRequest(event) || event.event === "fallback") void navigate({ to: "/audit", search: { open: String(event.request_id) } as never });
    else if (event.event === "breaker") void navigate({ to: "/providers", search: { open: String(event.provider_name) } as never });
    else if (event.event === "budget") void navigate({ to: "/budgets" });
    else void navigate({ to: "/changes", search: { kind: event.kind, name: event.name } as never });
  };

  return (
    <Page
      flush
      title="Live console"
      sub="Events of this gateway process"
      actions={
        <>
          <Button look="quiet" icon={Eraser} className="phone:hidden" onClick={console_.clear}>Clear</Button>
          <Button icon={stopped ? CirclePlay : CirclePause} shortcut="P" aria-pressed={stopped} onClick={() => setStopped(!stopped)}>{stopped ? "Resume" : "Pause"}</Button>
          <Live on={console_.state === "live"} label={console_.state === "live" ? (stopped ? "Paused" : "Live") : console_.state === "failed" ? "Not live" : "Connecting"} />
        </>
      }
    >
      <FilterBar end={<span>Newest first · {zoneLabel()}</span>}>
        <SearchInput label="Model, path, provider, request id" value={filters.search} onChange={search} />
        <Segmented size="sm" label="Kind of event" value={filters.event as (typeof OPTIONS)[number]["value"]} options={OPTIONS} onChange={(event) => setFilters({ event })} />
      </FilterBar>
      {(filters.event === "" || filters.event === "request") && <Minute {...console_.minute} />}
      <div role="status" className={cx("sticky top-[52px] z-5", console_.waiting + console_.dropped > 0 && "border-b border-accent-line bg-accent-soft")}>
        {console_.waiting > 0 && (
          <button type="button" onClick={() => (console_.take(), window.scrollTo({ top: 0 }))} className="flex min-h-8 w-full items-center justify-center gap-2 text-small phone:min-h-10">
            <ArrowUp aria-hidden className="size-3.5 text-accent-ink" />
            <b className="num font-medium text-accent-ink">{plural(console_.waiting, "new event")}</b>
            <span className="text-ink-2 phone:hidden">paused while you read</span>
          </button>
        )}
        {console_.dropped > 0 && <p className="py-1.5 text-center text-small text-ink-2">{plural(console_.dropped, "event")} came too fast to follow.</p>}
      </div>
      <div className="flex-1 bg-surface" onPointerEnter={(event) => event.pointerType === "mouse" && setOver(true)} onPointerLeave={() => setOver(false)}>
        <Table
          flush
          label="Events"
          rows={rows}
          columns={COLUMNS}
          rowKey={(event) => String(event.id)}
          loading={console_.loading}
          error={console_.error}
          onRetry={console_.retry}
          onOpen={open}
          empty={
            filters.search || filters.event ? (
              <NoMatch what="events" onClear={() => setFilters({ event: null, search: null })}>The console keeps the last 500 events; none of them matches yet.</NoMatch>
            ) : (
              <EmptyState icon={Activity} title="No events yet">Requests, fallbacks, circuit breakers, budgets and changes appear here as they happen. Leave this page open and make a call.</EmptyState>
            )
          }
        />
      </div>
      {rows.length > 0 && (
        <TableFoot keys={<><Kbd>J</Kbd><Kbd>K</Kbd> move <Kbd>↵</Kbd> open <Kbd>P</Kbd> pause</>}>
          <span>{plural(rows.length, "event")}</span>
          <span>The last 500 are kept in memory</span>
        </TableFoot>
      )}
    </Page>
  );
}
