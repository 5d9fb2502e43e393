import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

export type Version = Schema<"WorkflowVersion">;
export type Unreadable = Schema<"UnreadableWorkflow">;
export type WorkflowRecord = Schema<"WorkflowRecord">;
export type Scope = Partial<Schema<"WorkflowScope">>;
/** A payload while it is edited: members may be missing. */
export type Payload = {
  schema_version?: number;
  features?: Partial<Schema<"WorkflowFeatures">>;
  guardrails?: Schema<"GuardrailStep">[];
  routing?: Partial<Schema<"RoutingOptions">> | null;
  cache?: Partial<Schema<"CacheOptions">> | null;
};
export type WorkflowBody = { scope?: Scope; name: string; description?: string | null; workflow_payload?: Payload };

export const WORKFLOWS = ["workflows"];

/** All versions of all scopes: the tree, the versions and their differences come from this one answer. */
export const useVersions = () => useResource([...WORKFLOWS, "versions"], (signal) => api.GET("/admin/api/v1/workflows/versions", { params: { query: { limit: 1000 } }, signal }));

export const useUsableGuardrails = () => useResource([...WORKFLOWS, "guardrails"], (signal) => api.GET("/admin/api/v1/workflows/guardrails", { params: { query: { limit: 1000 } }, signal }));

export const createVersion = (body: WorkflowBody) => api.POST("/admin/api/v1/workflows", { body: body as Schema<"WorkflowBody"> });
export const activate = (id: string) => api.POST("/admin/api/v1/workflows/{id}/activate", { params: { path: { id } } });
export const deactivate = (id: string) => api.POST("/admin/api/v1/workflows/{id}/deactivate", { params: { path: { id } } });

export const isReadable = (record: WorkflowRecord): record is Version => "workflow_payload" in record;

/** The request body of a new version. */
export function bodyOf({ scope, name, description, workflow_payload }: Version): WorkflowBody {
  return { scope, name, description: description ?? null, workflow_payload };
}

/** The part of a version that is compared with others. */
export const comparable = ({ name, description, workflow_payload }: Pick<WorkflowBody, "name" | "description" | "workflow_payload">) => ({ name, description: description ?? null, ...workflow_payload });
