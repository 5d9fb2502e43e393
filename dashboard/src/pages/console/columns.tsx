import { ArrowRight, CornerDownRight, Send, Settings2, Wallet, Zap, ZapOff, type LucideIcon } from "lucide-react";
import { cx } from "@/components/cx";
import { httpKind, Status, StatusIcon } from "@/components/Status";
import type { Column } from "@/components/Table";
import { callCost, count, duration, NONE, preciseTime } from "@/format";
import { isRequest, textOfEvent, type ConsoleEvent } from "./events";
import { budgetTitle } from "../changes/summary";

const ICONS: Record<string, LucideIcon> = { request: Send, fallback: CornerDownRight, breaker: ZapOff, budget: Wallet, config: Settings2 };
const text = (value: unknown) => (value == null ? "" : String(value));

function tone(event: ConsoleEvent): string {
  if (event.event === "fallback" || event.event === "budget") return "text-warn";
  if (event.event === "breaker") return "state" in event && event.state === "closed" ? "text-ok" : "text-bad";
  return "text-ink-3";
}

function Kind({ event }: { event: ConsoleEvent }) {
  const Icon = ICONS[event.event] ?? Zap;
  return <span className="inline-flex items-center gap-1.5 align-middle text-ink-2"><Icon aria-hidden className={cx("size-3.5", tone(event))} />{event.event}</span>;
}

const arrow = <ArrowRight aria-label="to" className="size-3 flex-none text-ink-3" />;

/** One line that describes the event. */
function Description({ event }: { event: ConsoleEvent }) {
  const line = "inline-flex max-w-full min-w-0 items-center gap-1.5 align-middle";
  if (isRequest(event)) {
    const target = event.provider_name ? `${event.provider_name}/${event.model ?? ""}` : null;
    return (
      <span className={line}>
        <Status kind={httpKind(event.status)} className="num">{event.status}</Status>
        <b className="truncate font-medium">{event.requested_model || event.path}</b>
        {event.cache_type ? <span className="inline-flex items-center gap-1 text-ink-2"><Zap aria-hidden className="size-3.5 text-accent-ink" />cache, {event.cache_type}</span> : target && target !== event.requested_model ? <>{arrow}<span className="truncate text-ink-2">{target}</span></> : null}
        {event.attempts > 1 && <span className="text-small whitespace-nowrap text-ink-3 phone:hidden">{event.attempts} attempts</span>}
        {event.error_code && <code className="truncate text-ink-2">{event.error_code}</code>}
      </span>
    );
  }
  const e = event as Record<string, unknown>;
  if (event.event === "fallback") return <span className={line}>{text(e.from)}{arrow}{text(e.to)}<code className="text-ink-2">{text(e.reason)}</code></span>;
  if (event.event === "breaker") return <span className={line}><StatusIcon kind={e.state === "closed" ? "ok" : "bad"} />{text(e.provider_name)}{e.model ? `/${text(e.model)}` : ""}<span className="text-ink-2">circuit breaker {text(e.state)}</span></span>;
  if (event.event === "config") return <span className={line}><span className="text-ink-2">{text(e.action)}</span>{text(e.kind).replaceAll("_", " ")} <b className="truncate font-medium">{e.kind === "budget" ? budgetTitle(text(e.name)) : text(e.name)}</b>{e.actor ? <span className="text-ink-2">by {text(e.actor)}</span> : null}{e.revision ? <span className="num text-ink-3">revision {text(e.revision)}</span> : null}</span>;
  return <span className={cx(line, "truncate")}>{textOfEvent(event).replace(event.event, "").trim()}</span>;
}

export const COLUMNS: Column<ConsoleEvent>[] = [
  { key: "time", title: "Time", className: "num w-[112px] text-ink-2", phone: "sub", cell: (event) => <time dateTime={event.at}>{preciseTime(event.at)}</time> },
  { key: "event", title: "Event", className: "w-[100px]", phone: "sub", cell: (event) => <Kind event={event} /> },
  { key: "what", title: "Details", phone: "title", className: "w-full max-w-0", cell: (event) => <Description event={event} /> },
  { key: "path", title: "Path", className: "narrow:hidden", cell: (event) => <span className="block max-w-48 truncate text-ink-2">{isRequest(event) ? event.user_path : ""}</span> },
  { key: "tokens", title: "Tokens", align: "right", className: "narrow:hidden", cell: (event) => (isRequest(event) && event.status < 400 ? `${count(event.input_tokens)} / ${count(event.output_tokens)}` : "") },
  { key: "cost", title: "Cost", align: "right", phone: "end", cell: (event) => (isRequest(event) ? (event.status < 400 ? callCost(event.total_cost) : <span className="text-ink-2 phone:hidden">{NONE}</span>) : "") },
  { key: "duration", title: "Duration", align: "right", phone: "subEnd", cell: (event) => (isRequest(event) ? (event.duration_ms ? duration(event.duration_ms) : "< 1 ms") : "") },
];
