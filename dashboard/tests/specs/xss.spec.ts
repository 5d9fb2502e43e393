// Texts stored through the API are shown and never executed.
import { PAGES } from '../support/pages';
import { storePayloads } from '../support/payloads';
import { Gateway } from '../support/gateway';
import { PageLog } from '../support/page_log';
import { expect, settled, signIn, test as base, type Page } from '../support/test';

// A gateway of its own: other tests do not expect these rows.
const test = base.extend<object, { hostile: Gateway }>({
  hostile: [
    async ({}, use) => {
      const gateway = await Gateway.start();
      const refused = await storePayloads(gateway);
      expect(refused, 'every field stores its payload').toEqual([]);
      await use(gateway);
      await gateway.stop();
    },
    { scope: 'worker', timeout: 180_000 },
  ],
});

for (const entry of PAGES.filter((entry) => !entry.empty && !entry.signedOut)) {
  test(`${entry.name}: executes nothing`, async ({ browser, hostile }) => {
    const page = await browser.newPage();
    const log = await PageLog.attach(page, new URL(hostile.url).origin);
    await signIn(page, hostile);
    await page.goto(`${hostile.url}/admin/dashboard${entry.path}`);
    await settled(page, log);
    await expectNothingExecuted(page);
    if (entry.hasRows) await openHostileRows(page, log);
    expect(await log.found()).toEqual([]);
    await page.close();
  });
}

/** Opens rows with payloads: their details show more fields. Without such a row, the test would show nothing. */
async function openHostileRows(page: Page, log: PageLog) {
  const rows = page.getByRole('row').filter({ hasText: /xss/ });
  await expect(rows.first()).toBeVisible();
  for (let at = 0; at < Math.min(3, await rows.count()); at += 1) {
    await rows.nth(at).click({ position: { x: 40, y: 12 } });
    await log.idle();
    await expectNothingExecuted(page);
    await page.keyboard.press('Escape');
  }
}

async function expectNothingExecuted(page: Page) {
  expect(await page.evaluate(() => window.__xss)).toBeUndefined();
  expect(await page.locator('a[href^="javascript:"], [onerror], [onload]').count()).toBe(0);
}
