import type { Effect, Permission } from "./queries";

export type Action = "read" | "write";
export const ACTIONS: Action[] = ["read", "write"];

/** The effect of the rules for exactly this action and resource, without wildcard rules. */
export function ownEffect(rules: readonly Permission[], resource: string, action: Action): Effect | null {
  const found = rules.filter((rule) => rule.resource === resource && (rule.action === action || rule.action === "*"));
  return found.some((rule) => rule.effect === "deny") ? "deny" : found.length ? "allow" : null;
}

/** The effective permission: deny wins, and without a rule nothing is allowed. */
export function effective(rules: readonly Permission[], resource: string, action: Action): Effect {
  const found = [ownEffect(rules, resource, action), ownEffect(rules, "*", action)];
  return found.includes("deny") ? "deny" : found.includes("allow") ? "allow" : "deny";
}

/** The rules with one cell of the table set; equal effects of both actions become one rule. */
export function withEffect(rules: readonly Permission[], resource: string, action: Action, effect: Effect | null): Permission[] {
  const cells = { read: ownEffect(rules, resource, "read"), write: ownEffect(rules, resource, "write"), [action]: effect };
  const next: Permission[] = [];
  if (cells.read && cells.read === cells.write) next.push({ action: "*", resource, effect: cells.read });
  else for (const each of ACTIONS) if (cells[each]) next.push({ action: each, resource, effect: cells[each] });
  const at = rules.findIndex((rule) => rule.resource === resource);
  const others = rules.filter((rule) => rule.resource !== resource);
  const place = at < 0 ? others.length : rules.slice(0, at).filter((rule) => rule.resource !== resource).length;
  return [...others.slice(0, place), ...next, ...others.slice(place)];
}

/** A rule in words: "read audit", "not write identity". */
export const ruleWords = ({ action, resource, effect }: Permission): string => {
  const what = resource === "*" ? "everything" : resource;
  return `${effect === "deny" ? "not " : ""}${action !== "*" ? `${action} ` : resource === "*" ? "" : "all of "}${what}`;
};
