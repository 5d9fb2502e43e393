import type { Schema } from "@/api/client";

export type Verdict = Schema<"GuardrailVerdict">;
export type Entry = Schema<"AuditEntryView">;
export type Stats = Schema<"AuditStatsView">;
export type AuditLog = Schema<"AuditLogView">;
