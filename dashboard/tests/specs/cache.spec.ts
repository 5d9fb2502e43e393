// Cache: the debugger tells a hit from a miss, copies the call, and purges.
import { dialog, fillForm } from '../support/resource';
import { expect, test } from '../support/test';

const QUESTION = { model: 'demo-chat', messages: [{ role: 'user', content: 'A question of the cache tests' }] };

test('a call is a miss, a hit once it is stored, and a miss after a purge', async ({ page, gateway, visit }) => {
  await visit('/cache');
  const ask = async () => {
    await page.getByLabel('Body', { exact: true }).fill(JSON.stringify(QUESTION));
    await page.getByRole('button', { name: 'Check', exact: true }).click();
  };
  await ask();
  await expect(page.getByText('Miss.')).toBeVisible();
  await gateway.chat(QUESTION.messages[0]!.content);
  await expect(async () => {
    await ask();
    await expect(page.getByText('Hit.')).toBeVisible({ timeout: 2000 });
  }).toPass();

  await page.getByRole('button', { name: 'Purge', exact: true }).click();
  await expect(dialog(page).getByRole('button', { name: 'Purge everything' })).toBeDisabled();
  await fillForm(dialog(page), { Model: 'demo-chat' });
  await dialog(page).getByRole('button', { name: 'Purge these' }).click();
  await expect(page.getByText(/answers? removed/)).toBeVisible();
  await ask();
  await expect(page.getByText('Miss.')).toBeVisible();
});

test('the call of the debugger is copied with its body as an object', async ({ page, visit }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await visit('/cache');
  await page.getByLabel('Body', { exact: true }).fill(JSON.stringify(QUESTION));
  await page.getByRole('button', { name: 'Copy as…' }).click();
  await page.getByRole('menuitem', { name: 'curl' }).click();
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(clipboard).toContain('curl');
  const text = await clipboard();
  expect(JSON.parse(text.slice(text.indexOf("'") + 1, text.lastIndexOf("'")))).toEqual({ path: '/v1/chat/completions', body: QUESTION });
});

test('a body that is not JSON is said at its field', async ({ page, visit, log }) => {
  await visit('/cache');
  log.reset();
  await page.getByLabel('Body', { exact: true }).fill('{');
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await expect(page.getByText(/^Not JSON:/)).toBeVisible();
  expect(log.requests).toEqual([]);
});
