import { ADMIN, api, BASE, request, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

export type ProviderType = Schema<"TypeView">;
type TestResult = { ok: boolean; latency_ms: number; model_count?: number | null; error?: string | null };
export type NewProvider = { type: string; name: string; api_key?: string; base_url?: string };

export const useProviders = () => useResource(["providers"], (signal) => api.GET("/admin/api/v1/providers", { signal }));
export const useTypes = () => useResource(["providers", "types"], (signal) => api.GET("/admin/api/v1/providers/types", { signal }), { staleTime: Infinity });

/** Tests a provider that is not stored yet. */
export async function testProvider(body: NewProvider): Promise<TestResult> {
  const response = await request(`${ADMIN}/providers/test`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return (await response.json()) as TestResult;
}

export type DemoAnswer = { question: string; text: string; model: string; ms: number; headers: { requestId: string | null; provider: string | null; model: string | null; cache: string | null } };

/** One call of the demo model. */
export async function askDemo(model: string, question: string): Promise<DemoAnswer> {
  const start = performance.now();
  const response = await request(`${BASE}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model, messages: [{ role: "user", content: question }] }) });
  const body = (await response.json()) as { choices: { message: { content: string } }[]; model: string };
  const get = (name: string) => response.headers.get(name);
  return { question, text: body.choices[0]?.message.content ?? "", model: body.model, ms: performance.now() - start, headers: { requestId: get("x-request-id"), provider: get("x-gateway-provider"), model: get("x-gateway-model"), cache: get("x-gateway-cache") } };
}
