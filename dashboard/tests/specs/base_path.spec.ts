// The dashboard below a base path, as behind a reverse proxy that serves other applications too.
import { Gateway } from '../support/gateway';
import { PageLog } from '../support/page_log';
import { expect, settled, signIn, test } from '../support/test';

test('works below a base path', async ({ browser }) => {
  test.skip(Boolean(process.env.DASHBOARD_DIST), 'the gateway rewrites the links of its own page');
  const gateway = await Gateway.start({ BASE_PATH: '/gate' });
  const page = await browser.newPage();
  try {
    const log = await PageLog.attach(page, new URL(gateway.url).origin);
    await signIn(page, gateway);
    for (const path of ['', '/keys']) {
      await page.goto(`${gateway.url}/admin/dashboard${path}`);
      await settled(page, log);
    }
    expect(await log.found()).toEqual([]);
    expect(log.files.filter((file) => !file.startsWith('/gate/'))).toEqual([]);
  } finally {
    await page.close();
    await gateway.stop();
  }
});
