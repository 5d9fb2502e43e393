// Signing in and out, and what a session keeps in the browser.
import { ADMIN_EMAIL, ADMIN_PASSWORD, MASTER_KEY } from '../support/gateway';
import { expect, settled, test } from '../support/test';

test('without a session a page leads to the sign-in page, and back after signing in with a key', async ({ page, gateway, log }) => {
  await page.context().clearCookies();
  await page.goto(`${gateway.url}/admin/dashboard/keys`);
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
  await page.getByRole('button', { name: 'Gateway key' }).click();
  await page.getByLabel('Gateway key', { exact: true }).last().fill(MASTER_KEY);
  await page.getByRole('button', { name: /^Sign in/ }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'API keys' })).toBeVisible();
  await settled(page, log);
  await page.reload();
  await expect(page.getByRole('heading', { level: 1, name: 'API keys' })).toBeVisible();
});

test('a user signs in by email', async ({ page, gateway, log }) => {
  await page.context().clearCookies();
  await page.goto(`${gateway.url}/admin/dashboard/sign-in`);
  await page.getByLabel('Email', { exact: true }).last().fill(ADMIN_EMAIL);
  await page.getByLabel('Password').fill(ADMIN_PASSWORD);
  await page.getByRole('button', { name: /^Sign in/ }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
  await settled(page, log);
});

test('a wrong key is refused with a reason', async ({ page, gateway, log }) => {
  log.expect(/401/);
  await page.context().clearCookies();
  await page.goto(`${gateway.url}/admin/dashboard/sign-in`);
  await page.getByRole('button', { name: 'Gateway key' }).click();
  await page.getByLabel('Gateway key', { exact: true }).last().fill('no-such-key');
  await page.getByRole('button', { name: /^Sign in/ }).click();
  await expect(page.getByText(/key/i).filter({ hasText: /invalid|unknown|not valid|wrong/i }).first()).toBeVisible();
});

test('a session that ends leads to the sign-in page', async ({ page, visit, log }) => {
  log.expect(/401/);
  await visit('/keys');
  await page.context().clearCookies();
  await page.reload();
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
});

test('no credential is kept where a script can read it', async ({ page, visit }) => {
  await visit('/');
  const readable = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  expect(readable).not.toContain(MASTER_KEY);
  expect(readable).not.toContain('gatehouse_session');
});
