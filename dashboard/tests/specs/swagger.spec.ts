// Swagger UI, with the content security policy of the dashboard.
import { Gateway } from '../support/gateway';
import { PageLog } from '../support/page_log';
import { expect, signIn, test } from '../support/test';

for (const base of ['', '/gate']) {
  test(`Swagger UI shows the operations at '${base}/swagger/index.html'`, async ({ browser }) => {
    test.skip(Boolean(process.env.DASHBOARD_DIST), 'the files of the binary are not used');
    const gateway = await Gateway.start({ SWAGGER_ENABLED: 'true', DEBUG: 'true', ...(base && { BASE_PATH: base }) });
    const page = await browser.newPage();
    try {
      const log = await PageLog.attach(page, new URL(gateway.url).origin);
      await signIn(page, gateway);
      await page.goto(`${gateway.url}/swagger/index.html`);
      await expect(page.locator('.swagger-ui .info .title')).toContainText('Gatehouse');
      // Only what is in view is in the document.
      const operation = page.locator('.opblock', { has: page.locator('[data-path="/admin/api/v1/aliases"]') }).first();
      await operation.locator('.opblock-summary-control').click();
      await operation.getByRole('button', { name: 'Try it out' }).click();
      await expect(operation.getByRole('button', { name: 'Execute' })).toBeVisible();
      if (base === '') {
        await operation.getByRole('button', { name: 'Execute' }).click();
        await expect(operation.locator('.live-responses-table .response .response-col_status')).toContainText('200');
      }
      expect(await log.found()).toEqual([]);
    } finally {
      await page.close();
      await gateway.stop();
    }
  });
}
