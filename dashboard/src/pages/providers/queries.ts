import { ADMIN, api, request, type Schema } from "@/api/client";
import type { DocumentKind } from "@/api/document";
import { useResource } from "@/api/query";

/** Calls, errors and mean first byte per minute of the last hour, oldest first. */
export type Series = Schema<"RecentCalls">;
export type ModelStatus = Schema<"ModelHealth">;
export type ProviderStatus = Schema<"StatusView">;
export type Provider = Schema<"ProviderView">;
export type ProviderType = Schema<"TypeView">;
export type Resilience = Partial<Schema<"Resilience">>;
export type Member = Schema<"MemberStatus">;
export type Pool = Schema<"PoolView">;
export type TestResult = Schema<"TestResult">;

export type PoolBody = { description: string; members: string[]; strategy: Schema<"Strategy">; weights: Record<string, number>; health_aware: boolean };
export type ProviderBody = { type: string; api_key?: string; base_url: string; api_version: string; models: string[]; headers: Record<string, string>; enabled: boolean; priority: number; resilience: Resilience };

export const useStatus = () => useResource(["providers", "status"], (signal) => api.GET("/admin/api/v1/providers/status", { signal }), { refetchInterval: 15_000 });
export const usePools = () => useResource(["pools", "list"], (signal) => api.GET("/admin/api/v1/pools", { signal }), { refetchInterval: 15_000 });
export const useTypes = () => useResource(["provider-types"], (signal) => api.GET("/admin/api/v1/providers/types", { signal }), { staleTime: Infinity });

export const POOLS: DocumentKind<Pool, PoolBody> = {
  key: "pools",
  noun: "pool",
  read: (name, signal) => api.GET("/admin/api/v1/pools/{name}", { params: { path: { name } }, signal }),
  write: (name, body, headers) => api.PUT("/admin/api/v1/pools/{name}", { params: { path: { name } }, body, headers }),
  create: (name, body) => api.POST("/admin/api/v1/pools", { body: { name, ...body } }),
  remove: (name, headers) => api.DELETE("/admin/api/v1/pools/{name}", { params: { path: { name } }, headers }),
  bodyOf: ({ description, members, strategy, weights, health_aware }) => ({ description, members, strategy, weights, health_aware }),
  fields: ["name", "description", "members", "strategy", "weights"],
  alsoStale: [["selectors"]],
};

export const PROVIDERS: DocumentKind<Provider, ProviderBody> = {
  key: "providers",
  noun: "provider",
  read: (name, signal) => api.GET("/admin/api/v1/providers/{name}", { params: { path: { name } }, signal }),
  write: (name, body, headers) => api.PUT("/admin/api/v1/providers/{name}", { params: { path: { name } }, body: body as Schema<"ProviderBody">, headers }),
  create: (name, body) => api.POST("/admin/api/v1/providers", { body: { name, ...body } as Schema<"ProviderBody"> }),
  remove: (name, headers) => api.DELETE("/admin/api/v1/providers/{name}", { params: { path: { name } }, headers }),
  bodyOf: ({ type, base_url, api_version, models, headers, enabled, priority, resilience }) => ({ type, base_url, api_version, models, headers, enabled, priority, resilience }),
  fields: ["name", "type", "api_key", "base_url", "api_version", "models", "headers", "priority", "resilience"],
  alsoStale: [["pools"], ["models"], ["selectors"]],
  restorable: false,
};

const POST = { method: "POST", headers: { "Content-Type": "application/json" } };

/** Connects to a provider that is not stored, and lists its models. */
export async function testUnsaved(body: ProviderBody & { name?: string }): Promise<TestResult> {
  const response = await request(`${ADMIN}/providers/test`, { ...POST, body: JSON.stringify(body) });
  return (await response.json()) as TestResult;
}

export const testStored = (name: string) => api.POST("/admin/api/v1/providers/{name}/test", { params: { path: { name } } });
export const discover = (name: string) => api.POST("/admin/api/v1/providers/{name}/discover", { params: { path: { name } } });

/** Body of a new provider of a type. */
export const newProvider = (type: string): ProviderBody => ({ type, base_url: "", api_version: "", models: [], headers: {}, enabled: true, priority: 0, resilience: {} });

/** Host of an address, for a line under a title. */
export function hostOf(address: string | null | undefined): string | null {
  if (!address) return null;
  try {
    return new URL(address).host;
  } catch {
    return address;
  }
}
