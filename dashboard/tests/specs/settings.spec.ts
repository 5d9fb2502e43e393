// Settings: value, default, source and lock; a change with its difference and undo.
import { test, expect } from '../support/test';
import { closeDialogs, dialog, fillForm, openRow, row, undo } from '../support/resource';

test('a setting is changed, taken back, changed and reset', async ({ page, gateway, visit }) => {
  const stored = async () => ((await gateway.api('GET', '/settings')).body.settings as any[]).find((each) => each.name === 'log.level');
  const change = async () => {
    await openRow(page, 'log.level');
    await fillForm(dialog(page), { Value: 'debug' });
    await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
    await expect(dialog(page).getByRole('group', { name: 'Difference' })).toContainText('log.level: debug');
    await dialog(page).getByRole('button', { name: 'Save changes' }).click();
    await expect.poll(stored).toMatchObject({ value: 'debug', source: 'admin' });
  };
  await visit('/settings?search=log.level');
  await change();
  await undo(page, 'LOG_LEVEL is debug');
  await expect.poll(stored).toMatchObject({ value: 'info', source: 'default' });
  await expect(row(page, 'log.level')).toContainText('info');
  await change();
  await expect(row(page, 'log.level')).toContainText('debug');
  await openRow(page, 'log.level');
  await dialog(page).getByRole('button', { name: 'Reset' }).click();
  await expect.poll(stored).toMatchObject({ value: 'info', source: 'default' });
});

test('a setting from the environment is locked and says why', async ({ page, visit }) => {
  await visit('/settings?search=LOGGING_ENABLED');
  await expect(row(page, 'logging.enabled')).toContainText('environment');
  await expect(row(page, 'logging.enabled')).toContainText('locked');
  await openRow(page, 'logging.enabled');
  await expect(dialog(page).getByText(/LOGGING_ENABLED in the environment sets it/)).toBeVisible();
  await expect(dialog(page).getByRole('button', { name: 'Save', exact: true })).toHaveCount(0);
  await closeDialogs(page);
});

test('a wrong value is refused beside its field', async ({ page, visit, log }) => {
  log.expect(/400/);
  await visit('/settings?search=LOGGING_RETENTION_DAYS&open=logging.retention_days');
  await fillForm(dialog(page), { Value: 'many' });
  await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await expect(dialog(page).getByLabel('Value', { exact: true })).toHaveAttribute('aria-invalid', 'true');
});
