// Serves a folder in place of the files in the binary, so that a new dashboard is tested without building the gateway.
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Page } from '@playwright/test';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Uses DASHBOARD_DIST, if it is set, with the headers that the gateway sends with its own files. */
export async function useLocalFiles(page: Page, url: string) {
  const folder = process.env.DASHBOARD_DIST;
  if (!folder) return;
  const policy = (await fetch(`${url}/admin/dashboard`)).headers.get('content-security-policy') ?? '';
  await page.route(/\/admin\/dashboard(\/|\?|$)/, (route) => {
    const path = new URL(route.request().url()).pathname.replace(/^.*?\/admin\/dashboard\/?/, '');
    const file = read(folder, path) ?? (path.startsWith('assets/') ? undefined : read(folder, 'index.html'));
    if (!file) return route.fulfill({ status: 404 });
    const headers = { 'content-type': TYPES[extname(file.name)] ?? 'application/octet-stream', 'content-security-policy': policy };
    return route.fulfill({ body: file.content, headers });
  });
}

function read(folder: string, name: string): { name: string; content: Buffer } | undefined {
  if (!extname(name) || name.includes('..')) return undefined;
  const path = join(folder, name);
  if (existsSync(path)) return { name, content: readFileSync(path) };
  if (existsSync(`${path}.gz`)) return { name, content: gunzipSync(readFileSync(`${path}.gz`)) };
  return undefined;
}
