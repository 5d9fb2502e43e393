// Records what must not happen while a page is used, and the requests that it makes.
import type { Page, Request } from '@playwright/test';

declare global {
  interface Window {
    __xss?: unknown;
    __violations?: string[];
  }
}

const isStream = (url: string) => /\/stream(\?|$)/.test(new URL(url).pathname + new URL(url).search);
/** The shell asks for these once, whichever view comes first. */
const OF_THE_SHELL = /\/admin\/api\/v1\/dashboard\/config$/;

export class PageLog {
  /** API requests since the last `reset`, without streams and those of the shell, as `METHOD /path`. */
  requests: string[] = [];
  /** Paths of the dashboard's own files that were loaded. */
  files: string[] = [];
  private problems: string[] = [];
  private expected: RegExp[] = [];
  private inFlight = new Set<Request>();
  /** Number of requests but streams so far. */
  begun = 0;

  private readonly origins: Set<string>;

  private constructor(private readonly page: Page, origin: string) {
    this.origins = new Set([origin]);
  }

  static async attach(page: Page, origin: string): Promise<PageLog> {
    const log = new PageLog(page, origin);
    await page.addInitScript(() => {
      window.__violations = [];
      document.addEventListener('securitypolicyviolation', (event) => {
        window.__violations?.push(`${event.violatedDirective} blocked ${event.blockedURI} at ${event.sourceFile}`);
      });
    });
    page.on('console', (message) => {
      if (message.type() === 'error') log.problems.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => log.problems.push(`exception: ${error.message}`));
    page.on('request', (request) => log.onRequest(request));
    page.on('requestfinished', (request) => log.inFlight.delete(request));
    page.on('requestfailed', (request) => log.onFailure(request));
    page.on('response', (response) => {
      if (response.status() >= 400) log.problems.push(`${response.status()}: ${log.name(response.request())}`);
    });
    return log;
  }

  /** Allows problems that match, for tests that provoke them. */
  expect(problem: RegExp) {
    this.expected.push(problem);
  }

  /** Allows requests to another gateway of the test. */
  allowOrigin(origin: string) {
    this.origins.add(origin);
  }

  /** Starts the count of requests again. */
  reset() {
    this.requests = [];
  }

  /** Everything that went wrong: console errors, exceptions, failed requests, violations of the CSP, other origins. */
  async found(): Promise<string[]> {
    const violations = await this.page.evaluate(() => window.__violations ?? []).catch(() => []);
    const all = [...this.problems, ...violations.map((violation) => `CSP: ${violation}`)];
    return all.filter((problem) => !this.expected.some((pattern) => pattern.test(problem)));
  }

  /** Waits until no request but streams has been under way for 100 ms. */
  async idle(timeout = 60_000) {
    const end = Date.now() + timeout;
    for (let quiet = 0; quiet < 100; ) {
      if (Date.now() > end) throw new Error(`still loading: ${[...this.inFlight].map((request) => this.name(request)).join(', ')}`);
      await this.page.waitForTimeout(20);
      quiet = this.inFlight.size === 0 ? quiet + 20 : 0;
    }
  }

  private name(request: Request): string {
    const { pathname, search } = new URL(request.url());
    return `${request.method()} ${pathname}${search}`;
  }

  private onRequest(request: Request) {
    const url = request.url();
    if (/^(data|blob):/.test(url)) return;
    if (!this.origins.has(new URL(url).origin)) this.problems.push(`another origin: ${url}`);
    if (isStream(url)) return;
    this.inFlight.add(request);
    this.begun += 1;
    const { pathname } = new URL(url);
    if (/\/admin\/dashboard(\/|$)/.test(pathname)) this.files.push(pathname);
    else if (!OF_THE_SHELL.test(pathname)) this.requests.push(this.name(request));
  }

  private onFailure(request: Request) {
    this.inFlight.delete(request);
    // The page left a stream, or a request whose answer it no longer needs.
    if (request.failure()?.errorText === 'net::ERR_ABORTED') return;
    this.problems.push(`failed: ${this.name(request)}: ${request.failure()?.errorText}`);
  }
}
