import { api, unwrap } from "@/api/client";
import { POOLS, PROVIDERS, type Pool, type ProviderBody } from "./queries";

export type Audience = "everyone" | "paths" | "nobody";
export type NewProvider = { name: string; body: ProviderBody; audience: Audience; paths: string[]; pool: Pool | null };

/**
 * Creates a provider. If not everyone may use it, it is created disabled, gets the rule, and is enabled then, so that
 * nobody can use it in between.
 */
export async function addProvider({ name, body, audience, paths, pool }: NewProvider) {
  const open = audience === "everyone" || !body.enabled;
  let stored = await unwrap(PROVIDERS.create!(name, { ...body, enabled: open ? body.enabled : false }));
  if (audience !== "everyone") {
    const rule = { enabled: audience === "paths", user_paths: audience === "paths" ? paths : [] };
    await unwrap(api.PUT("/admin/api/v1/model-overrides/{selector}", { params: { path: { selector: `${name}/*` } }, body: rule }));
    stored = await unwrap(PROVIDERS.write(name, { ...body, api_key: undefined }));
  }
  if (pool) await unwrap(POOLS.write(pool.name, { ...POOLS.bodyOf(pool), members: [...pool.members, name] }));
  return stored;
}

/** A name that is not taken: the type, or the type with a number. */
export function freeName(type: string, taken: readonly string[]): string {
  const base = type.replaceAll("_", "-");
  let name = base;
  for (let i = 2; taken.includes(name); i++) name = `${base}-${i}`;
  return name;
}
