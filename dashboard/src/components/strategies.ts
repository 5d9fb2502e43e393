import type { Schema } from "@/api/client";

export type Strategy = Schema<"Strategy">;

/** The strategies of pools and combos: in a few words beside the name, and in a sentence under the choice. */
export const STRATEGIES: Record<Strategy, { short: string; long: string }> = {
  primary_fallback: { short: "first that works, in order", long: "The first target gets every call; the next ones are tried when it fails." },
  round_robin: { short: "each in turn", long: "Targets take turns, so that each gets the same number of calls." },
  weighted: { short: "by weight", long: "Calls are shared by weight: a target with 3 gets three times the calls of one with 1." },
  random: { short: "by chance", long: "Each call picks a target by chance." },
  least_loaded: { short: "fewest calls in flight", long: "The target with the fewest calls in flight gets the next one." },
  latency: { short: "fastest first byte, with some exploring", long: "The target with the fastest first byte gets most calls; a few explore the others." },
  cost: { short: "cheapest that is healthy", long: "The cheapest healthy target gets the call." },
  adaptive: { short: "speed, errors and cost together", long: "Speed, errors and cost are weighed together and learned from calls." },
};

export const STRATEGY_OPTIONS = (Object.keys(STRATEGIES) as Strategy[]).map((value) => ({ value, label: value }));

/** The weights of names that are in the list, without ones of 1. */
export function keptWeights(names: readonly string[], weights: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(weights).filter(([name]) => names.includes(name)));
}
