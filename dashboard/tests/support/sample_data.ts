// Fills a gateway with one or more of everything that the pages show, through its API.
import { expect } from '@playwright/test';
import type { Gateway } from './gateway';

/** Names that the tests refer to. */
export const SAMPLE = {
  provider: 'openai-eu',
  pool: 'demo-pool',
  combo: 'smart',
  alias: 'chat',
  guardrail: 'no-secrets',
  key: 'search team',
  userPath: '/search',
  budgetPath: '/search',
  tenant: 'acme',
  user: 'ada@example.org',
  role: 'auditor',
  model: 'demo/demo-chat',
} as const;

export type Samples = { inferenceKey: string; inferenceKeyId: string };

export async function fill(gateway: Gateway): Promise<Samples> {
  const put = (path: string, body: unknown) => gateway.expectApi('PUT', path, body);
  const post = (path: string, body: unknown) => gateway.expectApi('POST', path, body);
  // Nothing listens on the discard port: this provider is unhealthy.
  const unreachable = { type: 'openai', api_key: 'sk-example-0123456789', base_url: 'http://127.0.0.1:9/v1', models: ['gpt-4o'] };
  await put(`/providers/${SAMPLE.provider}`, unreachable);
  await post('/pools', { name: SAMPLE.pool, members: ['demo', SAMPLE.provider], strategy: 'round_robin', description: 'Both providers' });
  await post('/combos', { name: SAMPLE.combo, selectors: [SAMPLE.model, `${SAMPLE.provider}/gpt-4o`], description: 'Demo first' });
  await put(`/aliases/${SAMPLE.alias}`, { target: SAMPLE.model, description: 'The model for chats' });
  await put(`/model-overrides/${SAMPLE.provider}/gpt-4o`, { enabled: true, user_paths: [SAMPLE.userPath] });
  await put(`/model-pricing/${SAMPLE.provider}/gpt-4o`, { input_per_mtok: 2.5, output_per_mtok: 10 });
  await put(`/guardrails/${SAMPLE.guardrail}`, { type: 'regex_block', config: { patterns: ['hunter2'] }, direction: 'input', description: 'No passwords' });
  for (const description of ['First version', 'With guardrails']) {
    const guardrails = description === 'First version' ? [] : [SAMPLE.guardrail];
    await post('/workflows', { name: 'default', description, workflow_payload: { features: { audit: true }, guardrails } });
  }
  await put(`/budgets/${encodeURIComponent(SAMPLE.budgetPath)}/daily`, { amount: 10 });
  await post('/tenants', { slug: SAMPLE.tenant, name: 'Acme', metadata: { contact: 'ops@example.org' } });
  await post('/identity/roles', { name: SAMPLE.role, description: 'Reads the audit log', permissions: [{ action: 'read', resource: 'audit', effect: 'allow' }] });
  await post('/identity/users', { email: SAMPLE.user, name: 'Ada', password: 'correct horse battery staple', roles: [SAMPLE.role] });
  const key = await post('/auth-keys', { name: SAMPLE.key, user_path: SAMPLE.userPath, scopes: ['inference'], rate_limits: { requests_per_minute: 600 } });
  const calls = await makeCalls(gateway, key.key);
  for (const log of ['/audit/log', '/usage/log?cache_mode=all']) await expect.poll(() => total(gateway, log), { timeout: 60_000 }).toBeGreaterThanOrEqual(calls);
  return { inferenceKey: key.key, inferenceKeyId: key.id };
}

const total = async (gateway: Gateway, list: string): Promise<number> => (await gateway.expectApi('GET', list)).total;

/** Makes a call and waits until the audit log has it: entries are written a moment after the answer. */
export async function recorded(gateway: Gateway, query: string, call: () => Promise<unknown>) {
  const before = await total(gateway, `/audit/log?${query}`);
  await call();
  await expect.poll(() => total(gateway, `/audit/log?${query}`)).toBeGreaterThan(before);
}

/** Makes the calls of the samples and returns their number: successful calls, streams, a cache hit, a conversation, a blocked call, an unknown model, a failed provider. */
async function makeCalls(gateway: Gateway, key: string): Promise<number> {
  for (const text of ['Hello', 'Hello', 'What is the capital of France?']) await gateway.chat(text, { key });
  await gateway.chat('Tell me a story', { key, stream: true });
  await gateway.chat('My password is hunter2', { key });
  await gateway.chat('Hello', { model: 'no-such-model' });
  await gateway.chat('Hello', { model: `${SAMPLE.provider}/gpt-4o` });
  await gateway.chat('Hello', { model: SAMPLE.alias });
  await gateway.chat('Hello', { model: SAMPLE.combo });
  const turns = [{ role: 'user', content: 'First' }, { role: 'assistant', content: 'Answer' }, { role: 'user', content: 'Second' }];
  const headers = { authorization: `Bearer ${key}`, 'x-gateway-session-id': 'session-of-the-tests' };
  for (const count of [1, 3]) {
    await gateway.call('POST', '/v1/chat/completions', { model: 'demo-chat', messages: turns.slice(0, count) }, headers);
  }
  return 11;
}
