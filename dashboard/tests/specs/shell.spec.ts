// The shell around every page: palette, time zone, keyboard shortcuts, linked pages, scroll position after back.
import { SAMPLE } from '../support/sample_data';
import { expect, test } from '../support/test';

test('the palette finds keys by name, path and the shown part of the value', async ({ page, gateway, samples, visit, log }) => {
  await visit('/');
  const key = await gateway.expectApi('GET', `/auth-keys/${samples.inferenceKeyId}`);
  for (const text of [SAMPLE.key, SAMPLE.userPath, key.redacted_value.slice(0, 7), samples.inferenceKey]) {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search pages, keys and actions' }).fill(text);
    await expect(page.getByRole('option').filter({ hasText: SAMPLE.key }).first()).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(page.getByRole('combobox', { name: 'Search pages, keys and actions' })).toBeHidden();
  }
  expect(log.requests.filter((request) => request.includes(samples.inferenceKey)), 'a whole key is never sent').toEqual([]);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages, keys and actions' }).fill('rotate');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'API keys' })).toBeVisible();
});

test('the time zone is chosen and kept', async ({ page, visit }) => {
  await visit('/');
  await page.keyboard.press('z');
  await page.getByLabel('Find a time zone').fill('tokyo');
  await page.getByRole('radio', { name: /Asia\/Tokyo/ }).check();
  await page.keyboard.press('Escape');
  await expect(page.getByText(/As of .* (GMT\+9|JST)/)).toBeVisible();
  await page.reload();
  await expect(page.getByText(/As of .* (GMT\+9|JST)/)).toBeVisible();
});

test('? lists the keys, and T switches the theme', async ({ page, visit }) => {
  await visit('/');
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeHidden();
  const before = await page.locator('html').getAttribute('data-theme');
  await page.keyboard.press('t');
  await expect(page.locator('html')).not.toHaveAttribute('data-theme', before ?? '');
});

test('people, roles, tenants and login are linked', async ({ page, visit }) => {
  await visit('/users');
  for (const name of ['Roles', 'Tenants', 'Login', 'People']) {
    const link = page.getByRole('navigation', { name: 'People and roles' }).getByRole('link', { name });
    await link.click();
    await expect(link).toHaveAttribute('aria-current', 'page');
  }
});

test('back restores the place on the page', async ({ page, visit }) => {
  await page.setViewportSize({ width: 1200, height: 500 });
  await visit('/');
  // The router notes the place a moment after the scroll event, on the same thread.
  await page.evaluate(() => new Promise((done) => {
    window.addEventListener('scroll', () => setTimeout(done, 300), { once: true });
    window.scrollTo(0, 300);
  }));
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Models' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Models' })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(300);
});

test('figures of the overview lead to their rows', async ({ page, visit }) => {
  await visit('/');
  await page.getByRole('tab', { name: /Error rate/ }).click();
  await page.getByRole('link', { name: 'Failed calls' }).click();
  await expect(page).toHaveURL(/\/audit\?.*status=error/);
  await page.goBack();
  await page.getByRole('table', { name: 'Cost by model' }).getByRole('link', { name: 'demo-chat' }).click();
  await expect(page).toHaveURL(/\/usage\?.*model=demo-chat/);
});
