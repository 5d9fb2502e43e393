import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

export type Role = Schema<"RoleView">;
export type Effect = "allow" | "deny";
export type Permission = { action: string; resource: string; effect: Effect };
export type RoleBody = { name?: string; description: string; permissions: Permission[] };

export const ROLES = ["identity", "roles"];

export const useRoles = () => useResource([...ROLES, "list"], (signal) => api.GET("/admin/api/v1/identity/roles", { params: { query: { limit: 1000 } }, signal }));
/** The areas that rules can name, read when a role is opened. */
export const usePermissionWords = () => useResource(["identity", "permissions"], (signal) => api.GET("/admin/api/v1/identity/permissions", { signal }), { staleTime: Infinity });
export const useRole = (name: string | null) => useResource([...ROLES, "one", name], (signal) => api.GET("/admin/api/v1/identity/roles/{name}", { params: { path: { name: name ?? "" } }, signal }), { enabled: name !== null, staleTime: 0 });

export const createRole = (body: RoleBody) => api.POST("/admin/api/v1/identity/roles", { body: body as never });
export const putRole = (name: string, body: RoleBody, headers: Record<string, string> = {}) => api.PUT("/admin/api/v1/identity/roles/{name}", { params: { path: { name } }, body: body as never, headers });
export const deleteRole = (name: string) => api.DELETE("/admin/api/v1/identity/roles/{name}", { params: { path: { name } } });

export const permissionsOf = (role: Role): Permission[] => role.permissions as unknown as Permission[];
export const bodyOf = (role: Role): RoleBody => ({ description: role.description, permissions: permissionsOf(role) });
