// Providers and pools: two steps with a test before anything is stored, edit, delete, trouble under the row, pools.
import { SAMPLE } from '../support/sample_data';
import { closeDialogs, confirm, dialog, fillForm, openRow, row, save } from '../support/resource';
import { expect, test } from '../support/test';

test('trouble of a provider is explained under its row, with a test and its failed calls', async ({ page, visit }) => {
  await visit('/providers');
  await expect(row(page, SAMPLE.provider).first()).toContainText(/Degraded|Down/);
  const reason = row(page, /connection refused/i).last();
  await expect(reason.getByRole('link', { name: /failed call/i })).toHaveAttribute('href', /provider=openai-eu/);
  await reason.getByRole('button', { name: 'Test now' }).click();
  await expect(page.getByText(`${SAMPLE.provider}: connection refused`)).toBeVisible();
});

test('a provider is added in two steps, tested before it is stored, edited and deleted', async ({ page, gateway, visit, log }) => {
  log.expect(/405|404|400/);
  const api = '/providers/p4-server';
  await visit('/providers');
  await page.getByRole('button', { name: 'Add provider' }).first().click();
  await dialog(page).getByRole('searchbox', { name: 'Search types' }).fill('vllm');
  await dialog(page).getByRole('button', { name: /vLLM/ }).click();
  await fillForm(dialog(page), { Name: 'p4-server', Address: 'http://127.0.0.1:9/v1' });
  await dialog(page).getByRole('button', { name: 'Test connection' }).click();
  await expect(dialog(page).getByText(/No connection|Not tested/)).toBeVisible();
  expect((await gateway.api('GET', api)).status).toBe(404);
  await dialog(page).getByRole('button', { name: 'Add untested' }).click();
  await expect.poll(async () => (await gateway.api('GET', api)).body).toMatchObject({ type: 'vllm', base_url: 'http://127.0.0.1:9/v1' });
  await closeDialogs(page);

  await openRow(page, 'p4-server');
  await fillForm(dialog(page), { Priority: '5' });
  await save(page, 'Save');
  await expect.poll(async () => (await gateway.api('GET', api)).body.priority).toBe(5);
  await closeDialogs(page);

  await openRow(page, 'p4-server');
  await dialog(page).getByRole('button', { name: 'Delete provider' }).click();
  await expect(dialog(page).getByRole('button', { name: 'Delete provider' })).toBeDisabled();
  await confirm(page, 'p4-server');
  await expect.poll(async () => (await gateway.api('GET', api)).status).toBe(404);
});

test('a passed test leads to a provider that only chosen paths may use, in a pool', async ({ page, gateway, visit }) => {
  await page.route('**/providers/test', (route) => route.fulfill({ json: { ok: true, latency_ms: 312, model_count: 2, error: null, models: ['a', 'b'] } }));
  await visit('/providers?add=provider&type=mistral');
  await fillForm(dialog(page), { Name: 'p4-mistral', 'API key': 'sk-example-0123456789' });
  await dialog(page).getByRole('button', { name: 'Test connection' }).click();
  await expect(dialog(page).getByText('Connected in 312 ms')).toBeVisible();
  await fillForm(dialog(page), { 'Who may use it': 'Chosen paths' });
  await fillForm(dialog(page), { Paths: ['/search'] });
  await dialog(page).getByRole('checkbox', { name: new RegExp(SAMPLE.pool) }).click();
  await dialog(page).getByRole('button', { name: 'Add provider' }).click();
  await expect.poll(async () => (await gateway.api('GET', `/pools/${SAMPLE.pool}`)).body.members).toContain('p4-mistral');
  expect((await gateway.api('GET', '/providers/p4-mistral')).body).toMatchObject({ enabled: true, api_key_set: true });
  expect((await gateway.api('GET', '/model-overrides/p4-mistral%2F*')).body).toMatchObject({ enabled: true, user_paths: ['/search'] });
  await gateway.expectApi('PUT', `/pools/${SAMPLE.pool}`, { members: ['demo', SAMPLE.provider], strategy: 'round_robin' });
  await gateway.expectApi('DELETE', '/model-overrides/p4-mistral%2F*');
  await gateway.expectApi('DELETE', '/providers/p4-mistral');
});

test('a pool is created, edited and deleted', async ({ page, gateway, visit }) => {
  const api = '/pools/p4-pool';
  await visit('/providers');
  await page.getByRole('button', { name: 'Create pool' }).first().click();
  await fillForm(dialog(page), { Name: 'p4-pool', 'Member 1': 'demo' });
  await save(page, 'Create pool');
  await expect.poll(async () => (await gateway.api('GET', api)).body).toMatchObject({ members: ['demo'], strategy: 'round_robin' });
  await closeDialogs(page);
  const pools = page.getByRole('list', { name: 'Pools' });
  await pools.getByRole('button', { name: 'p4-pool' }).click();
  await dialog(page).getByRole('button', { name: 'Add member' }).click();
  await fillForm(dialog(page), { 'Member 2': SAMPLE.provider, Strategy: 'weighted', 'Weight of member 1': '4' });
  await save(page, 'Save');
  await expect.poll(async () => (await gateway.api('GET', api)).body).toMatchObject({ strategy: 'weighted', weights: { demo: 4 }, members: ['demo', SAMPLE.provider] });
  await closeDialogs(page);
  await pools.getByRole('button', { name: 'p4-pool' }).click();
  await dialog(page).getByRole('button', { name: 'Delete pool' }).click();
  await confirm(page);
  await expect.poll(async () => (await gateway.api('GET', api)).status).toBe(404);
});

test('shares and sparklines of the last hour are shown when the gateway gives them', async ({ page, visit, log }) => {
  await page.route('**/admin/api/v1/pools', async (route) => {
    const answer = await route.fetch();
    const pools = await answer.json();
    for (const pool of pools) {
      pool.calls_last_hour = 812;
      pool.members_status.forEach((member: { share: number }, i: number) => (member.share = i === 0 ? 0.75 : 0.25));
    }
    await route.fulfill({ response: answer, json: pools });
  });
  await visit('/providers');
  expect(log.requests.length, log.requests.join('\n')).toBeLessThanOrEqual(2);
  const pools = page.getByRole('list', { name: 'Pools' });
  await expect(pools).toContainText('812 calls, last hour');
  await expect(pools).toContainText('75%');
});
