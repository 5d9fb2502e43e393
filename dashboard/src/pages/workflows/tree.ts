import { isReadable, type Scope, type Unreadable, type Version, type WorkflowRecord } from "./queries";

/** A scope with its versions, newest first. */
export type ScopeNode = {
  /** Identity of the scope in the list. */
  key: string;
  scope: Scope;
  /** User path of the scope; "/" for scopes of all paths. */
  path: string;
  title: string;
  /** The title where the scope above names the path. */
  short: string;
  level: number;
  versions: Version[];
  unreadable: Unreadable[];
  active: Version | null;
};

export const scopeKey = ({ scope_user_path: path, scope_provider_name: provider, scope_model: model }: Scope): string => JSON.stringify([path ?? "", provider ?? "", model ?? ""]);

/** A scope in words. */
export function scopeWords({ scope_user_path: path, scope_provider_name: provider, scope_model: model }: Scope): string {
  const target = provider ? (model ? `${provider}/${model}` : `${provider}`) : "";
  if (path && target) return `${path} · ${target}`;
  return path || target || "All calls";
}

const within = (path: string, ancestor: string) => path !== ancestor && (ancestor === "/" || path.startsWith(`${ancestor}/`));

/** The scopes as a tree by user path: a scope stands under the deepest one whose calls contain its calls. */
export function scopeTree(records: readonly WorkflowRecord[]): ScopeNode[] {
  const nodes = new Map<string, ScopeNode>();
  const lost: Unreadable[] = [];
  for (const record of records) {
    const scope = record.scope;
    if (!scope) {
      if (!isReadable(record)) lost.push(record);
      continue;
    }
    const key = scopeKey(scope);
    const node = nodes.get(key) ?? { key, scope, path: scope.scope_user_path || "/", title: "", short: "", level: 0, versions: [], unreadable: [], active: null };
    nodes.set(key, node);
    if (!isReadable(record)) node.unreadable.push(record);
    else {
      node.versions.push(record);
      if (record.active) node.active = record;
    }
  }
  if (lost.length) nodes.set("unreadable", { key: "unreadable", scope: {}, path: "~", title: "Cannot be read", short: "Cannot be read", level: 0, versions: [], unreadable: lost, active: null });
  const all = [...nodes.values()];
  for (const node of all) node.versions.sort((a, b) => b.version - a.version);
  const weight = ({ scope }: ScopeNode) => (scope.scope_provider_name ? (scope.scope_model ? 2 : 1) : 0);
  all.sort((a, b) => comparePaths(a.path, b.path) || weight(a) - weight(b) || a.key.localeCompare(b.key));
  for (const node of all) {
    if (node.key === "unreadable") continue;
    const above = all.filter((other) => weight(other) === 0 && (within(node.path, other.path) || (other.path === node.path && other !== node && weight(node) > 0)));
    node.level = above.length;
    node.title = scopeWords(node.scope);
    node.short = above.some((other) => other.path === node.path) ? scopeWords({ ...node.scope, scope_user_path: null }) : node.title;
  }
  return all;
}

function comparePaths(a: string, b: string): number {
  const x = a.split("/").filter(Boolean);
  const y = b.split("/").filter(Boolean);
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const order = x[i]!.localeCompare(y[i]!);
    if (order) return order;
  }
  return x.length - y.length;
}
