// Screenshots of every page in light, dark and at the width of a phone, in .cache/screenshots.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { Gateway } from '../support/gateway';
import { startWithRows } from '../support/generated_rows';
import { PAGES } from '../support/pages';
import { fill, SAMPLE } from '../support/sample_data';
import { settled, signIn, test as base } from '../support/test';

const FOLDER = resolve(import.meta.dirname, '../../../.cache/screenshots');
const FORMS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { name: '390', colorScheme: 'light', viewport: { width: 390, height: 844 } },
] as const;

const ROWS = Number(process.env.ROWS ?? 30_000);

const test = base.extend<object, { filled: any }>({
  // With a month of calls, so that charts and tables look as they do in use.
  filled: [
    async ({}, use) => {
      const gateway = await startWithRows(ROWS);
      const samples = await fill(gateway);
      const traffic = setInterval(() => void makeCall(gateway, samples.inferenceKey), 400);
      await use({ gateway, samples });
      clearInterval(traffic);
      await gateway.stop();
    },
    { scope: 'worker', timeout: 900_000 },
  ],
});

/** One call, so that live figures have something to show; some fail, some are answered from the cache. */
async function makeCall(gateway: Gateway, key: string) {
  const chance = Math.random();
  const text = chance < 0.3 ? 'Hello' : `What is the square of ${Math.round(chance * 1000)}?`;
  await gateway.chat(text, { model: chance > 0.95 ? 'no-such-model' : SAMPLE.alias, key, stream: chance > 0.6 }).catch(() => undefined);
}

test.beforeAll(() => mkdirSync(FOLDER, { recursive: true }));

for (const entry of PAGES) {
  test(entry.name, async ({ page, gateway, samples, log }) => {
    const shown = entry.empty ? await Gateway.start({ GATEWAY_EDITION: 'oss', IDENTITY_ADMIN_EMAIL: '', IDENTITY_ADMIN_PASSWORD: '' }) : gateway;
    if (shown !== gateway) log.allowOrigin(new URL(shown.url).origin);
    await page.context().clearCookies();
    if (!entry.signedOut) await signIn(page, shown, entry.ordinaryKey ? samples.inferenceKey : undefined);
    try {
      for (const { name, colorScheme, viewport } of FORMS) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.setViewportSize(viewport);
        await page.goto(`${shown.url}/admin/dashboard${entry.path}`);
        await settled(page, log);
        await page.screenshot({ path: `${FOLDER}/${entry.name}-${name}.png` });
      }
    } finally {
      if (shown !== gateway) await shown.stop();
    }
  });
}
