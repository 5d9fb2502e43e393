import type { Change } from "./queries";

const TITLES: Record<string, string> = { alias: "Alias", auth_key: "API key", budget: "Budget", budget_settings: "Budget settings", combo: "Combo", guardrail: "Guardrail", model_override: "Model override", model_price: "Model price", pool: "Pool", provider: "Provider", role: "Role", settings: "Settings", tenant: "Tenant", user: "User", workflow: "Workflow version", workflow_activation: "Workflow in force" };

/** The kinds of documents that are recorded, as the API spells them. */
export const KINDS = Object.keys(TITLES);

export const kindTitle = (kind: string): string => TITLES[kind] ?? kind.replaceAll("_", " ");

/** The page that shows the object of a change. */
export function pageOf({ kind, name }: Pick<Change, "kind" | "name">): { to: string; search: Record<string, string> } | null {
  switch (kind) {
    case "alias":
      return { to: "/models", search: { tab: "aliases", search: name } };
    case "model_override":
      return { to: "/models", search: { tab: "overrides", search: name } };
    case "model_price":
      return { to: "/models", search: { tab: "pricing", search: name } };
    case "auth_key":
      return { to: "/keys", search: { open: name } };
    case "budget":
    case "budget_settings":
      return { to: "/budgets", search: {} };
    case "combo":
      return { to: "/combos", search: { open: name } };
    case "guardrail":
      return { to: "/guardrails", search: { open: name } };
    case "pool":
    case "provider":
      return { to: "/providers", search: { open: name } };
    case "role":
      return { to: "/roles", search: { open: name } };
    case "tenant":
      return { to: "/tenants", search: { open: name } };
    case "user":
      return { to: "/users", search: { open: name } };
    case "settings":
      return { to: "/settings", search: { show: "changed" } };
    case "workflow":
      return { to: "/workflows", search: { open: name } };
    case "workflow_activation":
      return { to: "/workflows", search: {} };
    default:
      return null;
  }
}
