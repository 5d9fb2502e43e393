// Every page: its heading, no error, at most two requests, and no serious finding of axe.
import AxeBuilder from '@axe-core/playwright';
import { Gateway } from '../support/gateway';
import { PAGES, type PageEntry } from '../support/pages';
import { expect, settled, signIn, test, type Page } from '../support/test';

const MOST_REQUESTS = 2;

for (const entry of PAGES.filter((entry) => !entry.empty)) {
  test(`${entry.name}: opens`, async ({ page, gateway, samples, log, visit }) => {
    if (entry.signedOut) await page.context().clearCookies();
    if (entry.ordinaryKey) {
      await page.context().clearCookies();
      await signIn(page, gateway, samples.inferenceKey);
    }
    await visit(entry.path);
    await expect(page.getByRole('heading', { level: 1, name: entry.heading })).toBeVisible();
    expect(log.requests.length, log.requests.join('\n')).toBeLessThanOrEqual(MOST_REQUESTS);
    expect(await seriousFindings(page)).toEqual([]);
    await checkNarrow(page, entry);
  });
}

test.describe('without data', () => {
  test('a new gateway leads through its first steps', async ({ page, log }) => {
    const fresh = await Gateway.start({ GATEWAY_EDITION: 'oss', IDENTITY_ADMIN_EMAIL: '', IDENTITY_ADMIN_PASSWORD: '' });
    try {
      await page.context().clearCookies();
      await signIn(page, fresh);
      log.allowOrigin(new URL(fresh.url).origin);
      for (const entry of PAGES.filter((entry) => entry.empty)) {
        await page.goto(`${fresh.url}/admin/dashboard${entry.path}`);
        await settled(page, log);
        expect(await seriousFindings(page)).toEqual([]);
      }
    } finally {
      await fresh.stop();
    }
  });
});

async function seriousFindings(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return serious.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html).join(' ')}`);
}

/** At the width of a phone, nothing makes the page itself scroll sideways. */
async function checkNarrow(page: Page, entry: PageEntry) {
  await page.setViewportSize({ width: 390, height: 844 });
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await expect.poll(overflow, { message: `${entry.name} at 390 px` }).toBeLessThanOrEqual(0);
}
