// The pages of the dashboard. The generic tests and the screenshots go through this list: add a page here.
export type PageEntry = {
  /** File name of its screenshots. */
  name: string;
  /** Path below /admin/dashboard, with its query. */
  path: string;
  /** The heading of level 1. */
  heading: string | RegExp;
  /** Opened without a session. */
  signedOut?: boolean;
  /** Opened with the session of an ordinary inference key. */
  ordinaryKey?: boolean;
  /** Opened on a gateway without data and providers. */
  empty?: boolean;
  /** Its list has a row for what support/payloads.ts stores; the XSS test opens it. */
  hasRows?: boolean;
};

export const PAGES: PageEntry[] = [
  { name: 'sign-in', path: '/sign-in', heading: /sign in/i, signedOut: true },
  { name: 'start', path: '/start', heading: /start/i, empty: true },
  { name: 'overview', path: '/', heading: 'Overview' },
  { name: 'my-usage', path: '/my-usage', heading: 'My usage', ordinaryKey: true },
  { name: 'playground', path: '/playground', heading: 'Playground' },
  { name: 'audit', path: '/audit', heading: 'Audit log', hasRows: true },
  { name: 'console', path: '/console', heading: 'Live console', hasRows: true },
  { name: 'explain', path: '/explain', heading: 'Explain' },
  { name: 'usage', path: '/usage', heading: 'Usage' },
  { name: 'cache', path: '/cache', heading: 'Cache' },
  { name: 'models', path: '/models', heading: 'Models', hasRows: true },
  { name: 'providers', path: '/providers', heading: /Providers/, hasRows: true },
  { name: 'combos', path: '/combos', heading: 'Combos', hasRows: true },
  { name: 'guardrails', path: '/guardrails', heading: 'Guardrails', hasRows: true },
  { name: 'workflows', path: '/workflows', heading: 'Workflows', hasRows: true },
  { name: 'keys', path: '/keys', heading: 'API keys', hasRows: true },
  { name: 'budgets', path: '/budgets', heading: 'Budgets', hasRows: true },
  { name: 'cli-tools', path: '/cli-tools', heading: 'CLI tools' },
  { name: 'settings', path: '/settings', heading: 'Settings' },
  { name: 'changes', path: '/changes', heading: 'Changes', hasRows: true },
  { name: 'tenants', path: '/tenants', heading: 'Tenants', hasRows: true },
  { name: 'users', path: '/users', heading: 'People and roles', hasRows: true },
  { name: 'roles', path: '/roles', heading: 'Roles', hasRows: true },
  { name: 'login', path: '/login', heading: 'Login' },
];
