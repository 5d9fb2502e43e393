// Models: inventory with filters in the URL, aliases, overrides, prices, import and history.
import { SAMPLE } from '../support/sample_data';
import { confirm, dialog, exerciseResource, fillForm, openRow, row, save, undo } from '../support/resource';
import { expect, test } from '../support/test';

test('the inventory filters on all models and keeps the filters in the URL', async ({ page, visit }) => {
  await visit('/models');
  await page.getByRole('searchbox').fill('gpt-4o');
  await expect(page).toHaveURL(/search=gpt-4o/);
  await expect(row(page, 'gpt-4o').first()).toBeVisible();
  await expect(row(page, 'demo-chat')).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole('searchbox')).toHaveValue('gpt-4o');
  await openRow(page, 'gpt-4o');
  await expect(dialog(page).getByText('openai-eu/gpt-4o', { exact: true }).first()).toBeVisible();
  await dialog(page).getByRole('link', { name: 'Change the override' }).click();
  await expect(page).toHaveURL(/tab=overrides/);
});

test('an alias is created, edited and deleted', async ({ page, gateway, visit }) => {
  await visit('/models?tab=aliases');
  await exerciseResource(page, gateway, {
    name: 'p4-alias',
    api: '/aliases/p4-alias',
    create: { button: 'Create alias', fields: { Name: 'p4-alias', Target: SAMPLE.model }, stored: { target: SAMPLE.model } },
    edit: { fields: { Description: 'For chats' }, stored: { description: 'For chats', target: SAMPLE.model } },
    remove: { button: 'Delete alias' },
  });
  await undo(page, 'p4-alias is deleted');
  await expect.poll(async () => (await gateway.api('GET', '/aliases/p4-alias')).body.description).toBe('For chats');
  await gateway.expectApi('DELETE', '/aliases/p4-alias');
});

test('an alias does not overwrite one with the same name', async ({ page, visit }) => {
  await visit('/models?tab=aliases');
  await page.getByRole('button', { name: 'Create alias' }).click();
  await fillForm(dialog(page), { Name: SAMPLE.alias, Target: 'demo/demo-embedding' });
  await expect(dialog(page).getByText('An alias has this name already')).toBeVisible();
  await expect(dialog(page).getByRole('button', { name: 'Create alias' })).toBeDisabled();
});

test('an override is created, edited and deleted', async ({ page, gateway, visit }) => {
  await visit('/models?tab=overrides');
  await exerciseResource(page, gateway, {
    name: 'demo/demo-embedding',
    api: '/model-overrides/demo/demo-embedding',
    create: { button: 'Create override', fields: { Selector: 'demo/demo-embedding', 'Only by paths': ['/search'] }, stored: { enabled: true, user_paths: ['/search'] } },
    edit: { fields: { 'May be used': false, 'Display name': 'Vectors' }, stored: { enabled: false, metadata: { display_name: 'Vectors' } } },
    remove: { button: 'Delete override' },
  });
});

test('a price shows base, override and effective, and is set, changed and deleted', async ({ page, gateway, visit }) => {
  const api = '/model-pricing/demo/demo-chat';
  await visit('/models?tab=pricing');
  await openRow(page, 'demo/demo-chat');
  await fillForm(dialog(page), { Input: '0.7', Output: '2' });
  await save(page, 'Set price');
  await expect.poll(async () => (await gateway.api('GET', api)).body).toMatchObject({ source: 'override', base: { input_per_mtok: 0.5 }, effective: { input_per_mtok: 0.7 } });
  await expect(row(page, 'demo/demo-chat')).toContainText('$0.70 / $2.00');
  await openRow(page, 'demo/demo-chat');
  await fillForm(dialog(page), { Output: '' });
  await save(page, 'Save');
  await expect.poll(async () => (await gateway.api('GET', api)).body.effective.output_per_mtok).toBe(1.5);
  await openRow(page, 'demo/demo-chat');
  await dialog(page).getByRole('button', { name: 'Delete override' }).click();
  await confirm(page);
  await expect.poll(async () => (await gateway.api('GET', api)).body.source).toBe('catalog');
});

test('prices are checked before they are imported, exported, and restored from the history', async ({ page, gateway, visit }) => {
  const api = '/model-pricing/demo/demo-embedding';
  await visit('/models?tab=pricing');
  await page.getByRole('button', { name: /Import and export/ }).click();
  await page.getByRole('menuitem', { name: 'Import…' }).click();
  await dialog(page).getByLabel('Prices', { exact: true }).fill(JSON.stringify({ version: 1, prices: [{ selector: 'demo/demo-embedding', input_per_mtok: 9, output_per_mtok: 0 }] }));
  await dialog(page).getByRole('button', { name: 'Check' }).click();
  await expect(dialog(page).getByText('Checked: nothing is stored yet')).toBeVisible();
  expect((await gateway.api('GET', api)).body.source).not.toBe('override');
  await dialog(page).getByRole('button', { name: 'Import 1 price' }).click();
  await expect.poll(async () => (await gateway.api('GET', api)).body.effective?.input_per_mtok).toBe(9);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /Import and export/ }).click();
  await page.getByRole('menuitem', { name: 'Export as CSV' }).click();
  expect((await download).suggestedFilename()).toBe('model-pricing.csv');
  await page.getByRole('button', { name: /Import and export/ }).click();
  await page.getByRole('menuitem', { name: 'History' }).click();
  await dialog(page).getByRole('listitem').nth(1).getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('dialog', { name: /Restore revision/ }).getByRole('button', { name: 'Restore' }).click();
  await expect.poll(async () => (await gateway.api('GET', api)).body.source).not.toBe('override');
});
