import { useMemo } from "react";
import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import { useSession } from "@/app/session";
import type { Answer, Usage } from "./types";

type Pricing = NonNullable<Schema<"ModelEntry">["model"]["metadata"]["pricing"]>;
export type Choice = { id: string; group: "Aliases, combos and pools" | "Models"; type: string | null; context: number | null; pricing: Pricing | null };

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
      return [{ id, group: named ? "Aliases, combos and pools" : "Models", type: entry?.provider_type ?? (named ? null : owned_by), context: entry?.model.metadata.context_window ?? null, pricing: entry?.model.metadata.pricing ?? null }];
    });
    return all.toSorted((a, b) => a.group.localeCompare(b.group) || a.id.localeCompare(b.id));
  }, [listed, entries]);
  return { choices, error: names.error, isPending: names.isPending || (inventory.isPending && inventory.fetchStatus !== "idle"), refetch: () => void names.refetch() };
}

/** Price of tokens in dollars; null without a price. */
export function priceOf(pricing: Pricing | null | undefined, usage: Pick<Usage, "prompt_tokens" | "completion_tokens">): number | null {
  if (pricing?.input_per_mtok == null || pricing.output_per_mtok == null) return null;
  return (usage.prompt_tokens * pricing.input_per_mtok + usage.completion_tokens * pricing.output_per_mtok) / 1e6;
}

export type Cost = { value: number | null; estimated: boolean; known: boolean };

/** Cost of an answer: as the gateway says it, or for streams estimated from the price of the model that served. */
export function costOf(answer: Answer, choices: Choice[]): Cost {
  const said = answer.headers["x-gateway-cost-usd"];
  if (said !== undefined) return { value: Number(said), estimated: false, known: true };
  if (answer.headers["x-gateway-cache"]?.startsWith("hit")) return { value: 0, estimated: false, known: true };
  const served = choices.find((choice) => choice.id === answer.headers["x-gateway-model"]);
  if (!answer.usage || !served) return { value: null, estimated: false, known: false };
  return { value: priceOf(served.pricing, answer.usage), estimated: true, known: true };
}
