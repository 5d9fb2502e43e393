import type { Change } from "./queries";

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const QUIET = new Set(["updated_at", "created_at", "revision"]);

/** The members that a change touched, e.g. "enabled, rate_limits". */
export function summaryOf({ before, after }: Pick<Change, "before" | "after">): string {
  if (!isObject(before) || !isObject(after)) return "";
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => !QUIET.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name])).join(", ");
}
