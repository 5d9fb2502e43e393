import { api, request, type Schema } from "@/api/client";
import type { DocumentKind } from "@/api/document";
import { useResource } from "@/api/query";

export type Combo = Schema<"ComboView">;
export type ComboBody = { description: string; selectors: string[]; strategy: Schema<"Strategy">; weights: Record<string, number> };

export const COMBOS: DocumentKind<Combo, ComboBody> = {
  key: "combos",
  noun: "combo",
  read: (id, signal) => api.GET("/admin/api/v1/combos/{id}", { params: { path: { id } }, signal }),
  write: (id, body, headers) => api.PUT("/admin/api/v1/combos/{id}", { params: { path: { id } }, body, headers }),
  create: (name, body) => api.POST("/admin/api/v1/combos", { body: { name, ...body } }),
  remove: (id, headers) => api.DELETE("/admin/api/v1/combos/{id}", { params: { path: { id } }, headers }),
  bodyOf: ({ description, selectors, strategy, weights }) => ({ description, selectors, strategy, weights }),
  fields: ["name", "description", "selectors", "strategy", "weights"],
  alsoStale: [["selectors"]],
};

export const useCombos = () => useResource(["combos", "list"], (signal) => api.GET("/admin/api/v1/combos", { signal }));

/** Everything that a call can name: models, aliases, combos and pools. */
export function useSelectors(enabled: boolean) {
  return useResource(
    ["selectors"],
    async (signal) => {
      const response = await request("/v1/models", { signal });
      return { data: (await response.json()) as { data: { id: string; owned_by?: string }[] }, response };
    },
    { enabled, staleTime: 60_000 },
  );
}
