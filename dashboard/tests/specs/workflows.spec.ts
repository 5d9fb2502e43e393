// Workflows: the tree of scopes, new versions with their difference, rollback and deactivation.
import { SAMPLE } from '../support/sample_data';
import { test, expect } from '../support/test';
import { confirm, dialog, fillForm, row, save, undo } from '../support/resource';

test('a workflow is created, edited as a new version, rolled back and deactivated', async ({ page, gateway, visit }) => {
  const active = async () => ((await gateway.api('GET', '/workflows')).body as any[]).find((each) => each.scope.scope_user_path === '/flow');
  await visit('/workflows');
  await page.getByRole('button', { name: 'Create workflow' }).click();
  await fillForm(dialog(page), { Name: 'flow', Path: '/flow', Cache: false, 'Add a guardrail': `${SAMPLE.guardrail} (regex_block)` });
  await save(page, 'Create workflow');
  await expect.poll(active).toMatchObject({ version: 1, workflow_payload: { features: { cache: false }, guardrails: [{ ref: SAMPLE.guardrail, step: 1 }] } });
  await expect(row(page, '/flow')).toHaveAttribute('aria-selected', 'true');

  await page.getByRole('button', { name: 'Edit as new version' }).click();
  await fillForm(dialog(page), { Description: 'With retries', Retries: 2 });
  await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
  await expect(dialog(page).getByRole('group', { name: 'Difference' })).toContainText('retries: 2');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await expect.poll(active).toMatchObject({ version: 2, workflow_payload: { routing: { retries: 2 } } });

  await page.getByRole('tab', { name: /Versions/ }).click();
  await page.getByRole('table', { name: 'Versions' }).getByRole('row').filter({ hasText: 'v1' }).click();
  await expect(dialog(page).getByRole('group', { name: 'Difference' })).toContainText('retries: 2');
  await dialog(page).getByRole('button', { name: 'Roll back to this version' }).click();
  await expect.poll(active).toMatchObject({ version: 1 });
  await undo(page, 'Version 1 is in force');
  await expect.poll(active).toMatchObject({ version: 2 });

  await page.getByRole('button', { name: 'More for /flow' }).click();
  await page.getByRole('menuitem', { name: 'Deactivate workflow' }).click();
  await confirm(page);
  await expect.poll(active).toBeUndefined();
  await expect(row(page, '/flow').first()).toContainText('off');
});

test('scopes stand under the scope that contains them', async ({ page, gateway, visit }) => {
  const made = [];
  for (const path of ['/tree', '/tree/leaf']) made.push(await gateway.expectApi('POST', '/workflows', { name: path, scope: { scope_user_path: path } }));
  await visit('/workflows');
  await expect(row(page, 'All calls')).toHaveAttribute('aria-level', '1');
  await expect(row(page, '/tree').first()).toHaveAttribute('aria-level', '2');
  await expect(row(page, '/tree/leaf')).toHaveAttribute('aria-level', '3');
  for (const each of made) await gateway.expectApi('POST', `/workflows/${each.id}/deactivate`);
});
