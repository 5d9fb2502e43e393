import { test, expect } from '../support/test';

test('the files of a tool are previewed with a masked key', async ({ page, visit, log }) => {
  await visit('/cli-tools?tool=codex');
  expect(log.requests.length).toBeLessThanOrEqual(2);
  await page.getByLabel('Gateway key').fill('gk_example_0123456789');
  await page.getByLabel('Model', { exact: true }).fill('demo/demo-chat');
  const file = page.getByRole('region', { name: '~/.codex/config.toml' });
  await expect(file).toContainText('****6789');
  await expect(file).toContainText('demo/demo-chat');
  await expect(file).not.toContainText('gk_example');
});

test('a refused write names its setting', async ({ page, visit, log }) => {
  log.expect(/403/);
  await visit('/cli-tools?tool=codex');
  await page.getByLabel('Gateway key').fill('gk_example_0123456789');
  await page.getByRole('button', { name: 'Apply on this machine' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByRole('alert')).toContainText('CLI_TOOLS_APPLY_ENABLED');
});
