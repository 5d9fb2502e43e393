import type { Change } from "./queries";

type Document = Record<string, unknown>;
const isObject = (value: unknown): value is Document => typeof value === "object" && value !== null && !Array.isArray(value);
const QUIET = new Set(["updated_at", "created_at", "revision"]);
const MOST = 8;

/** The members that a change touched, e.g. "enabled, rate_limits.requests_per_minute". */
export function summaryOf({ before, after }: Pick<Change, "before" | "after">): string {
  const names: string[] = [];
  const compare = (a: Document, b: Document, path: string, depth: number) => {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const [x, y] = [a[name], b[name]];
      if (QUIET.has(name) || JSON.stringify(x) === JSON.stringify(y)) continue;
      // The values of settings have full names already.
      const full = path && path !== "values" ? `${path}.${name}` : name;
      if (isObject(x) && isObject(y) && depth < 3) compare(x, y, full, depth + 1);
      else names.push(full);
    }
  };
  if (isObject(before) && isObject(after)) compare(before, after, "", 0);
  return names.length > MOST ? `${names.slice(0, MOST).join(", ")} and ${names.length - MOST} more` : names.join(", ");
}

const PERIODS: Record<string, string> = { "3600": "hourly", "86400": "daily", "604800": "weekly", "2592000": "monthly" };

/** A budget is stored as its path and the length of its period, e.g. "/search|86400". */
export function budgetTitle(name: string): string {
  const [path = name, seconds] = name.split("|");
  return seconds ? `${path}, ${PERIODS[seconds] ?? `${seconds} s`}` : path;
}

/** The name of an object for people: what is stored under an id has a name or an email of its own. */
export function titleOf({ kind, name, before, after }: Change): string {
  const document = isObject(after) ? after : isObject(before) ? before : {};
  const own = kind === "user" ? document.email : kind === "auth_key" || kind === "workflow" || kind === "combo" ? document.name : undefined;
  if (kind === "budget") return budgetTitle(name);
  return typeof own === "string" && own !== "" ? own : name;
}
