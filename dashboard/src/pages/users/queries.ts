import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

export type User = Schema<"UserView">;
export type UserBody = Schema<"UserBody">;

export const USERS = ["identity", "users"];

export const useUsers = () => useResource([...USERS, "list"], (signal) => api.GET("/admin/api/v1/identity/users", { params: { query: { limit: 1000 } }, signal }));
export const useUser = (id: string | null) => useResource([...USERS, "one", id], (signal) => api.GET("/admin/api/v1/identity/users/{id}", { params: { path: { id: id ?? "" } }, signal }), { enabled: id !== null, staleTime: 0 });
export const useRoleList = () => useResource(["identity", "roles", "list"], (signal) => api.GET("/admin/api/v1/identity/roles", { params: { query: { limit: 1000 } }, signal }));

export const createUser = (body: UserBody) => api.POST("/admin/api/v1/identity/users", { body });
export const putUser = (id: string, body: UserBody, headers: Record<string, string> = {}) => api.PUT("/admin/api/v1/identity/users/{id}", { params: { path: { id } }, body, headers });
export const deleteUser = (id: string) => api.DELETE("/admin/api/v1/identity/users/{id}", { params: { path: { id } } });

/** The writable fields of a user; an absent password stays as it is. */
export function bodyOf({ email, name, roles, user_path, tenant_id, active }: User): UserBody {
  return { email, name, roles, user_path: user_path ?? null, tenant_id: tenant_id ?? null, active };
}
