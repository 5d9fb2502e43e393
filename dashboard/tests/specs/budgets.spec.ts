// Budgets: life of one, with its difference, reset and undo; settings.
import { closeDialogs, confirm, dialog, fillForm, openRow, row, save, undo } from '../support/resource';
import { expect, test } from '../support/test';

type Budget = { user_path: string; amount: number; spent: number; child_default?: number | null };

test('a budget is created, edited, reset and deleted', async ({ page, gateway, visit }) => {
  const stored = async () => ((await gateway.api('GET', '/budgets')).body.budgets as Budget[]).find((each) => each.user_path === '/p3-budget');
  await visit('/budgets');
  await page.getByRole('button', { name: 'Create budget' }).first().click();
  await fillForm(dialog(page), { Path: '/p3-budget', Period: 'Monthly', Amount: 25 });
  await save(page, 'Create budget');
  await expect.poll(stored).toMatchObject({ amount: 25 });
  await expect(row(page, '/p3-budget')).toContainText('$25');

  await openRow(page, '/p3-budget');
  await dialog(page).getByRole('button', { name: 'Edit', exact: true }).click();
  await fillForm(dialog(page), { Amount: 40 });
  await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
  await expect(dialog(page).getByRole('group', { name: 'Difference' })).toContainText('amount: 40');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await expect.poll(stored).toMatchObject({ amount: 40 });
  await undo(page, 'Budget of /p3-budget saved');
  await expect.poll(stored).toMatchObject({ amount: 25 });

  await page.getByRole('button', { name: 'Actions for /p3-budget' }).click();
  await page.getByRole('menuitem', { name: 'Reset' }).click();
  await confirm(page, '/p3-budget', 'Reset budget');
  await expect(page.getByText('Budget of /p3-budget begins at $0')).toBeVisible();

  await openRow(page, '/p3-budget');
  await dialog(page).getByRole('button', { name: 'Delete budget' }).click();
  await confirm(page);
  await expect.poll(stored).toBeUndefined();
  await expect(row(page, '/p3-budget')).toHaveCount(0);
});

test('what is missing in a budget is said at its field, and nothing is sent', async ({ page, visit, log }) => {
  await visit('/budgets');
  await page.keyboard.press('c');
  await fillForm(dialog(page), { Path: 'search' });
  log.reset();
  await dialog(page).getByRole('button', { name: 'Create budget' }).click();
  await expect(dialog(page).getByText('A path begins with /, e.g. /search.')).toBeVisible();
  await expect(dialog(page).getByText('An amount above 0, in US dollars.')).toBeVisible();
  expect(log.requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
  await closeDialogs(page);
});

test('the settings of budgets are changed and taken back', async ({ page, gateway, visit }) => {
  const hour = async () => (await gateway.api('GET', '/budgets/settings')).body.daily_reset_hour;
  const before = await hour();
  await visit('/budgets?edit=settings');
  await fillForm(dialog(page), { 'Day begins at': '05:30' });
  await save(page, 'Save');
  await expect.poll(hour).toBe(5);
  await undo(page, 'Settings of budgets saved');
  await expect.poll(hour).toBe(before);
});
