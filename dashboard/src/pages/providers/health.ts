import { healthKind } from "@/components/Status";
import { clock, plural } from "@/format";
import type { ProviderStatus } from "./queries";

export type Reason = { kind: "warn" | "bad"; text: string };

const seconds = (ms: number) => `${Math.max(1, Math.ceil(ms / 1000))} s`;
const sentence = (text: string) => (text ? `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "");

/** The problem of a provider and the next automatic step; null for a healthy one. */
export function reasonOf({ enabled, health, models }: ProviderStatus): Reason | null {
  const kind = healthKind(health.state);
  if (!enabled || kind === "ok" || kind === "unknown" || kind === "paused") return null;
  const tone = kind === "bad" ? "bad" : "warn";
  if (health.state === "incomplete") return { kind: "warn", text: `${sentence(health.last_error ?? "its address or key is missing")} Calls skip it until it is complete.` };
  const open = models.filter((model) => model.open_for_ms != null || model.breaker === "open");
  const cooling = models.filter((model) => model.cooling_for_ms != null);
  if (open.length) {
    const why = sentence(open.find((model) => model.last_error)?.last_error ?? health.last_error ?? "calls failed");
    const next = Math.min(...open.map((model) => model.open_for_ms ?? 0));
    const which = open.length === models.length ? "" : `${open.length === 1 ? open[0]!.model : `${open.length} of ${plural(models.length, "model")}`}: `;
    return { kind: tone, text: `${which}${why} ${next > 0 ? `The breaker tries again in ${seconds(next)}.` : "The breaker tries again with the next call."}` };
  }
  if (cooling.length) {
    const longest = Math.max(...cooling.map((model) => model.cooling_for_ms ?? 0));
    const which = cooling.length === 1 ? `${cooling[0]!.model}: ${sentence(cooling[0]!.last_error ?? "it asked to wait")} It is` : `${plural(cooling.length, "model")} asked to wait and are`;
    return { kind: tone, text: `${which} left alone for ${seconds(longest)}; calls go elsewhere meanwhile.` };
  }
  const half = models.find((model) => model.breaker === "half_open");
  if (half) return { kind: tone, text: `${half.model}: the breaker lets one call through to see whether it works again.` };
  if (models.length === 0 && health.last_error) return { kind: tone, text: `Its models could not be listed: ${sentence(health.last_error).toLowerCase()} Calls still go to it.` };
  return { kind: tone, text: health.last_error ? `${sentence(health.last_error)} Calls still go to it.` : "Many recent calls failed. Calls still go to it." };
}

/** "Closed", "Open, 21 s", "Closed, 1 cooling". */
export function breakerText({ health, models }: ProviderStatus): string {
  const cooling = models.filter((model) => model.cooling_for_ms != null).length;
  if (health.breaker === "open") {
    const next = Math.min(...models.flatMap((model) => (model.open_for_ms != null ? [model.open_for_ms] : [])));
    return Number.isFinite(next) && next > 0 ? `Open, ${seconds(next)}` : "Open";
  }
  const word = health.breaker === "half_open" ? "Half open" : "Closed";
  return cooling ? `${word}, ${cooling} cooling` : word;
}

export const stateWord = (state: string, enabled: boolean) => (!enabled ? "Disabled" : state === "ok" ? "OK" : state.charAt(0).toUpperCase() + state.slice(1));

/** Text in the place of a sparkline without points. */
export function quietText({ health, series }: ProviderStatus): string {
  if (health.breaker === "open") return health.last_success_at ? `no answer since ${clock(health.last_success_at)}` : "no answer yet";
  return series ? "no calls in the last hour" : "–";
}

/** "5 ok, 1 degraded, 1 down" */
export function summary(all: readonly ProviderStatus[]): string {
  const words = all.map((each) => (each.enabled ? each.health.state : "disabled"));
  return ["ok", "degraded", "down", "incomplete", "unknown", "disabled"].flatMap((state) => (words.includes(state) ? [`${words.filter((word) => word === state).length} ${state}`] : [])).join(", ");
}

export const SOURCES: Record<string, string> = { env: "environment", config: "file", admin: "dashboard", default: "built in" };
