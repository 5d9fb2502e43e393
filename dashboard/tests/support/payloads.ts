// Stores texts that a careless page would execute, in every field that the API accepts them in.
import type { Gateway } from './gateway';

/** Sets `window.__xss` when it is executed, as markup, in an attribute, as a script, or as an address. */
export const PAYLOADS = [
  '<img src=x onerror="window.__xss=1">',
  '"><svg onload="window.__xss=1">',
  '</script><script>window.__xss=1</script>',
  'javascript:window.__xss=1',
  "'-(window.__xss=1)-'",
];
const ALL = PAYLOADS.join(' ');
const SLUG = 'xss';

type Write = [method: string, path: string, body: (text: string) => unknown];

/** Every text field of every resource. Names have an alphabet of their own; the API refuses payloads there. */
const WRITES: Write[] = [
  ['PUT', `/providers/${SLUG}-provider`, (text) => ({ type: 'openai', api_key: 'sk-example-0123456789', base_url: 'http://127.0.0.1:9/v1', models: [text.slice(0, 200)], headers: { 'x-note': PAYLOADS[0] } })],
  ['POST', '/pools', (text) => ({ name: `${SLUG}-pool`, members: ['demo'], strategy: 'round_robin', description: text })],
  ['POST', '/combos', (text) => ({ name: `${SLUG}-combo`, selectors: ['demo/demo-chat', 'demo/demo-embedding'], description: text })],
  ['PUT', `/aliases/${SLUG}-alias`, (text) => ({ target: 'demo/demo-chat', description: text })],
  ['PUT', `/guardrails/${SLUG}`, (text) => ({ type: 'system_prompt', config: { content: text }, direction: 'input', description: text })],
  ['POST', '/workflows', (text) => ({ name: text.slice(0, 60), description: text, scope: { scope_user_path: '/xss' }, workflow_payload: { features: { audit: true } } })],
  ['POST', '/auth-keys', (text) => ({ name: text.slice(0, 100), description: text, scopes: ['inference'], user_path: '/xss' })],
  ['POST', '/tenants', (text) => ({ slug: SLUG, name: text.slice(0, 100), metadata: { [PAYLOADS[0] ?? '']: text.slice(0, 200) } })],
  ['POST', '/identity/roles', (text) => ({ name: SLUG, description: text, permissions: [{ action: 'read', resource: 'audit', effect: 'allow' }] })],
  ['POST', '/identity/users', (text) => ({ email: 'xss@example.org', name: text.slice(0, 100), password: 'correct horse battery staple', roles: [SLUG] })],
  ['PUT', '/budgets/%2Fxss/daily', () => ({ amount: 10 })],
];

/** Stores the payloads. Returns the writes that the API refused, which the test lists. */
export async function storePayloads(gateway: Gateway): Promise<string[]> {
  const refused: string[] = [];
  for (const [method, path, body] of WRITES) {
    const answer = await gateway.api(method, path, body(ALL));
    if (answer.status >= 300) refused.push(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  }
  await callWithPayloads(gateway);
  return refused;
}

/** Calls whose recorded parts are payloads: texts, models, user agent, session, tools, answers and errors. */
async function callWithPayloads(gateway: Gateway) {
  for (const text of PAYLOADS) {
    await gateway.chat(text, { headers: { 'user-agent': text, 'x-gateway-session-id': text } });
    await gateway.chat(text, { stream: true });
    await gateway.chat('Hello', { model: text });
    await gateway.call('GET', `/v1/${encodeURIComponent(text)}`, undefined, { 'user-agent': text });
  }
  const tool = { type: 'function', function: { name: 'lookup', description: ALL, parameters: { type: 'object', properties: { q: { type: 'string', description: ALL } } } } };
  const body = { model: 'demo-chat', user: ALL, metadata: { note: ALL.slice(0, 500) }, tools: [tool], messages: [{ role: 'system', content: ALL }, { role: 'user', content: ALL }] };
  await gateway.call('POST', '/v1/chat/completions', body, { authorization: `Bearer ${await keyOfThePath(gateway)}` });
}

async function keyOfThePath(gateway: Gateway): Promise<string> {
  const made = await gateway.expectApi('POST', '/auth-keys', { name: 'xss calls', scopes: ['inference'], user_path: '/xss' });
  return made.key;
}
