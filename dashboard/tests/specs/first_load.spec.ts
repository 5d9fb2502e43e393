// The size of the first page, and how its files are sent.
import { gzipSync } from 'node:zlib';
import type { Response } from '@playwright/test';
import { expect, test } from '../support/test';

const MOST_BYTES = 200 * 1000;

test('the first page is small', async ({ page, visit }) => {
  const responses: Response[] = [];
  page.on('response', (response) => responses.push(response));
  await visit('/');
  const sizes = new Map<string, number>();
  for (const response of responses) {
    const { pathname } = new URL(response.url());
    if (!pathname.includes('/admin/dashboard') || pathname.includes('/admin/api/')) continue;
    const body = await response.body();
    // Fonts and images are compressed already.
    sizes.set(pathname, /\.(woff2|png|webp)$/.test(pathname) ? body.length : gzipSync(body, { level: 9 }).length);
  }
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const largest = [...sizes].sort((a, b) => b[1] - a[1]).map(([path, size]) => `${(size / 1000).toFixed(0)} KB ${path}`);
  console.log(`first load: ${sizes.size} files, ${(total / 1000).toFixed(0)} KB gzip`);
  expect(sizes.size, 'the page and its script').toBeGreaterThan(1);
  expect(total, largest.join('\n')).toBeLessThanOrEqual(MOST_BYTES);
});

test('files are compressed, immutable and answered with 304', async ({ gateway, log, visit }) => {
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
  const missing = await fetch(`${gateway.url}/admin/dashboard/assets/no-such-file.js`);
  expect(missing.status).toBe(404);
});
