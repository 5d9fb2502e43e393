// Usage: groups, links to the calls behind a sum, CSV; own usage with a new value for the key.
import { readFile } from 'node:fs/promises';
import { dialog, fillForm } from '../support/resource';
import { expect, signIn, test } from '../support/test';

test('a path of the report leads to its calls, and a call to the audit log', async ({ page, visit }) => {
  await visit('/usage?by=user_path');
  await page.getByRole('table', { name: /usage by user_path/i }).getByRole('link').first().click();
  await expect(page).toHaveURL(/by=calls/);
  await expect(page).toHaveURL(/user_path=/);
  const calls = page.getByRole('table', { name: 'Calls' });
  await calls.getByRole('row').nth(1).click();
  await expect(page).toHaveURL(/\/audit\?.*open=/);
  await expect(dialog(page)).toBeVisible();
});

test('the report is downloaded as CSV', async ({ page, visit }) => {
  await visit('/usage');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()]);
  expect(download.suggestedFilename()).toBe('usage-breakdown.csv');
  const text = await readFile((await download.path())!, 'utf8');
  expect(text.split('\n')[0]).toContain('model');
  expect(text).toContain('demo-chat');
});

test('the owner of a key sees its usage and gives it a new value', async ({ page, gateway, samples, visit, log }) => {
  log.expect(/401/);
  const key = await gateway.expectApi('POST', '/auth-keys', { name: 'p3-own', user_path: '/p3-own', scopes: ['inference'] });
  await gateway.chat('Hello', { key: key.key });
  await page.context().clearCookies();
  await signIn(page, gateway, key.key);
  await visit('/my-usage');
  await expect(page.getByText('/p3-own').first()).toBeVisible();
  await page.getByRole('button', { name: 'Rotate key' }).click();
  for (const [value, said] of [['gk_unknown', 'The gateway does not know this value.'], [samples.inferenceKey, 'This is the value of another key.']]) {
    await fillForm(dialog(page), { 'Current value': value! });
    await dialog(page).getByRole('button', { name: 'Rotate key' }).click();
    await expect(dialog(page).getByText(said!)).toBeVisible();
  }
  await fillForm(dialog(page), { 'Current value': key.key });
  await dialog(page).getByRole('button', { name: 'Rotate key' }).click();
  const shown = page.getByTestId('revealed-key');
  await expect(shown).toHaveText(/^gk_/);
  const value = await shown.textContent();
  expect(value).not.toBe(key.key);
  expect((await gateway.chat('Hello', { key: value! })).status).toBe(200);
  await gateway.expectApi('DELETE', `/auth-keys/${key.id}`);
});
