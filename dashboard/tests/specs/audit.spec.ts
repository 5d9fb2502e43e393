// The audit log: filters, live tail, inspector, conversation, export.
import { test, expect, type Page } from '../support/test';
import { recorded, SAMPLE } from '../support/sample_data';

const inspector = 'dialog.drawer';

/** Waits for the stream of new calls: those made before it are not in it. */
const connected = (page: Page) => expect(page.getByRole('button', { name: /Live tail/ })).toHaveAttribute('data-state', 'live');

test('the list has figures and needs two requests', async ({ page, visit, log }) => {
  await visit('/audit');
  await expect(page.getByRole('region', { name: 'Figures' })).toContainText('Calls');
  await expect(page.getByRole('table', { name: 'Calls' }).getByRole('row').nth(1)).toBeVisible();
  expect(log.requests.length).toBeLessThanOrEqual(2);
});

test('filters are in the URL and work on the server', async ({ page, visit }) => {
  await visit('/audit');
  await page.getByRole('button', { name: 'Status' }).click();
  await page.getByRole('button', { name: '404', exact: true }).click();
  await expect(page).toHaveURL(/status=404/);
  await expect(page.getByRole('table', { name: 'Calls' })).toContainText('no-such-model');
  await expect(page.getByRole('table', { name: 'Calls' })).not.toContainText('demo-chat');
  await page.reload();
  await expect(page.getByRole('table', { name: 'Calls' })).toContainText('no-such-model');
  await expect(page.getByRole('table', { name: 'Calls' })).not.toContainText('demo-chat');
  await page.getByRole('button', { name: 'Remove the filter Status' }).click();
  await expect(page.getByRole('table', { name: 'Calls' })).toContainText('demo-chat');
});

test('a search without a match keeps the filters and offers a way out', async ({ page, visit }) => {
  await visit('/audit');
  await page.keyboard.press('/');
  await page.keyboard.type('nothing-has-this-text');
  await expect(page.getByText('No calls match')).toBeVisible();
  await page.getByRole('button', { name: 'Clear all' }).click();
  await expect(page.getByRole('table', { name: 'Calls' })).toBeVisible();
});

test('the live tail shows a call that is made meanwhile', async ({ page, visit, gateway }) => {
  await visit('/audit');
  await expect(page.getByRole('button', { name: /Live tail/ })).toHaveAttribute('aria-pressed', 'true');
  await connected(page);
  await page.mouse.move(5, 5);
  await gateway.chat('Seen live', { model: 'live-tail-model' });
  await expect(page.getByRole('row').nth(1)).toContainText('live-tail-model');
});

test('the live tail pauses on hover and counts what is new', async ({ page, visit, gateway }) => {
  await visit('/audit');
  await connected(page);
  await page.getByRole('row').nth(2).hover();
  await gateway.chat('One', { model: 'paused-one' });
  await gateway.chat('Two', { model: 'paused-two' });
  const bar = page.getByRole('button', { name: /2 new calls/ });
  await expect(bar).toBeVisible();
  await expect(page.getByRole('table', { name: 'Calls' })).not.toContainText('paused-two');
  await bar.click();
  await expect(page.getByRole('row').nth(1)).toContainText('paused-two');
  await page.keyboard.press('l');
  await expect(page.getByRole('button', { name: /Live tail/ })).toHaveAttribute('aria-pressed', 'false');
});

test('the inspector draws the journey and shows bodies and headers', async ({ page, visit, gateway }) => {
  await recorded(gateway, `requested_model=${SAMPLE.alias}`, () => gateway.chat('A question for the inspector', { model: SAMPLE.alias }));
  await visit(`/audit?requested_model=${SAMPLE.alias}`);
  await page.getByRole('row').nth(1).click();
  const panel = page.locator(inspector);
  await expect(page).toHaveURL(/open=/);
  for (const step of ['Authenticated', 'Resolved', 'Attempt 1', 'Reply']) await expect(panel.getByText(step, { exact: true })).toBeVisible();
  await panel.getByRole('tab', { name: 'Request' }).click();
  await expect(panel.getByText('A question for the inspector')).toBeVisible();
  await panel.getByRole('tab', { name: 'Response' }).click();
  await expect(panel.getByText(/You said: A question/)).toBeVisible();
  await panel.getByRole('tab', { name: 'Headers' }).click();
  await expect(panel.getByText('x-gateway-provider')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(panel).toHaveCount(0);
  await page.goBack();
});

test('a refused call says which guardrail blocked it', async ({ page, visit, gateway, samples }) => {
  await recorded(gateway, 'status_code=400', () => gateway.chat('My password is hunter2', { key: samples.inferenceKey }));
  await visit('/audit?status=400');
  await page.getByRole('row').filter({ hasText: SAMPLE.guardrail }).first().click();
  await expect(page.locator(inspector).getByText('blocked', { exact: true })).toBeVisible();
});

test('J and K go through the calls while one is open', async ({ page, visit }) => {
  await visit('/audit');
  await page.getByRole('row').nth(1).click();
  await expect(page).toHaveURL(/open=/);
  const before = page.url();
  await page.keyboard.press('j');
  await expect(page).not.toHaveURL(before);
  await page.keyboard.press('k');
  await expect(page).toHaveURL(before);
});

test('the conversation has its calls, oldest first', async ({ page, visit, gateway, samples }) => {
  const turns = [{ role: 'user', content: 'First of the conversation' }, { role: 'assistant', content: 'Answer' }, { role: 'user', content: 'Second of the conversation' }];
  for (const length of [1, 3]) await gateway.call('POST', '/v1/chat/completions', { model: 'demo-chat', messages: turns.slice(0, length) }, { authorization: `Bearer ${samples.inferenceKey}`, 'x-gateway-session-id': 'conversation-of-the-audit-test' });
  // Entries are written a moment after the answer.
  const read = () => gateway.expectApi('GET', '/audit/log?session_id=conversation-of-the-audit-test');
  await expect.poll(async () => (await read()).entries.length).toBe(2);
  const list = await read();
  await visit(`/audit?open=${list.entries[0].id}&tab=conversation`);
  const conversation = page.getByRole('list', { name: 'Conversation' });
  await expect(conversation.locator('> li')).toHaveCount(2);
  await expect(conversation.locator('> li').first()).toContainText('First');
  await expect(conversation.locator('> li').last()).toContainText('Second');
  await expect(conversation.locator('[aria-current]')).toContainText('this call');
});

test('a call opens by its request id', async ({ page, visit, gateway }) => {
  const list = await gateway.expectApi('GET', '/audit/log?limit=1');
  await visit(`/audit?open=${list.entries[0].request_id}`);
  await expect(page.locator(inspector).getByText(list.entries[0].request_id).first()).toBeVisible();
});

test('the calls of the list can be exported', async ({ page, visit }) => {
  await visit('/audit?status=404');
  await page.getByRole('button', { name: 'Export' }).click();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: /CSV/ }).click()]);
  expect(file.url()).toContain('status_code=404');
});

test('on a phone the list has two-line rows and the inspector fills the screen', async ({ page, visit }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await visit('/audit');
  await page.getByRole('list', { name: 'Calls' }).getByRole('button').first().click();
  await expect.poll(async () => (await page.locator(inspector).boundingBox())?.width).toBe(390);
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

test('scrolling reads the next page with the cursor, without counting again', async ({ page, visit, gateway }) => {
  for (let n = 0; n < 6; n++) await Promise.all(Array.from({ length: 10 }, () => gateway.chat('Hello', { model: 'paging-model' })));
  await expect.poll(async () => (await gateway.expectApi('GET', '/audit/log?requested_model=paging-model')).total).toBe(60);
  await visit('/audit?requested_model=paging-model');
  await expect(page.getByText('50 of 60')).toBeVisible();
  const next = page.waitForRequest(/cursor=.*include_total=false/);
  await page.mouse.wheel(0, 4000);
  await next;
  await expect(page.getByText('60 of 60')).toBeVisible();
  await expect(page.getByText('All shown')).toBeVisible();
});

test('errors are listed by the server, without bodies', async ({ page, gateway, visit, log }) => {
  await visit('/audit?status=error');
  expect(log.requests.filter((request) => request.includes('status=error') && request.includes('include_data=false') && request.includes('limit=50'))).toHaveLength(1);
  const { entries } = (await gateway.api('GET', '/audit/log?status=error&days=7')).body;
  expect(entries.length).toBeGreaterThan(0);
  await expect(page.getByRole('table', { name: 'Calls' }).getByRole('row').filter({ hasText: /\b200\b/ })).toHaveCount(0);
  await expect(page.getByRole('button', { name: /Status\s*errors/ })).toBeVisible();
});

test('a call that is not in the log is said', async ({ page, visit, log }) => {
  log.expect(/404/);
  await visit('/audit?open=01890000-0000-7000-8000-000000000000');
  await expect(page.getByText('This call is not in the audit log')).toBeVisible();
});
