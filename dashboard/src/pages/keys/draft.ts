import type { Schema } from "@/api/client";
import { count, longDay } from "@/format";
import { LIMITS, type Key } from "./queries";

/** A key as the form edits it; null lists are without limit. */
export type Draft = {
  name: string;
  description: string;
  user_path: string;
  scopes: string[];
  expiry: string | null;
  allowed_models: string[] | null;
  denied_models: string[] | null;
  allowed_providers: string[] | null;
  provider_pool_id: string;
  rate_limits: Partial<Schema<"RateLimits">>;
};

export const EMPTY: Draft = {
  name: "",
  description: "",
  user_path: "/",
  scopes: ["inference"],
  expiry: null,
  allowed_models: null,
  denied_models: null,
  allowed_providers: null,
  provider_pool_id: "",
  rate_limits: {},
};

export const draftOf = (key: Key): Draft => ({
  name: key.name,
  description: key.description ?? "",
  user_path: key.user_path ?? "/",
  scopes: key.scopes,
  expiry: key.expiry ?? null,
  allowed_models: key.allowed_models ?? null,
  denied_models: key.denied_models ?? null,
  allowed_providers: key.allowed_providers ?? null,
  provider_pool_id: key.provider_pool_id ?? "",
  rate_limits: key.rate_limits,
});

/** The request body; empty members are left out for a new key. */
export function bodyOf(draft: Draft) {
  const limits = Object.fromEntries(Object.entries(draft.rate_limits).filter(([, value]) => value !== null && value !== undefined && value !== false));
  return { ...draft, name: draft.name.trim(), provider_pool_id: draft.provider_pool_id || null, description: draft.description || null, rate_limits: limits };
}

export function newBody(draft: Draft): Schema<"CreateKey"> {
  const body = Object.entries(bodyOf(draft)).filter(([name, value]) => value !== null && !(name === "rate_limits" && !Object.keys(value as object).length));
  return Object.fromEntries(body) as Schema<"CreateKey">;
}

const listed = (names: string[]) => (names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
const UNITS = {
  requests_per_minute: "calls a minute",
  tokens_per_minute: "tokens a minute",
  requests_per_day: "calls a day",
  tokens_per_day: "tokens a day",
  max_parallel_requests: "at once",
} as const;

/** The rules of a draft as a sentence. */
export function inWords(draft: Draft): string {
  const calls = draft.scopes.includes("inference");
  const models = draft.allowed_models === null ? "any model" : draft.allowed_models.length ? listed(draft.allowed_models) : "no model";
  const denied = draft.denied_models?.length ? ` but not ${listed(draft.denied_models)}` : "";
  const limits = LIMITS.flatMap(({ name }) => (draft.rate_limits[name] ? [`${count(draft.rate_limits[name])} ${UNITS[name]}`] : []));
  const other = draft.scopes.filter((scope) => scope !== "inference");
  const parts = [
    calls ? `may call ${models}${denied}${limits.length ? `, at most ${listed(limits)}` : " without limits"}` : "may not call models",
    ...(other.length ? [`has ${listed(other)}`] : []),
  ];
  const until = draft.expiry ? `, until ${longDay(draft.expiry)}` : "";
  return `${draft.name.trim() || "This key"} ${parts.join(" and ")}${until}. Costs count on ${draft.user_path || "/"}.`;
}

/** Validation errors of a draft by field. */
export function problems(draft: Draft): Record<string, string> {
  const found: Record<string, string> = {};
  if (!draft.name.trim()) found.name = "A key needs a name, e.g. search-indexer.";
  if (!draft.user_path.startsWith("/")) found.user_path = "A path begins with /, e.g. /search/indexer.";
  if (!draft.scopes.length) found.scopes = "Choose at least one scope, e.g. inference.";
  for (const { name } of LIMITS) {
    const value = draft.rate_limits[name];
    if (value != null && (value < 1 || !Number.isInteger(value))) found[name] = "A whole number from 1 on; empty is no limit.";
  }
  return found;
}
