// Combos: life of one, order and weights of targets, check, conflict.
import { closeDialogs, dialog, exerciseResource, fillForm, openRow, save, undo } from '../support/resource';
import { expect, test } from '../support/test';

test('a combo is created, edited and deleted', async ({ page, gateway, visit }) => {
  await visit('/combos');
  await exerciseResource(page, gateway, {
    name: 'p4-combo',
    api: '/combos/p4-combo',
    create: { button: 'Create combo', fields: { Name: 'p4-combo', 'Target 1': 'demo/demo-chat', 'Target 2': 'openai-eu/gpt-4o' }, stored: { selectors: ['demo/demo-chat', 'openai-eu/gpt-4o'], strategy: 'primary_fallback' } },
    edit: { fields: { Description: 'Edited', Strategy: 'weighted', 'Weight of target 1': '3' }, stored: { description: 'Edited', strategy: 'weighted', weights: { 'demo/demo-chat': 3 } } },
    remove: { button: 'Delete combo' },
  });
});

test('targets move, an edit shows its difference and can be undone, and the stored targets are checked', async ({ page, gateway, visit }) => {
  await gateway.expectApi('PUT', '/combos/p4-order', { selectors: ['demo/demo-chat', 'openai-eu/gpt-4o'] });
  await visit('/combos?open=p4-order');
  await dialog(page).getByRole('button', { name: 'Check targets' }).click();
  await expect(dialog(page).getByText('Every stored target resolves to a model now.')).toBeVisible();
  await dialog(page).getByRole('button', { name: 'Move target 2 up' }).click();
  await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
  await expect(dialog(page).getByRole('group', { name: 'Difference' })).toBeVisible();
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await expect.poll(async () => (await gateway.api('GET', '/combos/p4-order')).body.selectors).toEqual(['openai-eu/gpt-4o', 'demo/demo-chat']);
  await undo(page, 'p4-order is saved');
  await expect.poll(async () => (await gateway.api('GET', '/combos/p4-order')).body.selectors).toEqual(['demo/demo-chat', 'openai-eu/gpt-4o']);
  await gateway.expectApi('DELETE', '/combos/p4-order');
});

test('a concurrent change keeps the edit', async ({ page, gateway, visit, log }) => {
  log.expect(/412/);
  await gateway.expectApi('PUT', '/combos/p4-conflict', { selectors: ['demo/demo-chat', 'openai-eu/gpt-4o'] });
  await visit('/combos?open=p4-conflict');
  await fillForm(dialog(page), { Description: 'Mine' });
  await gateway.expectApi('PUT', '/combos/p4-conflict', { selectors: ['demo/demo-chat', 'openai-eu/gpt-4o'], strategy: 'random' });
  await save(page, 'Save');
  await expect(page.getByText('This was changed after you opened it.')).toBeVisible();
  await expect(dialog(page).getByText('Mine').first()).toBeAttached();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await expect.poll(async () => (await gateway.api('GET', '/combos/p4-conflict')).body.description).toBe('Mine');
  await closeDialogs(page);
  await gateway.expectApi('DELETE', '/combos/p4-conflict');
});

test('a name that is taken is said at its field', async ({ page, visit, log }) => {
  log.expect(/409/);
  await visit('/combos');
  await page.keyboard.press('c');
  await fillForm(dialog(page), { Name: 'smart', 'Target 1': 'demo/demo-chat', 'Target 2': 'demo/demo-embedding' });
  await save(page, 'Create combo');
  await expect(page.getByText(/smart/).last()).toBeVisible();
  await expect(dialog(page)).toBeVisible();
  await closeDialogs(page);
  await openRow(page, 'smart');
  await expect(dialog(page).getByLabel('Target 1', { exact: true })).toHaveValue('demo/demo-chat');
});
