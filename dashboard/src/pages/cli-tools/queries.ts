import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

export type CliTool = Schema<"CliToolView">;
export type Connection = { api_key: string; base_url: string; model: string; model_overrides: Record<string, string>; models: string[] };

/** Stands for the key while none is given; the gateway masks it like any other. */
const PLACEHOLDER = "your-gateway-key";

export const useTools = () => useResource(["cli-tools"], (signal) => api.GET("/admin/api/v1/cli-tools", { signal }), { staleTime: Infinity });

/** The request body: empty fields are left out. */
export function bodyOf({ api_key, base_url, model, model_overrides, models }: Connection): Schema<"ToolConnection"> {
  const overrides = Object.fromEntries(Object.entries(model_overrides).filter(([, value]) => value));
  return { api_key: api_key || PLACEHOLDER, ...(base_url && { base_url }), ...(model && { model }), ...(Object.keys(overrides).length && { model_overrides: overrides }), ...(models.length && { models }) };
}

export function usePreview(tool: string, connection: Connection) {
  const body = bodyOf(connection);
  const key = { ...body, api_key: `${body.api_key.length} ${body.api_key.slice(-4)}` };
  return useResource(["cli-tools", tool, "preview", key], (signal) => api.POST("/admin/api/v1/cli-tools/{tool}/preview", { params: { path: { tool } }, body, signal }), { enabled: Boolean(tool), keepPrevious: true });
}

/** Names for the model fields; read when one gets the focus. */
export function useModelNames(enabled: boolean): string[] {
  const models = useResource(["v1-models"], (signal) => api.GET("/v1/models", { signal }), { enabled, staleTime: 60_000 });
  return (models.data as { data: { id: string }[] } | undefined)?.data.map((model) => model.id) ?? [];
}

/** Puts the key in the place of its mask, or the placeholder when there is none. */
export function unmask(text: string, key: string): string {
  const value = key || PLACEHOLDER;
  return text.replaceAll(`****${value.slice(-4)}`, value).replaceAll("****", value);
}
