// Changes: filters in the URL, the difference of one change, and its history.
import { test, expect } from '../support/test';
import { dialog, openRow, row } from '../support/resource';

test('a change shows who, what, before and after', async ({ page, gateway, visit }) => {
  await gateway.expectApi('PUT', '/aliases/changed-alias', { target: 'demo/demo-chat', description: 'before it' });
  await gateway.expectApi('PUT', '/aliases/changed-alias', { target: 'demo/demo-chat', description: 'after it' });
  await visit('/changes?kind=alias&name=changed-alias');
  await expect(page.getByRole('row').filter({ hasText: 'changed-alias' })).toHaveCount(2);
  await openRow(page, 'update');
  const difference = dialog(page).getByRole('group', { name: 'Difference' });
  await expect(difference).toContainText('before it');
  await expect(difference).toContainText('after it');
  await expect(dialog(page)).toContainText('master');
  await gateway.api('DELETE', '/aliases/changed-alias');
});

test('filters are in the URL and the history of an object is one click away', async ({ page, gateway, visit }) => {
  await gateway.expectApi('PUT', '/aliases/history-alias', { target: 'demo/demo-chat' });
  await visit('/changes');
  await page.getByRole('button', { name: 'Kind' }).click();
  await page.getByRole('button', { name: 'Alias', exact: true }).click();
  await expect(page).toHaveURL(/kind=alias/);
  await expect(row(page, 'Workflow')).toHaveCount(0);
  await openRow(page, 'history-alias');
  await dialog(page).getByRole('button', { name: 'History of this alias' }).click();
  await expect(page).toHaveURL(/name=history-alias/);
  await gateway.api('DELETE', '/aliases/history-alias');
});
