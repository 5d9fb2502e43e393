import type { Schema } from "@/api/client";

export type Verdict = Schema<"GuardrailVerdict">;

export type Attempt = Schema<"AttemptView"> & { first_byte_ms?: number | null; streamed_ms?: number | null; retry_after_ms?: number | null; translated_to?: string | null };

/** The decisions about a call, in their order; null for entries of older versions. */
export type CallJourney = {
  caller: { auth_method: string; auth_key_id: string | null; name: string | null; redacted_value: string | null; user_path: string } | null;
  resolution: { steps: { kind: string; name: string }[]; targets: string[]; target_count: number } | null;
  workflow: { id: string; name: string; version: number } | null;
  guardrails: { request_ms: number | null; verdicts: Verdict[] } | null;
  limits: { scope: string; limit: number; used: number }[];
  budget: { reserved: number | null; settled: number | null; released: number | null; budgets: { user_path: string; period_label: string; remaining: number | null }[]; max_tokens_clamped?: { asked: number; used: number } | null } | null;
  cache: { status: string; reason: string | null } | null;
  reply: { status_code: number; stream: boolean; finish_reason: string | null; output_tokens: number | null; total_cost: number | null; ttft_ms: number | null; duration_ms: number; error_code: string | null };
  gateway_ms: number;
  provider_ms: number;
};

export type Entry = Omit<Schema<"AuditEntryView">, "attempts" | "journey" | "auth_key_name"> & { attempts: Attempt[]; auth_key_name?: string | null; journey?: CallJourney | null };
export type Stats = Schema<"AuditStatsView">;
export type AuditLog = Omit<Schema<"AuditLogView">, "entries" | "total" | "total_is_exact"> & { entries: Entry[]; total?: number; total_is_exact?: boolean };
