import { Link } from "@tanstack/react-router";
import { Journey, Phase } from "@/components/Journey";
import { KeyValues } from "@/components/Panel";
import { copy } from "@/components/Toast";
import { duration } from "@/format";
import { attemptSteps, gatewaySteps, replyStep } from "./steps";
import type { Entry } from "./types";

/** The call step by step: in the gateway, at the providers, the reply. */
export function JourneyTab({ entry }: { entry: Entry }) {
  const attempts = attemptSteps(entry);
  const journey = entry.journey;
  const providerMs = journey?.provider_ms ?? (attempts.length ? Math.max(0, entry.duration_ms - entry.overhead_us / 1000) : null);
  return (
    <>
      <Phase time={duration(journey?.gateway_ms ?? entry.overhead_us / 1000)}>In the gateway</Phase>
      <Journey steps={gatewaySteps(entry)} label="In the gateway" />
      <div className="h-4" />
      {attempts.length > 0 ? <Phase time={duration(providerMs)}>At the providers</Phase> : <Phase>Answer</Phase>}
      <Journey steps={[...attempts, replyStep(entry)]} label="At the providers" />
      <KeyValues className="mt-5 border-t border-line pt-4" items={factsOf(entry)} />
    </>
  );
}

function factsOf(entry: Entry) {
  const workflow = entry.journey?.workflow;
  const text = (value: string) => <button type="button" title="Copy" className="rounded-sm text-left hover:text-accent-ink" onClick={() => void copy(value)}>{value}</button>;
  const usage = entry.usage;
  const cached = usage && usage.cached_input_tokens + usage.cache_write_input_tokens + usage.reasoning_tokens > 0;
  return [
    { label: "Request id", mono: true, value: text(entry.request_id) },
    { label: "Request", mono: true, value: `${entry.method} ${entry.path}${entry.stream ? " · stream" : ""}` },
    ...(entry.session_id ? [{ label: "Session", mono: true, value: <Link to="/audit" search={{ session_id: entry.session_id } as never} className="link">{entry.session_id}</Link> }] : []),
    { label: "Client", value: `${entry.client_ip}${entry.data.user_agent ? ` · ${entry.data.user_agent}` : ""}` },
    { label: "Workflow", value: entry.workflow_version_id ? <Link to="/workflows" search={{ open: entry.workflow_version_id } as never} className="link">{workflow ? `${workflow.name}, version ${workflow.version}` : entry.workflow_version_id}</Link> : "managed default" },
    ...(cached ? [{ label: "Of the tokens", value: `${usage.cached_input_tokens} read from the provider's cache, ${usage.cache_write_input_tokens} written to it, ${usage.reasoning_tokens} reasoning` }] : []),
    ...(usage ? [{ label: "Price from", value: usage.cost_source === "model_pricing" ? <Link to="/models" search={{ tab: "pricing", search: entry.resolved_model ?? undefined } as never} className="link">the price list</Link> : usage.total_cost == null ? <Link to="/models" search={{ tab: "pricing", search: entry.resolved_model ?? undefined } as never} className="link">no price: set one</Link> : usage.cost_source.replaceAll("_", " ") }] : []),
    ...(entry.data.trace_id ? [{ label: "Trace", mono: true, value: text(entry.data.trace_id) }] : []),
    ...(entry.data.provider_id ? [{ label: "Provider's id", mono: true, value: text(entry.data.provider_id) }] : []),
    ...(entry.tenant_id ? [{ label: "Tenant", value: entry.tenant_id }] : []),
  ];
}
