// Guardrails: forms from the type schemas, the test box, and references on delete.
import { test, expect } from '../support/test';
import { confirm, dialog, fillForm, row, save, undo } from '../support/resource';

test('a guardrail is created, edited and deleted, each with undo', async ({ page, gateway, visit }) => {
  const stored = async () => (await gateway.api('GET', '/guardrails/no-cards')).body;
  await visit('/guardrails');
  await page.getByRole('button', { name: 'Create guardrail' }).click();
  await fillForm(dialog(page), { Name: 'no-cards', Type: 'Patterns', Patterns: ['card{1,4}', 'cvv'], Inspects: 'Requests' });
  await save(page, 'Create guardrail');
  await expect.poll(stored).toMatchObject({ type: 'regex_block', direction: 'input', config: { patterns: ['card{1,4}', 'cvv'] } });
  await expect(row(page, 'no-cards')).toHaveAttribute('aria-selected', 'true');

  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await fillForm(dialog(page), { Mode: 'Monitor', Description: 'Card data' });
  await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
  await expect(dialog(page).getByRole('group', { name: 'Difference' })).toContainText('mode: monitor');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await expect.poll(stored).toMatchObject({ mode: 'monitor', description: 'Card data' });
  await undo(page, 'no-cards is saved');
  await expect.poll(stored).toMatchObject({ mode: 'enforce', description: null });

  await page.getByRole('button', { name: 'More for no-cards' }).click();
  await page.getByRole('menuitem', { name: 'Delete guardrail' }).click();
  await confirm(page);
  await expect(row(page, 'no-cards')).toHaveCount(0);
  expect((await gateway.api('GET', '/guardrails/no-cards')).status).toBe(404);
});

test('an error stands beside the field it is about', async ({ page, visit, log }) => {
  log.expect(/400/);
  await visit('/guardrails');
  await page.getByRole('button', { name: 'Create guardrail' }).click();
  await fillForm(dialog(page), { Name: 'broken', Type: 'Patterns', Patterns: ['('] });
  await save(page, 'Create guardrail');
  await expect(dialog(page).getByText(/not a regular expression/)).toBeVisible();
  await expect(dialog(page).getByLabel('Patterns', { exact: true })).toHaveAttribute('aria-invalid', 'true');
});

test('the test box marks matches and shows what the model gets', async ({ page, gateway, visit }) => {
  await gateway.expectApi('PUT', '/guardrails/pii-test', { type: 'pii_redact' });
  await visit('/guardrails?open=pii-test');
  await page.getByLabel('Sample text').fill('Write to someone@example.com today');
  await page.keyboard.press('Control+Enter');
  await expect(page.getByText('Passes with 1 redaction')).toBeVisible();
  await expect(page.getByText('[EMAIL]')).toBeVisible();
  await expect(page.locator('mark')).toHaveText(/someone@example\.com\s*email/);
  await page.getByLabel('Sample text').fill('Nothing here');
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await expect(page.getByText('Passes unchanged')).toBeVisible();
  await expect(page.locator('mark')).toHaveCount(0);
  await gateway.api('DELETE', '/guardrails/pii-test');
});

test('a guardrail in use is not deleted, and its workflow is named', async ({ page, gateway, visit, log }) => {
  log.expect(/409/);
  await gateway.expectApi('PUT', '/guardrails/held', { type: 'length_limit', config: { max_chars: 100000 } });
  const workflow = await gateway.expectApi('POST', '/workflows', { name: 'holder', scope: { scope_user_path: '/held' }, workflow_payload: { guardrails: ['held'] } });
  await visit('/guardrails?open=held');
  await expect(page.getByRole('link', { name: 'used by 1 workflow' })).toBeVisible();
  await page.getByRole('button', { name: 'More for held' }).click();
  await page.getByRole('menuitem', { name: 'Delete guardrail' }).click();
  await dialog(page).getByRole('button', { name: 'Delete guardrail' }).click();
  await expect(dialog(page).getByText(/is in use by the workflow/)).toBeVisible();
  await expect(dialog(page).getByRole('link', { name: 'holder (/held)' })).toBeVisible();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  await gateway.expectApi('POST', `/workflows/${workflow.id}/deactivate`);
  await gateway.api('DELETE', '/guardrails/held');
});

test('J and K go through the list, and a phone shows list or guardrail', async ({ page, gateway, visit }) => {
  await gateway.expectApi('PUT', '/guardrails/aa-first', { type: 'length_limit', config: { max_chars: 10 } });
  await visit('/guardrails');
  await expect(row(page, 'aa-first')).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('j');
  await expect(row(page, 'aa-first')).toHaveAttribute('aria-selected', 'false');
  await page.keyboard.press('k');
  await expect(page).toHaveURL(/open=aa-first/);
  await page.setViewportSize({ width: 390, height: 844 });
  await visit('/guardrails');
  await expect(page.getByRole('heading', { level: 2 })).toHaveCount(0);
  await row(page, 'aa-first').click();
  await expect(page.getByRole('heading', { level: 2, name: 'aa-first' })).toBeVisible();
  await page.goBack();
  await expect(row(page, 'aa-first')).toBeVisible();
  await gateway.api('DELETE', '/guardrails/aa-first');
});

test('a concurrent change keeps the edit and shows the difference', async ({ page, gateway, visit, log }) => {
  log.expect(/412/);
  await gateway.expectApi('PUT', '/guardrails/contested', { type: 'length_limit', config: { max_chars: 10 } });
  await visit('/guardrails?open=contested');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await fillForm(dialog(page), { Description: 'mine' });
  await gateway.expectApi('PUT', '/guardrails/contested', { type: 'length_limit', config: { max_chars: 20 }, description: 'theirs' });
  await save(page, 'Save');
  await page.getByRole('button', { name: 'Compare' }).click();
  await expect(dialog(page).getByRole('group', { name: 'Difference' })).toContainText('theirs');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await expect.poll(async () => (await gateway.api('GET', '/guardrails/contested')).body.description).toBe('mine');
  // The page reads what it has saved.
  await expect(page.getByText('contested is saved')).toBeVisible();
  await gateway.api('DELETE', '/guardrails/contested');
});
