import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { Fragment } from "react";
import { CodeBlock, JsonView } from "@/components/CodeBlock";
import { Branches, type Branch, type JourneyStep } from "@/components/Journey";
import { LimitBar } from "@/components/LimitBar";
import { Tag, type StatusKind } from "@/components/Status";
import { callCost, compact, count, duration, money, plural } from "@/format";
import { wholeSeconds } from "./Verdict";
import { guardStep } from "@/pages/audit/steps";
import type { Explanation } from "./queries";

const SCOPES: Record<string, string> = { requests_per_minute: "Req/min", requests_per_day: "Req/day", tokens_per_minute: "Tok/min", tokens_per_day: "Tok/day", max_parallel_requests: "Parallel" };
const METHODS: Record<string, string> = { master_key: "master key", api_key: "API key", session: "session", token: "token" };
const dots = (parts: (string | null | undefined | false)[]) => parts.filter(Boolean).join(" · ");
const ordinal = (n: number) => `${n}${n === 1 ? "st" : n === 2 ? "nd" : n === 3 ? "rd" : "th"}`;

function who({ principal }: Explanation): JourneyStep {
  const name = principal.name ?? METHODS[principal.auth_method] ?? principal.auth_method;
  return { step: "authenticated", state: principal.active ? "done" : "failed", title: "Caller", sub: `${name} ${principal.active ? "may call" : "may not call"}`, detail: dots([METHODS[principal.auth_method], `scope ${principal.scopes.join(", ") || "none"}`, `path ${principal.user_path}`, principal.provider_pool && `pool ${principal.provider_pool}`, principal.reason]) };
}

function limits({ limits: list }: Explanation): JourneyStep | null {
  if (!list?.length) return null;
  const refusing = list.filter((limit) => limit.refuses);
  return {
    step: "limits", state: refusing.length ? "failed" : "done", title: "Limits",
    sub: refusing.length ? `${plural(refusing.length, "limit")} would refuse the call, more in ${Math.max(...refusing.map((limit) => limit.reset_seconds))} s` : list.length === 1 ? "it has room" : list.length === 2 ? "both have room" : "all have room",
    children: <div className="mt-1 space-y-0.5">{list.map((limit) => <LimitBar key={limit.scope} left label={SCOPES[limit.scope] ?? limit.scope} used={limit.limit - limit.remaining} limit={limit.limit} format={compact} />)}</div>,
  };
}

/** "alias smart" from a step whose detail names it in quotes. */
function Chip({ step, detail }: { step: string; detail: string }) {
  const name = /^'([^']+)'/.exec(detail)?.[1];
  return <span title={detail}><Tag>{step.replaceAll("_", " ")}{name && <b className="font-medium text-ink">{name}</b>}</Tag></span>;
}

function resolved({ resolution, candidates }: Explanation): JourneyStep | null {
  if (!resolution) return null;
  const steps = resolution.steps.map((step) => ({ step: step.step ?? "", detail: step.detail ?? "" }));
  // Steps inside a combo are its candidates, which stand below.
  const combo = steps.findIndex((step) => step.step === "combo");
  const shown = combo >= 0 ? steps.slice(0, combo + 1) : steps;
  return {
    step: "resolved", state: resolution.error ? "failed" : "done", title: resolution.error ? "Not resolved" : "Resolved",
    detail: resolution.error?.message,
    children: (
      <div className="mt-1 flex flex-wrap items-center gap-1.5">
        {shown.map((step, i) => <Fragment key={i}>{i > 0 && <ArrowRight aria-hidden className="size-3 text-ink-3" />}<Chip {...step} /></Fragment>)}
        {candidates && <><ArrowRight aria-hidden className="size-3 text-ink-3" /><Tag>{plural(candidates.length, "candidate")}</Tag></>}
      </div>
    ),
  };
}

function branchOf(candidate: NonNullable<Explanation["candidates"]>[number], tries: string[]): Branch {
  const rank = tries.indexOf(candidate.selector);
  const wait = candidate.retry_in_ms != null ? ` ${wholeSeconds(candidate.retry_in_ms)}` : "";
  const states: Record<string, [string, StatusKind]> = { ready: ["ready", "ok"], probe: ["trial call", "warn"], cooling: [`cooling${wait}`, "warn"], open: [`open${wait}`, "bad"] };
  const [state, kind] = candidate.error ? (["left out", "out"] as const) : (states[candidate.availability] ?? [candidate.availability, "unknown"]);
  const why = dots([candidate.error?.message ?? candidate.reason, candidate.dropped.length > 0 && `drops ${candidate.dropped.join(", ")}`, candidate.dialect && candidate.dialect !== "native" && candidate.dialect.replace(":", ": "), candidate.credential === "client" && "with the client's own credential"]);
  return {
    key: `${candidate.position}-${candidate.selector}`, name: <span title={candidate.selector}>{candidate.selector}</span>, state, kind, why: <span title={why}>{why}</span>,
    cost: candidate.error ? "–" : candidate.price_known ? callCost(candidate.estimated_cost) : "unpriced",
    rank: rank >= 0 ? <Tag kind={rank === 0 ? "accent" : "neutral"}>{ordinal(rank + 1)}</Tag> : undefined, pick: rank === 0, out: rank < 0,
  };
}

function candidates({ candidates: list, decision }: Explanation): JourneyStep | null {
  if (!list?.length) return null;
  return { step: "candidates", state: decision.error ? "skipped" : "chosen", title: "Candidates", sub: "in the order in which they are tried", children: <Branches items={list.map((candidate) => branchOf(candidate, decision.would_try))} /> };
}

function guardrails({ guardrails: found, workflow }: Explanation): JourneyStep {
  const link = workflow && <> · workflow <Link to="/workflows" search={{ open: workflow.id } as never} className="link">{workflow.id.slice(0, 11)}…</Link></>;
  if (!found || !(found.request.length + found.answer.length + found.record.length)) return { step: "guarded", state: "skipped", title: "Guardrails", sub: "none apply", detail: workflow ? <>{link}</> : "managed default workflow" };
  const later = dots([found.answer.length > 0 && `the answer: ${found.answer.join(", ")}`, found.record.length > 0 && `the audit log: ${found.record.join(", ")}`]);
  return { ...guardStep(found.request, <>{later && `${found.request.length ? " · " : ""}later ${later}`}{link}</>), title: "Guardrails" };
}

function budgets({ budgets: list, max_tokens_clamped: clamped, downgraded_to: other }: Explanation): JourneyStep | null {
  if (!list?.length) return null;
  const full = list.filter((budget) => !budget.fits);
  return {
    step: "budget", state: full.length && !clamped && !other ? "failed" : clamped || other ? "changed" : "done", title: "Budgets",
    sub: full.length ? `${plural(full.length, "budget")} has no room` : list.length === 1 ? "fits" : list.length === 2 ? "fits both" : "fits all",
    tag: clamped ? <Tag kind="warn">max_tokens {count(clamped.asked)} → {count(clamped.used)}</Tag> : other ? <Tag kind="warn">downgraded to {other}</Tag> : undefined,
    detail: list.map((budget) => `${budget.user_path} ${budget.period_label}${budget.remaining == null ? "" : ` ${money(budget.remaining)} left`}`).join(" · "),
  };
}

function cache({ cache: found }: Explanation): JourneyStep {
  if (!found) return { step: "cache", state: "skipped", title: "Cache", sub: "off" };
  const hit = found.status.startsWith("hit");
  const semantic = found.semantic;
  return { step: "cache", state: hit ? "chosen" : "skipped", title: "Cache", sub: hit ? `would answer, ${found.status.slice(4)}` : found.status === "bypass" ? "bypassed" : "would miss", detail: dots([found.miss_reason?.replaceAll("_", " "), found.layers !== "none" && `${found.layers} ${found.layers === "both" ? "layers" : "layer"}`, `kept ${duration(found.ttl_seconds * 1000)}`, semantic?.score != null && `best similarity ${semantic.score.toFixed(3)} of ${semantic.threshold}`]) };
}

function upstream({ upstream_request: sent, candidates: list, decision }: Explanation): JourneyStep | null {
  if (!sent) return null;
  const dialect = list?.find((candidate) => candidate.selector === decision.first)?.dialect;
  return {
    step: "upstream", state: "done", title: "Upstream request", sub: <code className="[overflow-wrap:anywhere]">{sent.method} {sent.url ?? "built-in model"}</code>,
    detail: dots([sent.provider_name, dialect?.replace(":", ": ")]),
    children: (
      <details className="mt-1 text-small">
        <summary className="link w-fit marker:text-ink-3">Show headers and body</summary>
        <div className="mt-2 space-y-2">
          <CodeBlock code={Object.entries(sent.headers).map(([name, value]) => `${name}: ${value}`).join("\n")} wrap />
          {sent.body_truncated ? <CodeBlock code={String(sent.body)} wrap /> : <JsonView value={sent.body} />}
        </div>
      </details>
    ),
  };
}

/** Every decision about a call, in the order of the journey; what it would not get to is left out. */
export function explainSteps(explanation: Explanation): JourneyStep[] {
  return [who(explanation), limits(explanation), resolved(explanation), candidates(explanation), ...(explanation.resolution && !explanation.resolution.error ? [guardrails(explanation), budgets(explanation), cache(explanation)] : []), upstream(explanation)].filter((step) => step !== null);
}
