import { api, type Schema } from "@/api/client";
import type { DocumentKind } from "@/api/document";
import { useResource } from "@/api/query";

export type Model = Schema<"ModelEntry">;
export type Alias = Schema<"AliasView">;
export type Override = Schema<"OverrideView">;
export type Price = Schema<"PriceView">;
export type ModelPrice = Partial<Schema<"ModelPrice">>;

export const useModels = (enabled = true) => useResource(["models", "list"], (signal) => api.GET("/admin/api/v1/models", { signal }), { enabled, staleTime: 60_000 });
export const useAliases = () => useResource(["aliases", "list"], (signal) => api.GET("/admin/api/v1/aliases", { signal }));
export const useOverrides = () => useResource(["model-overrides", "list"], (signal) => api.GET("/admin/api/v1/model-overrides", { signal }));
export const usePrices = () => useResource(["model-pricing", "list"], (signal) => api.GET("/admin/api/v1/model-pricing", { signal }));

export type AliasBody = { target: string; description: string };
export const ALIASES: DocumentKind<Alias, AliasBody> = {
  key: "aliases",
  noun: "alias",
  read: (name, signal) => api.GET("/admin/api/v1/aliases/{name}", { params: { path: { name } }, signal }),
  write: (name, body, headers) => api.PUT("/admin/api/v1/aliases/{name}", { params: { path: { name } }, body, headers }),
  remove: (name, headers) => api.DELETE("/admin/api/v1/aliases/{name}", { params: { path: { name } }, headers }),
  bodyOf: ({ target, description }) => ({ target, description }),
  fields: ["name", "target", "description"],
  alsoStale: [["selectors"]],
};

export type OverrideBody = { enabled: boolean; user_paths: string[]; metadata: Partial<Schema<"Metadata">> };
export const OVERRIDES: DocumentKind<Override, OverrideBody> = {
  key: "model-overrides",
  noun: "override",
  read: (selector, signal) => api.GET("/admin/api/v1/model-overrides/{selector}", { params: { path: { selector } }, signal }),
  write: (selector, body, headers) => api.PUT("/admin/api/v1/model-overrides/{selector}", { params: { path: { selector } }, body: body as Schema<"OverrideBody">, headers }),
  remove: (selector, headers) => api.DELETE("/admin/api/v1/model-overrides/{selector}", { params: { path: { selector } }, headers }),
  bodyOf: ({ enabled, user_paths, metadata }) => ({ enabled, user_paths, metadata }),
  fields: ["selector", "enabled", "user_paths", "metadata"],
  alsoStale: [["models"], ["selectors"]],
};

/** The fields of a price: its name in the API, a label, and per what. */
export const PRICE_FIELDS = [
  ["input_per_mtok", "Input", "M tokens"],
  ["output_per_mtok", "Output", "M tokens"],
  ["cached_input_per_mtok", "Cached input", "M tokens"],
  ["cache_write_per_mtok", "Cache write", "M tokens"],
  ["cache_write_1h_per_mtok", "Cache write, 1 h", "M tokens"],
  ["reasoning_output_per_mtok", "Reasoning output", "M tokens"],
  ["batch_input_per_mtok", "Batch input", "M tokens"],
  ["batch_output_per_mtok", "Batch output", "M tokens"],
  ["audio_input_per_mtok", "Audio input", "M tokens"],
  ["audio_output_per_mtok", "Audio output", "M tokens"],
  ["per_image", "Image", "image"],
  ["per_request", "Request", "request"],
  ["per_second_input", "Audio second", "second"],
  ["per_character_input", "Character", "character"],
] as const;

/** Absent members keep their value in a PUT; null clears them. */
const CLEARED = Object.fromEntries([...PRICE_FIELDS.map(([name]) => [name, null]), ["tiers", null]]);

export const PRICES: DocumentKind<Price, ModelPrice> = {
  key: "model-pricing",
  noun: "price",
  read: (selector, signal) => api.GET("/admin/api/v1/model-pricing/{selector}", { params: { path: { selector } }, signal }),
  write: (selector, body, headers) =>
    Object.keys(body).length ? api.PUT("/admin/api/v1/model-pricing/{selector}", { params: { path: { selector } }, body: { ...CLEARED, ...body } as unknown as Schema<"ModelPrice">, headers }) : (api.DELETE("/admin/api/v1/model-pricing/{selector}", { params: { path: { selector } }, headers }) as never),
  remove: (selector, headers) => api.DELETE("/admin/api/v1/model-pricing/{selector}", { params: { path: { selector } }, headers }),
  bodyOf: ({ override }) => overrideOf(override),
  fields: ["selector", "tiers", ...PRICE_FIELDS.map(([name]) => name)],
  alsoStale: [["models"]],
};

/** The prices of an override without its selector and what is not set. */
export function overrideOf(price: ModelPrice | null | undefined): ModelPrice {
  return Object.fromEntries(Object.entries(price ?? {}).filter(([name, value]) => name !== "selector" && name !== "currency" && value != null)) as ModelPrice;
}

const digits = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 6 });

/** A price per million tokens: "$2.50"; null is "–". */
export const rate = (value: number | null | undefined) => (value == null ? "–" : `$${digits.format(value)}`);

/** Input and output of a price in one text: "$2.50 / $10.00"; "unpriced" without a price. */
export function rates(price: ModelPrice | null | undefined): string {
  if (!price) return "unpriced";
  if (price.input_per_mtok != null || price.output_per_mtok != null) return price.output_per_mtok == null ? rate(price.input_per_mtok) : `${rate(price.input_per_mtok)} / ${rate(price.output_per_mtok)}`;
  const [name, value] = Object.entries(price).find(([key, each]) => key.startsWith("per_") && each != null) ?? [];
  return name ? `${rate(value as number)} ${name.replaceAll("_", " ")}` : "unpriced";
}
