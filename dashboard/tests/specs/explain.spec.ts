// Explain: pasted requests, picked calls, refusals, replay against a change.
import { test, expect } from '../support/test';
import { recorded, SAMPLE } from '../support/sample_data';

const body = (model: string, text = 'Hello') => JSON.stringify({ model, max_tokens: 64, messages: [{ role: 'user', content: text }] });

test('the verdict comes first, then every decision', async ({ page, visit, log }) => {
  await visit('/explain');
  expect(log.requests.length).toBeLessThanOrEqual(2);
  await page.getByLabel('Body').fill(body(SAMPLE.combo));
  await page.locator('main form').getByRole('button', { name: /^Explain/ }).click();
  await expect(page.getByRole('region', { name: 'Verdict' })).toContainText(`Goes to ${SAMPLE.model}`);
  for (const step of ['Caller', 'Resolved', 'Candidates', 'Guardrails', 'Cache', 'Upstream request']) await expect(page.getByRole('list', { name: 'Decisions' }).getByText(step, { exact: true })).toBeVisible();
});

test('a refused call names the error and where to fix it', async ({ page, visit }) => {
  await visit('/explain');
  await page.getByLabel('Body').fill(body('no-such-model'));
  await page.keyboard.press('Control+Enter');
  const verdict = page.getByRole('region', { name: 'Verdict' });
  await expect(verdict).toContainText('model_not_found');
  await expect(verdict.getByRole('link')).toHaveAttribute('href', /models/);
});

test('a key and its guardrails are taken into account', async ({ page, visit, samples }) => {
  await visit('/explain');
  await page.getByLabel('Call as').selectOption(samples.inferenceKeyId);
  await page.getByLabel('Body').fill(body('demo-chat', 'My password is hunter2'));
  await page.keyboard.press('Control+Enter');
  await expect(page.getByRole('region', { name: 'Verdict' })).toContainText('Refused');
  await expect(page.getByRole('list', { name: 'Decisions' })).toContainText(SAMPLE.key);
  await expect(page.getByRole('list', { name: 'Decisions' })).toContainText(`${SAMPLE.guardrail}: `);
});

test('a curl command is understood', async ({ page, visit }) => {
  await visit('/explain');
  await page.getByLabel('Body').fill(`curl http://127.0.0.1:8080/v1/messages \\\n  -H "x-api-key: secret" \\\n  -d '${JSON.stringify({ model: 'demo-chat', max_tokens: 10, messages: [{ role: 'user', content: "It's" }] }).replace("'", "'\\''")}'`);
  await page.keyboard.press('Control+Enter');
  await expect(page.getByLabel('Route')).toHaveValue('/v1/messages');
  await expect(page.getByRole('region', { name: 'Verdict' })).toContainText('Goes to');
});

test('a mistake in the JSON is named beside the field', async ({ page, visit }) => {
  await visit('/explain');
  await page.getByLabel('Body').fill('{ "model": ');
  await page.keyboard.press('Control+Enter');
  await expect(page.getByText(/not valid JSON/)).toBeVisible();
});

test('an audited call is picked and explained again', async ({ page, visit, gateway, samples }) => {
  await recorded(gateway, `requested_model=${SAMPLE.alias}`, () => gateway.chat('Explain this one', { model: SAMPLE.alias, key: samples.inferenceKey }));
  await visit('/explain');
  await page.getByRole('button', { name: 'Pick from the audit log' }).click();
  await page.getByRole('dialog').getByRole('row').filter({ hasText: SAMPLE.alias }).first().click();
  await expect(page).toHaveURL(/call=/);
  await expect(page.getByLabel('Body')).toHaveValue(/Explain this one/);
  await expect(page.getByLabel('Call as')).toHaveValue(samples.inferenceKeyId);
  await expect(page.getByRole('region', { name: 'Verdict' })).toBeVisible();
});

test('calls are replayed against a change, which is not stored', async ({ page, visit, gateway }) => {
  await recorded(gateway, `requested_model=${SAMPLE.alias}`, () => gateway.chat('Replay me', { model: SAMPLE.alias }));
  await visit('/explain?view=compare');
  const panel = page.getByRole('dialog');
  await panel.getByLabel('Name').fill(SAMPLE.alias);
  await panel.getByLabel('Document').fill(JSON.stringify({ target: `${SAMPLE.provider}/gpt-4o` }));
  await panel.getByRole('button', { name: 'Replay calls' }).click();
  await expect(panel.getByRole('region', { name: 'Result' })).toContainText('would differ');
  await expect(panel.getByRole('region', { name: 'Result' })).toContainText(`${SAMPLE.provider}/gpt-4o`);
  expect((await gateway.expectApi('GET', `/aliases/${SAMPLE.alias}`)).target).toBe(SAMPLE.model);
});
