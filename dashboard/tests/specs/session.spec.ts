// Signing in and out, and what a session keeps in the browser.
import { MASTER_KEY } from '../support/gateway';
import { expect, settled, signIn, test } from '../support/test';

test('without a session every page leads to the sign-in page and back', async ({ page, gateway, log }) => {
  await page.context().clearCookies();
  log.expect(/401/);
  await page.goto(`${gateway.url}/admin/dashboard/keys`);
  await expect(page.getByRole('heading', { level: 1, name: /sign in/i })).toBeVisible();
  await signIn(page, gateway);
  await page.goto(`${gateway.url}/admin/dashboard/keys`);
  await settled(page, log);
  await expect(page.getByRole('heading', { level: 1, name: 'API keys' })).toBeVisible();
});

test('no credential is kept where a script can read it', async ({ page, visit }) => {
  await visit('/');
  const readable = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  expect(readable).not.toContain(MASTER_KEY);
  expect(readable).not.toContain('gatehouse_session');
});
