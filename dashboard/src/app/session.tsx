import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, type ReactNode } from "react";
import { ADMIN, api, request, unwrap, type Schema } from "@/api/client";
import { ApiError } from "@/api/errors";
import { queryClient } from "@/api/query";

/** Who is signed in, as far as the gateway says it. */
export type Caller = { name: string | null; email: string | null; roles: string[]; /** null when not known: everything is shown and the gateway refuses. */ scopes: string[] | null; userPath: string; tenant: string | null };

export type Session = { config: Schema<"DashboardConfig">; caller: Caller };

const UNKNOWN: Caller = { name: null, email: null, roles: [], scopes: null, userPath: "/", tenant: null };
let signedInCaller: Caller | null = null;

const fromMe = (me: Schema<"Me">): Caller => ({ name: me.user?.name ?? me.principal.name ?? null, email: me.user?.email ?? null, roles: me.roles, scopes: me.scopes, userPath: me.user_path, tenant: me.tenant_id ?? null });

async function readSession(): Promise<Session | null> {
  const { data: config, error, response } = await api.GET("/admin/api/v1/dashboard/config");
  if (response.status === 401) return null;
  if (!config) throw new ApiError(response.status, error, response.headers.get("x-request-id"));
  if (signedInCaller) return { config, caller: signedInCaller };
  const caller = config.identity.enabled ? fromMe(await unwrap(api.GET("/admin/api/v1/auth/me"))) : UNKNOWN;
  return { config, caller };
}

/** The session; null when nobody is signed in. */
export function useSessionQuery() {
  return useQuery({ queryKey: ["session"], queryFn: readSession, staleTime: Infinity, gcTime: Infinity });
}

/** Whether users can sign in by email: known from /auth/me, which is 503 without identity. */
export async function emailLoginConfigured(): Promise<boolean> {
  const response = await fetch(`${ADMIN}/auth/me`, { credentials: "same-origin" });
  return response.status !== 503;
}

/** Exchanges a key for the session cookie. The key is not kept. */
export async function signInWithKey(key: string) {
  const response = await request(`${ADMIN}/auth/session`, { method: "POST", headers: { authorization: `Bearer ${key}` } });
  const view = (await response.json()) as Schema<"SessionView">;
  signedInCaller = { ...UNKNOWN, scopes: view.scopes, userPath: view.user_path, tenant: view.tenant_id ?? null };
  await queryClient.invalidateQueries({ queryKey: ["session"] });
}

export async function signInWithPassword(email: string, password: string) {
  await unwrap(api.POST("/admin/api/v1/auth/login", { body: { email, password } }));
  signedInCaller = null;
  await queryClient.invalidateQueries({ queryKey: ["session"] });
}

export async function signOut() {
  await unwrap(api.POST("/admin/api/v1/auth/logout"));
  forgetSession();
}

/** Drops everything that was read in the session. */
export function forgetSession() {
  signedInCaller = null;
  queryClient.setQueryData(["session"], null);
  queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
}

const SessionContext = createContext<Session | null>(null);

export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** Whether scopes allow a scope: write includes read, `admin:*` covers every area. */
export function allows(scopes: string[] | null, wanted: string): boolean {
  if (!scopes || scopes.includes(wanted)) return true;
  if (!wanted.startsWith("admin:")) return false;
  const area = wanted.slice(0, wanted.lastIndexOf(":"));
  const read = wanted.endsWith(":read");
  return scopes.includes("admin:write") || (read && (scopes.includes("admin:read") || scopes.includes(`${area}:write`)));
}

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
