import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

export type Tenant = Schema<"TenantView">;
export type TenantBody = Schema<"TenantBody">;
export type Metadata = Record<string, unknown>;

export const TENANTS = ["tenants"];

export const useTenants = () => useResource([...TENANTS, "list"], (signal) => api.GET("/admin/api/v1/tenants", { params: { query: { limit: 1000 } }, signal }));
export const useTenant = (id: string | null) => useResource([...TENANTS, "one", id], (signal) => api.GET("/admin/api/v1/tenants/{id}", { params: { path: { id: id ?? "" } }, signal }), { enabled: id !== null, staleTime: 0 });

export const createTenant = (slug: string, name: string, metadata: Metadata) => api.POST("/admin/api/v1/tenants", { body: { slug, name: name || null, metadata: metadata as never } });
export const putTenant = (id: string, name: string, metadata: Metadata, headers: Record<string, string> = {}) => api.PUT("/admin/api/v1/tenants/{id}", { params: { path: { id } }, body: { name, metadata: metadata as never }, headers });
export const deleteTenant = (id: string) => api.DELETE("/admin/api/v1/tenants/{id}", { params: { path: { id } } });
export const suspendTenant = (id: string) => api.POST("/admin/api/v1/tenants/{id}/suspend", { params: { path: { id } } });
export const activateTenant = (id: string) => api.POST("/admin/api/v1/tenants/{id}/activate", { params: { path: { id } } });
