// The live console: kept events, the stream, filters, pause.
import { recorded } from '../support/sample_data';
import { test, expect } from '../support/test';

test('a call made meanwhile appears at the head', async ({ page, visit, gateway, log }) => {
  await visit('/console');
  expect(log.requests.length).toBeLessThanOrEqual(2);
  await page.mouse.move(5, 5);
  await expect(page.getByRole('status').filter({ hasText: 'Live' })).toBeVisible();
  await gateway.chat('Hello', { model: 'console-live-model' });
  await expect(page.getByRole('row').nth(1)).toContainText('console-live-model');
});

test('a change of the configuration is an event', async ({ page, visit, gateway }) => {
  await visit('/console?event=config');
  await page.mouse.move(5, 5);
  await gateway.expectApi('PUT', '/aliases/console-alias', { target: 'demo/demo-chat' });
  await expect(page.getByRole('row').nth(1)).toContainText('console-alias');
  await gateway.expectApi('DELETE', '/aliases/console-alias');
  await expect(page.getByRole('row').nth(1)).toContainText('delete');
});

test('kinds and search filter, and both are in the URL', async ({ page, visit }) => {
  await visit('/console');
  await page.getByRole('button', { name: 'Changes' }).click();
  await expect(page).toHaveURL(/event=config/);
  await expect(page.getByRole('table', { name: 'Events' })).not.toContainText('demo-chat →');
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.getByRole('searchbox').fill('no-such-model');
  await expect(page.getByRole('row').nth(1)).toContainText('no-such-model');
  await page.getByRole('searchbox').fill('nothing-has-this');
  await expect(page.getByText('No events match')).toBeVisible();
});

test('paused events are counted and shown on demand', async ({ page, visit, gateway }) => {
  await visit('/console');
  await page.mouse.move(5, 5);
  await page.keyboard.press('p');
  await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
  await gateway.chat('Hello', { model: 'paused-console-model' });
  await expect(page.getByRole('button', { name: /new event/ })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Events' })).not.toContainText('paused-console-model');
  await page.keyboard.press('p');
  await expect(page.getByRole('table', { name: 'Events' })).toContainText('paused-console-model');
});

test('a request opens in the audit log', async ({ page, visit, gateway }) => {
  await recorded(gateway, 'requested_model=console-opened-model', () => gateway.chat('Hello', { model: 'console-opened-model' }));
  await visit('/console?event=request');
  await page.getByRole('row').filter({ hasText: 'console-opened-model' }).click();
  await expect(page).toHaveURL(/\/audit\?open=/);
  await expect(page.locator('dialog.drawer').getByText('Authenticated')).toBeVisible();
});
