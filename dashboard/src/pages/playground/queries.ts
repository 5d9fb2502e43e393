import { useMemo } from "react";
import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import { useSession } from "@/app/session";
import type { Answer, Usage } from "./types";

type Pricing = NonNullable<Schema<"ModelEntry">["model"]["metadata"]["pricing"]>;
export type Choice = { id: string; group: "Aliases, combos and pools" | "Models"; type: string | null; context: number | null; pricing: Pricing | null; /** Prices were read: a model without one is unpriced. */ priced: boolean };

/** All that `model` may name: aliases, combos and pools first, then the models that can chat. */
export function useChoices() {
  const session = useSession();
  const names = useResource(["v1-models"], (signal) => api.GET("/v1/models", { signal }), { staleTime: 60_000 });
  const inventory = useResource(["models"], (signal) => api.GET("/admin/api/v1/models", { signal }), { staleTime: 60_000, enabled: session.can("admin:models:read") });
  const entries = inventory.data;
  const listed = names.data as { data: { id: string; owned_by: string }[] } | undefined;
  const choices = useMemo(() => {
    const known = new Map((entries ?? []).map((entry) => [entry.selector, entry]));
    const all = (listed?.data ?? []).flatMap(({ id, owned_by }): Choice[] => {
      const entry = known.get(id);
      const modes = entry?.model.metadata.modes ?? [];
      if (modes.length && !modes.some((mode) => mode === "chat")) return [];
      const named = owned_by === "gatehouse" && !entry;
      return [{ id, group: named ? "Aliases, combos and pools" : "Models", type: entry?.provider_type ?? (named ? null : owned_by), context: entry?.model.metadata.context_window ?? null, pricing: entry?.model.metadata.pricing ?? null, priced: entry !== undefined }];
    });
    return all.toSorted((a, b) => a.group.localeCompare(b.group) || a.id.localeCompare(b.id));
  }, [listed, entries]);
  return { choices, error: names.error, isPending: names.isPending || (inventory.isPending && inventory.fetchStatus !== "idle"), refetch: () => void names.refetch() };
}

/** Price of tokens in dollars, cached input tokens apart; null without a price. */
export function priceOf(pricing: Pricing | null | undefined, usage: Omit<Usage, "total_tokens">): number | null {
  if (pricing?.input_per_mtok == null || pricing.output_per_mtok == null) return null;
  const cached = Math.min(usage.prompt_tokens_details?.cached_tokens ?? 0, usage.prompt_tokens);
  const input = (usage.prompt_tokens - cached) * pricing.input_per_mtok + cached * (pricing.cached_input_per_mtok ?? pricing.input_per_mtok);
  return (input + usage.completion_tokens * pricing.output_per_mtok) / 1e6;
}

export type Cost = { value: number | null; estimated: boolean; known: boolean };

/**
 * Cost of an answer: the booked one from its header, or for streams, whose headers come first, estimated from the price of
 * the model that served. Not known before the usage has come, and without the scope that reads prices.
 */
export function costOf(answer: Answer, choices: Choice[]): Cost {
  const booked = answer.headers["x-gateway-cost-usd"];
  if (booked !== undefined) return { value: Number(booked), estimated: false, known: true };
  if (answer.headers["x-gateway-cache"]?.startsWith("hit")) return { value: 0, estimated: false, known: true };
  const served = choices.find((choice) => choice.id === answer.headers["x-gateway-model"]);
  if (!answer.usage || !served?.priced) return { value: null, estimated: false, known: false };
  return { value: priceOf(served.pricing, answer.usage), estimated: true, known: true };
}
