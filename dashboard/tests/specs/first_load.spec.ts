// The size of the first page, and how its files are sent.
import { expect, test } from '../support/test';

const MOST_BYTES = 200 * 1000;

test('the first page is small', async ({ page, gateway, log, visit }) => {
  await visit('/');
  let total = 0;
  for (const path of new Set(log.files)) {
    const answer = await page.request.get(new URL(path, gateway.url).href, { headers: { 'accept-encoding': 'gzip' } });
    expect(answer.status(), path).toBe(200);
    const length = Number(answer.headers()['content-length']);
    expect(length, path).toBeGreaterThan(0);
    total += length;
  }
  console.log(`first load: ${new Set(log.files).size} files, ${(total / 1000).toFixed(0)} KB gzip`);
  expect(total).toBeLessThanOrEqual(MOST_BYTES);
});

test('files are compressed, immutable and answered with 304', async ({ page, gateway, log, visit }) => {
  test.skip(Boolean(process.env.DASHBOARD_DIST), 'the files of the binary are not used');
  await visit('/');
  const scripts = log.files.filter((path) => path.endsWith('.js') && path.includes('/assets/'));
  expect(scripts.length).toBeGreaterThan(0);
  for (const [accepted, encoding] of [['br, gzip', 'br'], ['gzip', 'gzip'], ['identity', undefined]] as const) {
    const headers = { 'accept-encoding': accepted };
    const response = await fetch(new URL(scripts[0] ?? '', gateway.url), { headers });
    expect(response.headers.get('content-encoding') ?? undefined).toBe(encoding);
    expect(response.headers.get('cache-control')).toContain('immutable');
    const known = { ...headers, 'if-none-match': response.headers.get('etag') ?? '' };
    expect((await fetch(response.url, { headers: known })).status).toBe(304);
  }
  const page_ = await page.request.get(`${gateway.url}/admin/dashboard/assets/no-such-file.js`);
  expect(page_.status()).toBe(404);
});
