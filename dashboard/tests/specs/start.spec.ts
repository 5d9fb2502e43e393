import { test, expect } from '../support/test';

test('the guided start makes a call and a key, and hands the key to the tools', async ({ page, gateway, visit }) => {
  await visit('/start');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page.getByText('You said: What is Gatehouse?')).toBeVisible();
  await page.getByLabel('Name').fill('key of the guide');
  await page.getByRole('button', { name: 'Create key' }).click();
  await expect(page.getByText('It is shown only now.')).toBeVisible();
  await page.getByRole('link', { name: 'Codex' }).click();
  await expect(page.getByRole('heading', { name: 'CLI tools' })).toBeVisible();
  await expect(page.getByLabel('Gateway key')).not.toHaveValue('');
  const keys = await gateway.expectApi('GET', '/auth-keys?search=key%20of%20the%20guide');
  await gateway.expectApi('DELETE', `/auth-keys/${keys.entries[0].id}`);
});
