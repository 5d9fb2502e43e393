import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, type ReactNode } from "react";
import { ADMIN, api, request, unwrap, type Schema } from "@/api/client";
import { queryClient } from "@/api/query";

/** The signed-in user or key. */
export type Caller = { name: string | null; email: string | null; roles: string[]; scopes: string[]; userPath: string; tenant: string | null };

type Config = Schema<"DashboardConfig">;
export type Session = { config: Config; caller: Caller };

const callerOf = (me: Schema<"Me">): Caller => ({ name: me.user?.name ?? me.principal.name ?? null, email: me.user?.email ?? null, roles: me.roles, scopes: me.scopes, userPath: me.user_path, tenant: me.tenant_id ?? null });

/** The enabled sign-in methods; part of the configuration that needs no credential. */
export type SignInWays = Config["identity"];
let ways: SignInWays | null = null;

async function readSession(): Promise<Session | null> {
  const config = await unwrap(api.GET("/admin/api/v1/dashboard/config"));
  ways = config.identity;
  return config.caller ? { config, caller: callerOf(config.caller) } : null;
}

/** The sign-in methods of the last configuration that was read. */
export const signInWays = (): SignInWays => ways ?? { enabled: false, oidc_providers: [] };

/** The session; null when nobody is signed in. */
export function useSessionQuery() {
  return useQuery({ queryKey: ["session"], queryFn: readSession, staleTime: Infinity, gcTime: Infinity });
}

/** Exchanges a key for the session cookie. The key is not kept. */
export async function signInWithKey(key: string) {
  const opened = await request(`${ADMIN}/auth/session`, { method: "POST", headers: { authorization: `Bearer ${key}` } });
  await opened.arrayBuffer();
  await queryClient.invalidateQueries({ queryKey: ["session"] });
}

export async function signInWithPassword(email: string, password: string) {
  await unwrap(api.POST("/admin/api/v1/auth/login", { body: { email, password } }));
  await queryClient.invalidateQueries({ queryKey: ["session"] });
}

export async function signOut() {
  await unwrap(api.POST("/admin/api/v1/auth/logout"));
  forgetSession();
}

/** Drops everything that was read in the session. */
export function forgetSession() {
  queryClient.setQueryData(["session"], null);
  queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
}

const SessionContext = createContext<Session | null>(null);

export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** Whether scopes allow a scope: write includes read, `admin:*` covers every area. */
export function allows(scopes: string[], wanted: string): boolean {
  if (scopes.includes(wanted)) return true;
  if (!wanted.startsWith("admin:")) return false;
  const area = wanted.slice(0, wanted.lastIndexOf(":"));
  const read = wanted.endsWith(":read");
  return scopes.includes("admin:write") || (read && (scopes.includes("admin:read") || scopes.includes(`${area}:write`)));
}

/** The session, or null outside of the shell. */
export const useMaybeSession = () => useContext(SessionContext);

/** Config and caller of the session, with `can(scope)`, `has(capability)` and `feature(name)`. Only inside the shell. */
export function useSession() {
  const session = useContext(SessionContext);
  if (!session) throw new Error("useSession outside of the shell");
  return {
    ...session,
    can: (scope: string) => allows(session.caller.scopes, scope),
    has: (capability: string) => session.config.capabilities[capability] === true,
    feature: (name: string) => session.config.features[name],
  };
}
