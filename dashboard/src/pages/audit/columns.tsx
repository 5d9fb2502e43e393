import { ArrowRight, Ban, OctagonX, TriangleAlert, Zap } from "lucide-react";
import { Fragment } from "react";
import { Bar } from "@/components/LimitBar";
import { httpKind, Status, StatusIcon } from "@/components/Status";
import type { Column } from "@/components/Table";
import { callCost, count, day, duration, isoDay, NONE, preciseTime, time } from "@/format";
import type { Entry } from "./types";

const METHODS: Record<string, string> = { master_key: "master key", session: "session", token: "token" };

/** Name of the caller: of the key, else how it signed in. */
export function callerName(entry: Entry): string {
  if (entry.auth_key_name ?? entry.journey?.caller?.name) return (entry.auth_key_name ?? entry.journey?.caller?.name)!;
  if (entry.auth_key_id && entry.auth_method === "api_key") return `…${entry.auth_key_id.slice(-6)}`;
  return entry.subject ?? METHODS[entry.auth_method ?? ""] ?? "unknown";
}

/** Cost of a call; nothing was bought when there is no usage. */
export const costOf = (entry: Entry) => (entry.usage ? callCost(entry.usage.total_cost, { estimated: entry.usage.estimated }) : NONE);

/** Why a call was refused before it was sent. */
export function refusal(entry: Entry): string {
  const blocking = entry.guardrails.find((verdict) => verdict.verdict === "block" && verdict.mode === "enforce");
  if (blocking) return `guardrail: ${blocking.name}`;
  return entry.error_code?.replaceAll("_", " ") ?? "not sent";
}

function Model({ entry, arrow = true }: { entry: Entry; arrow?: boolean }) {
  const other = entry.resolved_model && entry.resolved_model !== entry.requested_model && !entry.requested_model.endsWith(`/${entry.resolved_model}`) ? entry.resolved_model : null;
  return (
    <span className="inline-flex max-w-[290px] min-w-0 items-center align-middle gap-1.5">
      <span className="truncate font-medium" title={entry.requested_model}>{entry.requested_model || NONE}</span>
      {arrow && other && (
        <span className="inline-flex min-w-0 items-center gap-1 font-regular text-ink-2">
          <ArrowRight aria-label="served by" className="size-3 flex-none text-ink-3" />
          <span className="truncate" title={other}>{other}</span>
        </span>
      )}
    </span>
  );
}

function RouteTaken({ entry }: { entry: Entry }) {
  const { attempts } = entry;
  if (entry.cache_type) return <span className="inline-flex items-center gap-1.5 align-middle text-small text-ink-2"><Zap aria-hidden className="size-3.5 text-accent-ink" />cache, {entry.cache_type}</span>;
  if (!attempts.length) {
    if (entry.status_code < 400) return <span className="text-small text-ink-2">{entry.provider_name ?? NONE}</span>;
    return <span className="inline-flex items-center gap-1.5 align-middle text-small text-ink-2"><Ban aria-hidden className="size-3.5 text-warn" />{refusal(entry)}</span>;
  }
  const trouble = attempts.find((attempt) => attempt.status < 200 || attempt.status >= 400);
  const last = attempts.at(-1)!;
  const Icon = !trouble ? null : last === trouble && trouble.status >= 500 ? OctagonX : TriangleAlert;
  return (
    <span className="inline-flex items-center gap-1.5 align-middle text-small text-ink-2">
      {Icon && <Icon aria-label={last === trouble ? "failed" : "failed over"} className={Icon === OctagonX ? "size-3.5 text-bad" : "size-3.5 text-warn"} />}
      {attempts.slice(-3).map((attempt, i) => (
        <Fragment key={i}>
          {i > 0 && <ArrowRight aria-hidden className="size-3 text-ink-3" />}
          <span>
            {attempt.provider_name}
            {(attempt.status < 200 || attempt.status >= 400) && <span className="num ml-1.5">{attempt.status || "no answer"}</span>}
          </span>
        </Fragment>
      ))}
    </span>
  );
}

/** The columns of the audit log; `scale` is the duration of a full bar in milliseconds. */
export function columnsFor(scale: number): Column<Entry>[] {
  return [
    { key: "time", title: "Time", sort: "timestamp", phone: "sub", className: "num w-[108px]", cell: (entry) => <TimeCell at={entry.timestamp} /> },
    { key: "status", title: "Status", className: "w-[86px]", cell: (entry) => <Status kind={httpKind(entry.status_code)} className="num">{entry.status_code}</Status> },
    { key: "phone-status", title: "", phone: "icon", className: "hidden", cell: (entry) => <><StatusIcon kind={httpKind(entry.status_code)} /><span className="sr-only">{entry.status_code}</span></> },
    { key: "model", title: "Model", phone: "title", cell: (entry) => <Model entry={entry} /> },
    { key: "path", title: "Path", phone: "sub", cell: (entry) => <span className="block max-w-44 truncate" title={entry.user_path}>{entry.user_path}</span> },
    { key: "key", title: "Key", className: "max-[1280px]:hidden", cell: (entry) => <span className="block max-w-36 truncate text-ink-2" title={callerName(entry)}>{callerName(entry)}</span> },
    { key: "route", title: "Route", cell: (entry) => <RouteTaken entry={entry} /> },
    { key: "in", title: "In", align: "right", className: "narrow:hidden", cell: (entry) => (entry.usage ? count(entry.usage.input_tokens) : NONE) },
    { key: "out", title: "Out", align: "right", className: "narrow:hidden", cell: (entry) => (entry.usage ? count(entry.usage.output_tokens) : NONE) },
    { key: "cost", title: "Cost", align: "right", phone: "end", cell: (entry) => (entry.usage ? <span className={entry.usage.total_cost == null ? "text-ink-2" : undefined}>{costOf(entry)}</span> : <span className="text-ink-2"><span className="phone:hidden">{NONE}</span><span className={`hidden phone:inline ${entry.status_code >= 500 ? "text-bad" : "text-warn"}`}>{entry.status_code}</span></span>) },
    { key: "first", title: "First byte", align: "right", className: "text-ink-2 max-[1280px]:hidden", cell: (entry) => duration(entry.ttft_ms) },
    {
      key: "duration", title: "Duration", align: "right", sort: "duration", phone: "subEnd", className: "w-[124px]",
      cell: (entry) => (
        <span className="inline-flex items-center gap-2 align-middle">
          <Bar tone="quiet" share={scale > 0 ? entry.duration_ms / scale : 0} className="w-9 max-[1280px]:hidden" />
          <span className="min-w-14 phone:min-w-0">{duration(entry.duration_ms)}</span>
        </span>
      ),
    },
  ];
}

function TimeCell({ at }: { at: string }) {
  const date = isoDay(at) === isoDay(new Date()) ? "" : day(at);
  return (
    <time dateTime={at} className="text-ink-2 phone:text-ink-3">
      {date && <span className="mr-1.5 text-ink-3 phone:hidden">{date}</span>}
      <span className="phone:hidden">{preciseTime(at)}</span>
      <span className="hidden phone:inline">{time(at)}</span>
    </time>
  );
}
