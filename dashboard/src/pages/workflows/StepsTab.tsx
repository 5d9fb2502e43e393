import { Link } from "@tanstack/react-router";
import { DatabaseZap, Gauge, Route, ScrollText, ShieldCheck, Wallet, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Status, Tag } from "@/components/Status";
import type { Version } from "./queries";

type Feature = keyof Version["effective_features"];
type Step = { icon: LucideIcon; title: string; feature: Feature; setting: string; detail: ReactNode };

/** The guardrails of a workflow by step: those of the same step inspect the same text. */
function Guardrails({ version }: { version: Version }) {
  const list = version.workflow_payload.guardrails ?? [];
  if (!list.length) return "No guardrails: texts pass as they are.";
  const steps = [...new Set(list.map((each) => each.step))].sort((a, b) => a - b);
  return (
    <ol className="mt-1 space-y-1">
      {steps.map((step) => (
        <li key={step} className="flex flex-wrap items-center gap-1.5">
          <span className="num w-12 text-ink-3">Step {step}</span>
          {list.filter((each) => each.step === step).map((each) => (
            <Link key={each.ref} to="/guardrails" search={{ open: each.ref } as never} className="link font-medium">
              {each.ref}
            </Link>
          ))}
        </li>
      ))}
    </ol>
  );
}

function stepsOf(version: Version): Step[] {
  const { routing, cache } = version.workflow_payload;
  const routes = [routing?.strategy && `strategy ${routing.strategy}`, routing?.timeout_ms != null && `time limit ${routing.timeout_ms} ms`, routing?.retries != null && `${routing.retries} retries`].filter(Boolean);
  const caches = [cache?.ttl_seconds != null && `kept ${cache.ttl_seconds} s`, cache?.semantic_threshold != null && `similarity from ${cache.semantic_threshold}`].filter(Boolean);
  return [
    { icon: ShieldCheck, title: "Guardrails", feature: "guardrails", setting: "GUARDRAILS_ENABLED", detail: <Guardrails version={version} /> },
    { icon: Wallet, title: "Budget", feature: "budget", setting: "GATEWAY_EDITION", detail: "The highest possible cost is reserved in the budgets of the path." },
    { icon: DatabaseZap, title: "Cache", feature: "cache", setting: "RESPONSE_CACHE_ENABLED", detail: caches.length ? caches.join(", ") : "Answers are cached as set in the gateway's settings." },
    { icon: Route, title: "Routing and fallback", feature: "fallback", setting: "", detail: routes.length ? routes.join(", ") : "As set by the requested alias, combo or pool." },
    { icon: ScrollText, title: "Audit log", feature: "audit", setting: "LOGGING_ENABLED", detail: "The call is recorded with every decision." },
    { icon: Gauge, title: "Usage", feature: "usage", setting: "USAGE_ENABLED", detail: "Tokens and cost are counted." },
  ];
}

/** The steps of a version in the order in which a call passes them. */
export function StepsTab({ version }: { version: Version }) {
  const { features } = version.workflow_payload;
  return (
    <div className="max-w-[760px]">
      {version.description && <p className="mb-3 text-ink-2 [overflow-wrap:anywhere]">{version.description}</p>}
      <ul className="rounded-lg border border-line">
        {stepsOf(version).map(({ icon: Icon, title, feature, setting, detail }) => {
          const wanted = features?.[feature] !== false;
          const on = version.effective_features[feature] !== false;
          return (
            <li key={feature} className="flex gap-3 border-b border-line px-4 py-3 last:border-0">
              <Icon aria-hidden className="mt-0.5 size-4 text-ink-3" />
              <div className="min-w-0 flex-1">
                <h3 className="font-medium">{title}</h3>
                <div className="text-small text-ink-3 [overflow-wrap:anywhere]">{wanted ? detail : "Left out by this workflow."}</div>
              </div>
              {on ? (
                <Status kind="ok">On</Status>
              ) : wanted ? (
                <Status kind="paused" sub={setting ? <Link to="/settings" search={{ search: setting } as never} className="link">{setting}</Link> : undefined}>
                  Off by setting
                </Status>
              ) : (
                <Tag>off</Tag>
              )}
            </li>
          );
        })}
      </ul>
      <p className="mt-3 font-mono text-[11px] text-ink-3 [overflow-wrap:anywhere]">
        {version.id} · {version.workflow_hash.slice(0, 12)}
      </p>
    </div>
  );
}
