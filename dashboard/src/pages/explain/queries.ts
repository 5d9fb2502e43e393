import { useMutation } from "@tanstack/react-query";
import { api, unwrap, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import type { Entry } from "@/pages/audit/types";

export type Explanation = Schema<"Explanation">;
export type ExplainRequest = Schema<"ExplainRequest">;
export type ReplayResult = Schema<"ReplayResult">;
export type Change = Schema<"DocumentChange">;

/** The keys that a call can be explained for. */
export const useKeys = (enabled: boolean) => useResource(["explain-keys"], (signal) => api.GET("/admin/api/v1/auth-keys", { params: { query: { limit: 100 } }, signal }), { enabled });

/** The audited call that the address names. */
export const useCall = (id: string) =>
  useResource(["audit-entry", id], async (signal) => (await api.GET("/admin/api/v1/audit/log/{id}", { params: { path: { id } }, signal })) as { data?: Entry; error?: unknown; response: Response }, { enabled: id !== "", staleTime: Infinity });

/** The newest calls, to pick one. */
export const useCalls = (search: string) =>
  useResource(["explain-calls", search], async (signal) => (await api.GET("/admin/api/v1/audit/log", { params: { query: { days: 30, limit: 25, ...(search && { search }) } }, signal })) as { data?: { entries: Entry[] }; error?: unknown; response: Response }, { keepPrevious: true });

export const useExplain = () => useMutation({ mutationFn: (body: ExplainRequest) => unwrap(api.POST("/admin/api/v1/explain", { body })) });

export const useReplay = () => useMutation({ mutationFn: (body: { changes: Change[]; limit: number }) => unwrap(api.POST("/admin/api/v1/explain/replay", { body })) });
