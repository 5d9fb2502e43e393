// The `test` of all specs: a gateway with data, a signed-in page, and a check that nothing went wrong on it.
import { test as base, expect, type Page } from '@playwright/test';
import { Gateway, MASTER_KEY } from './gateway';
import { useLocalFiles } from './local_files';
import { PageLog } from './page_log';
import { fill, type Samples } from './sample_data';

type PerWorker = { gateway: Gateway; samples: Samples; filled: { gateway: Gateway; samples: Samples } };
type PerTest = { log: PageLog; visit: (path: string) => Promise<void> };

export const test = base.extend<PerTest, PerWorker>({
  filled: [
    async ({}, use) => {
      const gateway = await Gateway.start();
      try {
        await use({ gateway, samples: await fill(gateway) });
      } finally {
        await gateway.stop();
      }
    },
    { scope: 'worker', timeout: 180_000 },
  ],
  gateway: [async ({ filled }, use) => use(filled.gateway), { scope: 'worker' }],
  samples: [async ({ filled }, use) => use(filled.samples), { scope: 'worker' }],
  page: async ({ page, gateway }, use) => {
    await signIn(page, gateway);
    await use(page);
  },
  // Runs for every test, so that none can ignore a console error, a failed request or a violation of the CSP.
  log: [
    async ({ page, gateway }, use) => {
      const log = await PageLog.attach(page, new URL(gateway.url).origin);
      await use(log);
      expect(await log.found(), 'console errors, failed requests, CSP reports').toEqual([]);
    },
    { auto: true },
  ],
  visit: async ({ page, gateway, log }, use) => use((path) => visit(page, gateway, log, path)),
});

export { expect, type Page };

/** Gives the page the session cookie of a key. */
export async function signIn(page: Page, gateway: Gateway, key = MASTER_KEY) {
  const value = await gateway.openSession(key);
  const cookie = { name: 'gatehouse_session', value, url: gateway.url, httpOnly: true, sameSite: 'Strict' as const };
  await page.context().addCookies([cookie]);
  await useLocalFiles(page, gateway.url);
}

/** Opens a path below /admin/dashboard and waits until it shows its data. */
export async function visit(page: Page, gateway: Gateway, log: PageLog, path: string) {
  log.reset();
  await page.goto(`${gateway.url}/admin/dashboard${path === '/' ? '' : path}`);
  await settled(page, log);
}

/** Waits for a heading, the end of all requests, and the end of all skeletons. */
export async function settled(page: Page, log: PageLog) {
  await expect(page.getByRole('heading', { level: 1 }).first()).toBeVisible();
  // On a slow machine, a page begins its requests late: the end of its skeletons and of its requests must coincide.
  for (let begun = -1; begun !== log.begun; ) {
    begun = log.begun;
    await log.idle();
    await expect(page.locator('[aria-busy="true"], [role="status"][aria-label="Loading"]')).toHaveCount(0);
  }
}
