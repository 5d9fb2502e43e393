import { Link } from "@tanstack/react-router";
import { CircleCheck, OctagonX, Zap } from "lucide-react";
import { cx } from "@/components/cx";
import { callCost, count } from "@/format";
import type { Explanation } from "./queries";

/** Links to the page that fixes an error. */
const FIXES: Record<string, { label: string; to: string }> = { model_not_found: { label: "Open the models", to: "/models" }, model_access_denied: { label: "Open the keys", to: "/keys" }, budget_exceeded: { label: "Open the budgets", to: "/budgets" }, rate_limit_exceeded: { label: "Open the keys", to: "/keys" }, guardrail_blocked: { label: "Open the guardrails", to: "/guardrails" } };

/** 24 s */
export const wholeSeconds = (ms: number) => `${Math.ceil(ms / 1000)} s`;

function passedOver({ candidates, decision }: Explanation): string {
  const list = (candidates ?? []).filter((candidate) => !candidate.error && !decision.would_try.includes(candidate.selector) && candidate.retry_in_ms != null);
  return list.map((candidate) => `${candidate.selector} is passed over for ${wholeSeconds(candidate.retry_in_ms ?? 0)}.`).join(" ");
}

/** The outcome in one line: where the call goes and what it costs at most, or why it is refused. */
export function Verdict({ explanation }: { explanation: Explanation }) {
  const { decision, cache, estimated_cost: cost } = explanation;
  const error = decision.error;
  const hit = !error && cache?.status.startsWith("hit");
  const Icon = error ? OctagonX : hit ? Zap : CircleCheck;
  const [, ...rest] = decision.would_try;
  const fix = error && (FIXES[error.code] ?? (error.code.includes("guardrail") ? FIXES.guardrail_blocked : error.code.includes("budget") ? FIXES.budget_exceeded : undefined));
  return (
    <section aria-label="Verdict" aria-live="polite" className={cx("mb-5 flex flex-wrap items-center gap-3 rounded-lg border px-4 py-3", error ? "border-bad-line bg-bad-soft" : hit ? "border-accent-line bg-accent-soft" : "border-ok-line bg-ok-soft")}>
      <Icon aria-hidden className={cx("size-5", error ? "text-bad" : hit ? "text-accent-ink" : "text-ok")} />
      <div className="min-w-0 flex-1 basis-60">
        <b className="block font-strong [overflow-wrap:anywhere]">{error ? <>Refused with {error.status} <code>{error.code}</code></> : hit ? "Answered from the cache" : `Goes to ${decision.first ?? "no target"}`}</b>
        <span className="text-small text-ink-2">
          {error ? error.message : [hit && `Without the cache it goes to ${decision.first}.`, rest.length > 0 && `Then ${rest.join(", then ")} if that fails.`, passedOver(explanation)].filter(Boolean).join(" ") || "No other target if that fails."}
          {fix && <> <Link to={fix.to} className="link">{fix.label}</Link></>}
        </span>
      </div>
      {cost && !error && (
        <div className="num text-right">
          <b className="block font-strong">{hit ? "$0" : cost.worst == null ? "unpriced" : `at most ${callCost(cost.worst)}`}</b>
          <span className="text-small text-ink-2">≈ {count(cost.input_tokens)} in, {count(cost.max_output_tokens)} out</span>
        </div>
      )}
    </section>
  );
}
