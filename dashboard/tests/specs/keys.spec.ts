// API keys: create with the value shown once, edit, rotate, delete.
import { confirm, dialog, fillForm, openRow, row, save } from '../support/resource';
import { expect, test } from '../support/test';

test('a key is created, edited, rotated and deleted', async ({ page, gateway, visit }) => {
  await visit('/keys');
  await page.getByRole('button', { name: 'Create key' }).first().click();
  await fillForm(dialog(page), { Name: 'p3-key', Path: '/p3', 'Requests per minute': 60 });
  await save(page, 'Create key');
  const shown = page.getByTestId('revealed-key');
  await expect(shown).toHaveText(/^gk_/);
  const first = await shown.textContent();
  const stored = async () => (await gateway.api('GET', '/auth-keys?search=p3-key')).body.entries[0];
  expect(await stored()).toMatchObject({ user_path: '/p3', rate_limits: { requests_per_minute: 60 } });
  await openRow(page, 'p3-key');
  await dialog(page).getByRole('button', { name: 'Edit', exact: true }).click();
  await fillForm(dialog(page), { Description: 'Edited' });
  await save(page, 'Save');
  await expect.poll(async () => (await stored()).description).toBe('Edited');
  await openRow(page, 'p3-key');
  await dialog(page).getByRole('button', { name: 'Rotate', exact: true }).click();
  await dialog(page).getByRole('button', { name: 'Rotate key' }).click();
  await expect(shown).not.toHaveText(first ?? '');
  await openRow(page, 'p3-key');
  await dialog(page).getByRole('button', { name: 'Delete key' }).click();
  await confirm(page, 'p3-key');
  await expect(row(page, 'p3-key')).toHaveCount(0);
  expect(await stored()).toBeUndefined();
});
