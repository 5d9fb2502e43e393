// The pages with 10^6 audit rows behind them.
import { startWithRows } from '../support/generated_rows';
import { PAGES } from '../support/pages';
import { expect, settled, signIn, test as base } from '../support/test';

const ROWS = Number(process.env.ROWS ?? 1_000_000);
const MOST_MILLISECONDS = 1500;
const MOST_TASK_MILLISECONDS = 100;
const SCROLLED_ROWS = 10_000;

const test = base.extend<object, { filled: any }>({
  // In place of the small gateway.
  filled: [
    async ({}, use) => {
      const gateway = await startWithRows(ROWS);
      const key = await gateway.expectApi('POST', '/auth-keys', { name: 'large', scopes: ['inference'], user_path: '/org/team-01' });
      await use({ gateway, samples: { inferenceKey: key.key, inferenceKeyId: key.id } });
      await gateway.stop();
    },
    { scope: 'worker', timeout: 900_000 },
  ],
});

for (const entry of PAGES.filter((entry) => !entry.empty && !entry.signedOut)) {
  test(`${entry.name}: can be used within ${MOST_MILLISECONDS} ms`, async ({ page, gateway, samples, log }) => {
    if (entry.ordinaryKey) await signIn(page, gateway, samples.inferenceKey);
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const begun = performance.now();
      await page.goto(`${gateway.url}/admin/dashboard${entry.path}`);
      await settled(page, log);
      // `settled` waits for 100 ms without requests.
      times.push(performance.now() - begun - 100);
    }
    times.sort((a, b) => a - b);
    console.log(`${entry.name}: ${times.map((time) => time.toFixed(0)).join(', ')} ms`);
    expect(times[1]).toBeLessThanOrEqual(MOST_MILLISECONDS);
  });
}

test(`no task over ${MOST_TASK_MILLISECONDS} ms while ${SCROLLED_ROWS} rows are scrolled`, async ({ page, visit }) => {
  await visit('/audit');
  await page.evaluate(() => {
    const durations: number[] = [];
    (window as any).__tasks = durations;
    new PerformanceObserver((list) => durations.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
  });
  await page.getByRole('row').nth(3).hover();
  // The window scrolls, and all rows have the same height.
  const rowsPassed = () => page.evaluate(() => Math.floor(window.scrollY / (document.querySelector('tbody tr[data-key]')?.clientHeight ?? Infinity)));
  for (let turns = 0; turns < 3000 && (await rowsPassed()) < SCROLLED_ROWS; turns += 1) {
    await page.mouse.wheel(0, 1800);
    await page.waitForTimeout(30);
  }
  expect(await rowsPassed(), 'rows passed').toBeGreaterThanOrEqual(SCROLLED_ROWS);
  const tasks: number[] = await page.evaluate(() => (window as any).__tasks);
  console.log(`long tasks: ${tasks.map((task) => task.toFixed(0)).join(', ') || 'none'} ms`);
  expect(Math.max(0, ...tasks)).toBeLessThanOrEqual(MOST_TASK_MILLISECONDS);
});
