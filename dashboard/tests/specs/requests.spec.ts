// The number of requests per view: tabs of a page, and details that are opened on it. The pages themselves are in pages.spec.ts.
import { openRow } from '../support/resource';
import { SAMPLE } from '../support/sample_data';
import { expect, settled, test, type Page } from '../support/test';

const MOST_REQUESTS = 2;

const TABS = [
  ...['model', 'provider', 'user_path', 'auth_key', 'unpriced', 'calls'].map((by) => `/usage?by=${by}`),
  ...['tokens', 'requests'].map((metric) => `/usage?metric=${metric}`),
  ...['aliases', 'overrides', 'pricing'].map((tab) => `/models?tab=${tab}`),
  '/audit?status=error',
  '/console?event=request',
  '/guardrails?tab=settings',
  '/workflows?tab=versions',
  '/playground?tab=code',
  '/playground?tab=raw',
  `/playground?model=${SAMPLE.alias}&compare=${SAMPLE.model}`,
  '/explain?view=compare',
  '/settings?show=changed',
  '/cli-tools?tool=codex',
];

for (const path of TABS) {
  test(`${path} needs at most two requests`, async ({ visit, log }) => {
    await visit(path);
    expect(log.requests.length, log.requests.join('\n')).toBeLessThanOrEqual(MOST_REQUESTS);
  });
}

test('the usage of one key is shown with its name, and needs at most two requests', async ({ page, visit, log, samples }) => {
  for (const by of ['model', 'auth_key', 'calls']) {
    await visit(`/usage?by=${by}&key=${samples.inferenceKeyId}`);
    await expect(page.getByRole('button', { name: new RegExp(`Key\\s*${SAMPLE.key}`) })).toBeVisible();
    expect(log.requests.length, log.requests.join('\n')).toBeLessThanOrEqual(MOST_REQUESTS);
  }
});

type Opened = [name: string, path: string, open: (page: Page) => Promise<unknown>];

const button = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
const detail = (text: string) => (page: Page) => openRow(page, text);
const OPENED: Opened[] = [
  ['a call', '/audit', (page) => page.getByRole('row').nth(1).click()],
  ['a key', '/keys', detail(SAMPLE.key)],
  ['a new key', '/keys', button('Create key')],
  ['a budget', '/budgets', detail(SAMPLE.budgetPath)],
  ['settings of budgets', '/budgets', button('Settings')],
  ['a provider', '/providers', detail(SAMPLE.provider)],
  ['a pool', '/providers', button(SAMPLE.pool)],
  ['a new provider', '/providers', button('Add provider')],
  ['a model', '/models', detail('demo-chat')],
  ['an alias', '/models?tab=aliases', detail(SAMPLE.alias)],
  ['an override', '/models?tab=overrides', detail(SAMPLE.provider)],
  ['a price', '/models?tab=pricing', detail(SAMPLE.model)],
  ['a combo', '/combos', detail(SAMPLE.combo)],
  ['a new workflow', '/workflows', button('Create workflow')],
  ['a new guardrail', '/guardrails', button('Create guardrail')],
  ['a change', '/changes', detail('create')],
  ['a setting', '/settings?search=log.level', detail('log.level')],
  ['a tenant', '/tenants', detail(SAMPLE.tenant)],
  ['a user', '/users', detail(SAMPLE.user)],
  ['a role', '/roles', detail(SAMPLE.role)],
  ['the choice of a call', '/explain', button('Pick from the audit log')],
];

for (const [name, path, open] of OPENED) {
  test(`${name} opens with at most two requests`, async ({ page, visit, log }) => {
    await visit(path);
    log.reset();
    await open(page);
    await expect(page.getByRole('dialog')).toBeVisible();
    await settled(page, log);
    expect(log.requests.length, log.requests.join('\n')).toBeLessThanOrEqual(MOST_REQUESTS);
  });
}

test('the tabs of a call need at most two requests each', async ({ page, visit, log }) => {
  await visit('/audit');
  await page.getByRole('row').nth(1).click();
  const panel = page.getByRole('dialog');
  await expect(panel).toBeVisible();
  for (const name of ['Request', 'Response', 'Headers', 'Conversation', 'Journey']) {
    log.reset();
    await panel.getByRole('tab', { name }).click();
    await settled(page, log);
    expect(log.requests.length, log.requests.join('\n')).toBeLessThanOrEqual(MOST_REQUESTS);
  }
});
