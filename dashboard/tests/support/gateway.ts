// Starts the real binary with a temporary data directory, and calls its API.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const MASTER_KEY = 'master-key-of-the-browser-tests-0123456789';
export const ADMIN_EMAIL = 'admin@example.org';
export const ADMIN_PASSWORD = 'correct horse battery staple';
const ROOT = resolve(import.meta.dirname, '../../..');
const START_SECONDS = 60;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Answer = { status: number; body: any };

/** GATEHOUSE_BIN, else the newest build. */
export function binary(): string {
  const target = process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target');
  const candidates = process.env.GATEHOUSE_BIN
    ? [process.env.GATEHOUSE_BIN]
    : ['debug', 'release'].map((profile) => join(target, profile, 'gatehouse'));
  const found = candidates.filter((path) => existsSync(path));
  found.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (!found[0]) throw new Error('gatehouse is not built: cargo build');
  return found[0];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

export class Gateway {
  private constructor(
    readonly url: string,
    readonly directory: string,
    private readonly process: ChildProcess,
  ) {}

  /** Starts a gateway: Enterprise, with audit log, cache and identity. `settings` are environment variables. */
  static async start(settings: Record<string, string> = {}, directory?: string): Promise<Gateway> {
    directory ??= mkdtempSync(join(tmpdir(), 'gatehouse-dashboard-'));
    const port = await freePort();
    const log = openSync(join(directory, 'gateway.log'), 'a');
    const environment = {
      PATH: process.env.PATH ?? '',
      HOME: directory,
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: join(directory, 'data'),
      GATEWAY_MASTER_KEY: MASTER_KEY,
      GATEWAY_EDITION: 'enterprise',
      IDENTITY_ADMIN_EMAIL: ADMIN_EMAIL,
      IDENTITY_ADMIN_PASSWORD: ADMIN_PASSWORD,
      LOGGING_ENABLED: 'true',
      RESPONSE_CACHE_ENABLED: 'true',
      DEMO_ENABLED: 'true',
      ...settings,
    };
    const child = spawn(binary(), ['serve'], { env: environment, cwd: directory, stdio: ['ignore', log, log] });
    const gateway = new Gateway(`http://127.0.0.1:${port}${settings.BASE_PATH ?? ''}`, directory, child);
    for (let waited = 0; waited < START_SECONDS * 1000; waited += 50) {
      if (child.exitCode !== null) break;
      const ready = await fetch(`${gateway.url}/ready`).catch(() => undefined);
      if (ready?.ok) return gateway;
      await sleep(50);
    }
    child.kill('SIGKILL');
    throw new Error(`the gateway did not start:\n${readFileSync(join(directory, 'gateway.log'), 'utf8')}`);
  }

  /** Calls the admin API as the master key, or with another key. */
  async api(method: string, path: string, body?: unknown, key = MASTER_KEY): Promise<Answer> {
    return this.call(method, `/admin/api/v1${path}`, body, { authorization: `Bearer ${key}` });
  }

  /** Like `api`; throws unless the answer is a success. Returns its body. */
  async expectApi(method: string, path: string, body?: unknown, key = MASTER_KEY): Promise<any> {
    const answer = await this.api(method, path, body, key);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const content = body === undefined ? undefined : JSON.stringify(body);
    const response = await fetch(this.url + path, { method, body: content, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  }

  /** Makes one chat call, by default through the demo model. */
  async chat(text: string, options: { model?: string; key?: string; headers?: Record<string, string>; stream?: boolean } = {}) {
    const { model = 'demo-chat', key = MASTER_KEY, headers = {}, stream = false } = options;
    const body = { model, stream, messages: [{ role: 'user', content: text }] };
    return this.call('POST', '/v1/chat/completions', body, { authorization: `Bearer ${key}`, ...headers });
  }

  /** Exchanges a key for a session and returns the value of its cookie. */
  async openSession(key = MASTER_KEY): Promise<string> {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${this.url}/admin/api/v1/auth/session`, { method: 'POST', headers });
    const cookie = response.headers.getSetCookie().join().match(/gatehouse_session=([^;,]+)/)?.[1];
    if (!cookie) throw new Error(`no session: ${response.status} ${await response.text()}`);
    return cookie;
  }

  /** Stops the process and removes its files. */
  async stop() {
    const ended = new Promise((done) => this.process.once('exit', done));
    if (this.process.exitCode === null) {
      this.process.kill('SIGTERM');
      await Promise.race([ended, sleep(5000).then(() => this.process.kill('SIGKILL'))]);
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
