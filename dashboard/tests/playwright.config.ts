import { defineConfig } from '@playwright/test';

// Debian's Chromium: Playwright's own browsers are not downloaded. `scripts/chromium.sh` installs it and prints its path.
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

export default defineConfig({
  testDir: '.',
  outputDir: '../../.cache/dashboard/results',
  // One gateway and one browser: the machine has few cores, and most of the time is rendering.
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  // Long enough for a machine whose cores others use as well: a test waits for a state, never for a time.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  reporter: [['list', { printSteps: false }]],
  use: {
    browserName: 'chromium',
    launchOptions: { executablePath, args: ['--no-sandbox'] },
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
    timezoneId: 'UTC',
    // Nothing moves while a test looks for its place.
    contextOptions: { reducedMotion: 'reduce' },
    trace: 'retain-on-failure',
  },
  projects: [
    { name: 'quick', testMatch: 'specs/**/*.spec.ts' },
    { name: 'large', testMatch: 'large/**/*.spec.ts' },
    { name: 'screenshots', testMatch: 'screenshots/**/*.spec.ts' },
  ],
});
