import { api, unwrap, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

export type Guardrail = Schema<"GuardrailView">;
export type GuardrailType = Schema<"GuardrailTypeView">;
export type GuardrailBody = Schema<"GuardrailBody">;

/** A match in the sample text, in UTF-16 code units. */
export type Span = Schema<"FindingSpan">;
export type DryRun = Schema<"GuardrailDryRun">;

export const GUARDRAILS = ["guardrails"];

export const useGuardrails = () => useResource([...GUARDRAILS, "list"], (signal) => api.GET("/admin/api/v1/guardrails", { params: { query: { limit: 1000 } }, signal }));

/** The workflows in force, for what uses a guardrail. */
export const useActiveWorkflows = () => useResource(["workflows", "active"], (signal) => api.GET("/admin/api/v1/workflows", { params: { query: { limit: 1000 } }, signal }));

export const useGuardrailTypes = (enabled: boolean) => useResource([...GUARDRAILS, "types"], (signal) => api.GET("/admin/api/v1/guardrails/types", { signal }), { enabled, staleTime: Infinity });

/** One guardrail with its tag, read when it is edited. */
export const useGuardrail = (name: string | null) => useResource([...GUARDRAILS, "one", name], (signal) => api.GET("/admin/api/v1/guardrails/{name}", { params: { path: { name: name ?? "" } }, signal }), { enabled: name !== null, staleTime: 0 });

export const putGuardrail = (name: string, body: GuardrailBody, headers: Record<string, string> = {}) => api.PUT("/admin/api/v1/guardrails/{name}", { params: { path: { name } }, body, headers });
export const deleteGuardrail = (name: string) => api.DELETE("/admin/api/v1/guardrails/{name}", { params: { path: { name } } });

export const testGuardrail = (name: string, body: Schema<"GuardrailSample">): Promise<DryRun> => unwrap(api.POST("/admin/api/v1/guardrails/{name}/test", { params: { path: { name } }, body }));

/** The writable fields of a guardrail. */
export function bodyOf({ type, config, direction, mode, description, user_path, on_error, on_unreadable }: Guardrail): GuardrailBody {
  return { type, config, direction, mode, description: description ?? null, user_path: user_path ?? null, on_error, on_unreadable };
}

/** A workflow in force that refers to a guardrail. */
export type Use = { id: string; name: string; scope: string };

/** The workflows in force that refer to a guardrail. */
export function usesOf(name: string, workflows: readonly Schema<"WorkflowRecord">[] | undefined): Use[] {
  return (workflows ?? []).flatMap((record) => {
    if (!("workflow_payload" in record) || !record.workflow_payload.guardrails?.some((step) => step.ref === name)) return [];
    const { scope_user_path: path, scope_provider_name: provider, scope_model: model } = record.scope;
    return [{ id: record.id, name: record.name, scope: [path, provider, model].filter(Boolean).join(" · ") || "all calls" }];
  });
}
