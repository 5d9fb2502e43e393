import { Link } from "@tanstack/react-router";
import type { JourneyStep } from "@/components/Journey";
import { Tag } from "@/components/Status";
import { callCost, count, duration, money, plural } from "@/format";
import { callerName, refusal } from "./columns";
import type { Entry, Verdict } from "./types";

const METHODS: Record<string, string> = { master_key: "Master key", api_key: "API key", session: "Session", token: "Token" };
const VERDICTS: Record<string, string> = { not_asked: "not asked", allow: "passed", flag: "flagged", redact: "redacted", error: "failed", block: "blocked" };
const SCOPES: Record<string, string> = { requests_per_minute: "requests per minute", requests_per_day: "requests per day", tokens_per_minute: "tokens per minute", tokens_per_day: "tokens per day", max_parallel_requests: "parallel requests" };
const KINDS: Record<string, string> = { key_pool: "pool of the key", whole_id: "model", bare_model: "model", instance: "provider", type: "provider type", fallback_rule: "fallback rule", fallback_auto: "automatic fallback" };

const dots = (parts: (string | null | undefined | false)[]) => parts.filter(Boolean).join(" · ");

/** "pii: 1 email redacted" */
export function verdictText(verdict: Verdict): string {
  const kinds = Object.entries(verdict.kinds ?? {}).map(([kind, number]) => plural(number, kind)).join(", ");
  const score = verdict.score != null ? ` at ${verdict.score.toFixed(2)}` : "";
  const word = VERDICTS[verdict.verdict] ?? verdict.verdict;
  return `${verdict.name}: ${kinds ? `${kinds} ${word}` : word}${score}${verdict.mode === "monitor" ? ", only recorded" : ""}${verdict.error ? ` (${verdict.error})` : ""}`;
}

/** Step of the guardrails, in the audit log and in Explain. */
export function guardStep(verdicts: readonly Verdict[], extra?: JourneyStep["detail"]): JourneyStep {
  const enforced = verdicts.filter((verdict) => verdict.mode === "enforce");
  const blocked = enforced.some((verdict) => verdict.verdict === "block");
  const redacted = enforced.filter((verdict) => verdict.verdict === "redact").length;
  const flagged = verdicts.filter((verdict) => verdict.verdict === "flag").length;
  const tag = blocked ? <Tag kind="bad">blocked</Tag> : redacted ? <Tag kind="warn">{redacted} redacted</Tag> : flagged ? <Tag kind="warn">{flagged} flagged</Tag> : undefined;
  return { step: "guarded", state: blocked ? "failed" : redacted || flagged ? "changed" : "done", title: "Guarded", tag, detail: <>{verdicts.map(verdictText).join(" · ")}{extra}</> };
}

function authenticated(entry: Entry): JourneyStep {
  const caller = entry.journey?.caller;
  const known = caller ?? (entry.auth_method ? { auth_method: entry.auth_method, user_path: entry.user_path, redacted_value: null } : null);
  if (!known) return { step: "authenticated", state: "failed", title: "Not authenticated", detail: entry.data.error_reason ?? entry.data.error_message ?? "The caller is unknown." };
  const name = callerName(entry);
  return { step: "authenticated", state: "done", title: "Authenticated", detail: <><Link to="/audit" search={{ auth_key_id: entry.auth_key_id ?? undefined } as never} className={entry.auth_key_id ? "hover:underline" : "pointer-events-none"}>{name === METHODS[known.auth_method]?.toLowerCase() ? METHODS[known.auth_method] : name}</Link>{known.redacted_value && <code className="ml-1.5">{known.redacted_value}</code>} · {known.user_path}</> };
}

function limits(entry: Entry): JourneyStep | null {
  const list = entry.journey?.limits ?? [];
  const reached = entry.error_code === "rate_limit_exceeded" && !entry.attempts.length;
  if (!list.length && !reached) return null;
  return { step: "limits", state: reached ? "failed" : "done", title: reached ? "Rate limit reached" : "Limits counted", detail: list.map((limit) => `${count(limit.used)} of ${count(limit.limit)} ${SCOPES[limit.scope] ?? limit.scope}`).join(" · ") || entry.data.error_message };
}

function resolved(entry: Entry): JourneyStep | null {
  const resolution = entry.journey?.resolution;
  if (resolution) {
    // A combo may have refused some of its targets and still have others.
    const some = resolution.steps.some((step) => step.kind === "refused");
    const refused = !resolution.targets.length && (some || (!entry.attempts.length && entry.status_code >= 400));
    const more = resolution.target_count - resolution.targets.length;
    return {
      step: "resolved", state: refused ? "failed" : some ? "changed" : "done", title: refused ? "Not resolved" : "Resolved",
      detail: (
        <>
          {resolution.steps.map((step, i) => <span key={i}>{i > 0 && " → "}{KINDS[step.kind] ?? step.kind} <b className="font-medium">{step.name}</b></span>)}
          {resolution.target_count > 1 && <> → {plural(resolution.target_count, "target")}: {resolution.targets.join(", ")}{more > 0 && ` and ${more} more`}</>}
          {refused && entry.data.error_message && <span className="block">{entry.data.error_message}</span>}
        </>
      ),
    };
  }
  if (entry.resolved_model) return { step: "resolved", state: "done", title: "Resolved", detail: <>{entry.alias_used && "alias "}<b className="font-medium">{entry.requested_model}</b> → {entry.provider_name}/{entry.resolved_model}</> };
  if (entry.error_code === "model_not_found") return { step: "resolved", state: "failed", title: "Not resolved", detail: entry.data.error_message };
  return null;
}

function budget(entry: Entry): JourneyStep | null {
  const held = entry.journey?.budget;
  const refused = entry.error_code?.startsWith("budget") ?? false;
  if (!held && !refused) return null;
  const clamped = held?.max_tokens_clamped;
  const rooms = held?.budgets.map((each) => `${each.user_path} ${each.period_label}${each.remaining == null ? "" : `, ${money(each.remaining)} left`}`) ?? [];
  return {
    step: "budget", state: refused ? "failed" : clamped ? "changed" : "done", title: refused ? "Budget used up" : "Budget held",
    tag: clamped ? <Tag kind="warn">max_tokens lowered</Tag> : undefined,
    detail: refused ? entry.data.error_message : dots([held?.reserved == null ? "no price, nothing reserved" : `${callCost(held.reserved)} reserved`, ...rooms, clamped && `${count(clamped.asked)} → ${count(clamped.used)} tokens`]),
  };
}

function cache(entry: Entry): JourneyStep | null {
  const found = entry.journey?.cache ?? (entry.cache_type ? { status: `hit-${entry.cache_type}`, reason: null } : entry.data.response_headers?.["x-gateway-cache"] ? { status: entry.data.response_headers["x-gateway-cache"], reason: entry.data.response_headers["x-cache-miss-reason"] ?? null } : null);
  if (!found || found.status === "off") return null;
  const hit = found.status.startsWith("hit");
  const saved = entry.usage?.saved_cost;
  return { step: "cache", state: hit ? "chosen" : "skipped", title: "Cache", sub: found.status.replace("hit-", "hit, "), detail: dots([found.reason?.replaceAll("_", " "), hit && "answered without a provider", hit && saved != null && `saved ${callCost(saved)}`]) || undefined };
}

/** The decisions of the gateway in order; steps that the call did not reach are left out. */
export function gatewaySteps(entry: Entry): JourneyStep[] {
  const verdicts = (entry.journey?.guardrails?.verdicts ?? entry.guardrails).filter((verdict) => verdict.subject === "request");
  const guarded = verdicts.length ? { ...guardStep(verdicts), time: entry.journey?.guardrails?.request_ms == null ? undefined : duration(entry.journey.guardrails.request_ms) } : null;
  const steps = [authenticated(entry), limits(entry), resolved(entry), guarded, budget(entry), cache(entry)].filter((step) => step !== null);
  const explained = steps.some((step) => step.state === "failed") || entry.attempts.length > 0 || entry.cache_type || entry.status_code < 400;
  return explained ? steps : [...steps, { step: "reply", state: "failed", title: "Refused", sub: refusal(entry), detail: entry.data.error_message }];
}

/** The attempts at providers, one step each, on one time line. */
export function attemptSteps(entry: Entry): JourneyStep[] {
  const whole = (attempt: Entry["attempts"][number]) => attempt.duration_ms + (attempt.streamed_ms ?? 0);
  const total = Math.max(1e-6, entry.attempts.reduce((sum, attempt) => sum + whole(attempt), 0));
  let start = 0;
  return entry.attempts.map((attempt, i) => {
    const failed = attempt.status < 200 || attempt.status >= 400;
    const wait = attempt.first_byte_ms != null && attempt.streamed_ms == null ? Math.min(attempt.first_byte_ms, attempt.duration_ms) : attempt.streamed_ms != null ? attempt.duration_ms : 0;
    const run = whole(attempt) - wait;
    const rate = attempt.streamed_ms && entry.usage ? ` · ${count((entry.usage.output_tokens / attempt.streamed_ms) * 1000)} tokens/s` : "";
    const legend = failed || wait <= 0 ? undefined : <><span className="inline-flex items-center gap-1.5"><i aria-hidden className="swatch swatch-4" />first byte {duration(wait)}</span>{run > 0 && <span className="inline-flex items-center gap-1.5"><i aria-hidden className="swatch swatch-2" />{attempt.streamed_ms != null ? "streamed" : "rest"} {duration(run)}{rate}</span>}</>;
    const step: JourneyStep = {
      step: "attempt", state: failed ? "failed" : "done", title: `Attempt ${i + 1}`, sub: attempt.provider_name,
      tag: <Tag kind={failed ? "bad" : "ok"}>{attempt.status || "no answer"}</Tag>,
      detail: dots([attempt.error ?? attempt.model, attempt.error && attempt.model, attempt.translated_to && `translated: ${attempt.translated_to}`, attempt.retry_after_ms != null && `Retry-After ${Math.ceil(attempt.retry_after_ms / 1000)} s`, failed && i < entry.attempts.length - 1 && "so the next target"]),
      time: duration(whole(attempt)),
      timeline: { total, start, wait, run, failed, legend },
    };
    start += whole(attempt);
    return step;
  });
}

/** The end of the call: what the client got. */
export function replyStep(entry: Entry): JourneyStep {
  const reply = entry.journey?.reply;
  const held = entry.journey?.budget;
  const failed = entry.status_code >= 400;
  const answers = entry.guardrails.filter((verdict) => verdict.subject === "answer");
  const settled = held?.settled != null ? `${callCost(held.settled)} settled${held.released ? `, ${callCost(held.released)} given back` : ""}` : entry.usage ? (entry.usage.total_cost == null ? "unpriced" : callCost(entry.usage.total_cost, entry.usage)) : null;
  return {
    step: "reply", state: failed ? "failed" : "done", title: entry.status_code === 499 ? "Client left" : "Reply",
    sub: failed ? (entry.error_code ?? undefined) : undefined,
    tag: entry.interrupted ? <Tag kind="warn">interrupted</Tag> : undefined,
    detail: dots([failed && entry.data.error_message, reply?.finish_reason, entry.usage && `${plural(entry.usage.output_tokens, "token")} out`, settled, ...answers.map((verdict) => `answer: ${verdictText(verdict)}`)]) || undefined,
    time: duration(entry.duration_ms),
  };
}
