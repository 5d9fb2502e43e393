import { Activity, Box, Boxes, ChartColumn, DatabaseZap, Gauge, History, KeyRound, LayoutDashboard, LogIn, MessagesSquare, Rocket, Route, ScrollText, Server, Settings, ShieldCheck, Split, SquareTerminal, UserCog, Users, Wallet, Workflow, type LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { Session } from "./session";
import { allows } from "./session";

export type PageEntry = {
  path: string;
  title: string;
  icon: LucideIcon;
  /** Group in the sidebar; "" is the head without a name, null is not listed. */
  group: "" | "Observe" | "Route" | "Control" | "System" | null;
  /** Scope that the page's first request needs. */
  scope?: string;
  /** Capability of the edition that the page needs. */
  capability?: string;
  /** Only for callers without this scope, e.g. My usage for ordinary keys. */
  unlessScope?: string;
  /** Entry that is current while this page is open. */
  under?: string;
  /** Name among its neighbours, the pages with the same entry in the sidebar; they are linked under the title. */
  tab?: string;
  /** Words that the palette finds it by. */
  words?: string;
  load: () => Promise<{ default: ComponentType }>;
};

/** All pages, in the order of the sidebar. */
export const PAGES: PageEntry[] = [
  { path: "/", title: "Overview", icon: LayoutDashboard, group: "", scope: "admin:dashboard:read", load: () => import("@/pages/overview") },
  { path: "/my-usage", title: "My usage", icon: Gauge, group: "", scope: "inference", unlessScope: "admin:usage:read", words: "limits rotate key", load: () => import("@/pages/my-usage") },
  { path: "/playground", title: "Playground", icon: MessagesSquare, group: "", scope: "inference", words: "chat try model", load: () => import("@/pages/playground") },
  { path: "/console", title: "Live console", icon: Activity, group: "", scope: "admin:console:read", words: "events stream", load: () => import("@/pages/console") },
  { path: "/audit", title: "Audit log", icon: ScrollText, group: "Observe", scope: "admin:audit:read", words: "calls requests errors", load: () => import("@/pages/audit") },
  { path: "/usage", title: "Usage", icon: ChartColumn, group: "Observe", scope: "admin:usage:read", words: "cost tokens report csv", load: () => import("@/pages/usage") },
  { path: "/explain", title: "Explain", icon: Route, group: "Observe", scope: "admin:explain:read", words: "decision route why", load: () => import("@/pages/explain") },
  { path: "/cache", title: "Cache", icon: DatabaseZap, group: "Observe", scope: "admin:cache:read", words: "semantic purge debug", load: () => import("@/pages/cache") },
  { path: "/providers", title: "Providers and pools", icon: Server, group: "Route", scope: "admin:providers:read", words: "health breaker upstream", load: () => import("@/pages/providers") },
  { path: "/models", title: "Models", icon: Box, group: "Route", scope: "admin:models:read", words: "aliases overrides pricing catalogue", load: () => import("@/pages/models") },
  { path: "/combos", title: "Combos", icon: Split, group: "Route", scope: "admin:combos:read", words: "fallback strategy", load: () => import("@/pages/combos") },
  { path: "/keys", title: "API keys", icon: KeyRound, group: "Control", scope: "admin:auth-keys:read", words: "limits rotate scope", load: () => import("@/pages/keys") },
  { path: "/budgets", title: "Budgets", icon: Wallet, group: "Control", scope: "admin:budgets:read", capability: "advancedBudgets", words: "spend forecast", load: () => import("@/pages/budgets") },
  { path: "/guardrails", title: "Guardrails", icon: ShieldCheck, group: "Control", scope: "admin:guardrails:read", words: "pii injection secrets", load: () => import("@/pages/guardrails") },
  { path: "/workflows", title: "Workflows", icon: Workflow, group: "Control", scope: "admin:workflows:read", words: "versions rollback scope", load: () => import("@/pages/workflows") },
  { path: "/cli-tools", title: "CLI tools", icon: SquareTerminal, group: "System", scope: "admin:cli-tools:read", words: "claude code codex cursor connect", load: () => import("@/pages/cli-tools") },
  { path: "/changes", title: "Changes", icon: History, group: "System", scope: "admin:changes:read", words: "diff who history", load: () => import("@/pages/changes") },
  { path: "/users", title: "People and roles", tab: "People", icon: Users, group: "System", scope: "admin:identity:read", capability: "identity", words: "users", load: () => import("@/pages/users") },
  { path: "/roles", title: "Roles", tab: "Roles", icon: UserCog, group: null, under: "/users", scope: "admin:identity:read", capability: "identity", words: "permissions", load: () => import("@/pages/roles") },
  { path: "/tenants", title: "Tenants", tab: "Tenants", icon: Boxes, group: null, under: "/users", scope: "admin:tenants:read", capability: "identity", load: () => import("@/pages/tenants") },
  { path: "/login", title: "Login", tab: "Login", icon: LogIn, group: null, under: "/users", scope: "admin:identity:read", capability: "identity", words: "oidc single sign-on", load: () => import("@/pages/login") },
  { path: "/settings", title: "Settings", icon: Settings, group: "System", scope: "admin:settings:read", words: "configuration environment", load: () => import("@/pages/settings") },
  { path: "/start", title: "Start", icon: Rocket, group: null, under: "/", words: "first run guide demo", load: () => import("@/pages/start") },
];

export const GROUPS = ["", "Observe", "Route", "Control", "System"] as const;

/** The pages that this caller and edition have. */
export function visiblePages({ config, caller }: Session): PageEntry[] {
  return PAGES.filter((page) => {
    if (page.capability && config.capabilities[page.capability] !== true) return false;
    if (page.unlessScope && allows(caller.scopes, page.unlessScope)) return false;
    return !page.scope || allows(caller.scopes, page.scope);
  });
}
