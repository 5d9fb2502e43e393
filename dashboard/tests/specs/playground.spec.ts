import { test, expect } from '../support/test';
import { SAMPLE } from '../support/sample_data';

test('the playground streams an answer and shows tokens, cost and route', async ({ page, visit, log }) => {
  await visit(`/playground?model=${SAMPLE.alias}`);
  expect(log.requests.length).toBeLessThanOrEqual(2);
  await page.getByLabel('Message', { exact: true }).fill('Hello from the playground');
  await page.keyboard.press('Enter');
  const lane = page.getByRole('region', { name: SAMPLE.alias });
  await expect(lane.getByText('You said: Hello from the playground')).toBeVisible();
  await expect(lane.getByText('Done')).toBeVisible();
  await expect(lane.locator('dl')).toContainText('≈ $');
  await expect(lane.getByRole('link', { name: 'Open the call' })).toBeVisible();
  await page.getByLabel('Message', { exact: true }).fill('And again');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(lane.getByText('You said: And again')).toBeVisible();
});

test('two models answer side by side, and the call is shown as code', async ({ page, visit }) => {
  await visit(`/playground?model=${SAMPLE.alias}&compare=${SAMPLE.model}&tab=code`);
  await page.getByLabel('Message', { exact: true }).fill('Compare');
  await expect(page.getByLabel('The call as code')).toContainText('"content": "Compare"');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page.getByText('You said: Compare')).toHaveCount(2);
  await page.getByRole('button', { name: 'Python' }).click();
  await expect(page.getByLabel('The call as code')).toContainText('from openai import OpenAI');
  await page.getByRole('button', { name: 'TypeScript' }).click();
  await expect(page.getByLabel('The call as code')).toContainText('new OpenAI(');
});

test('a tool is added, called and answered', async ({ page, visit }) => {
  await visit(`/playground?model=${SAMPLE.model}`);
  await page.getByRole('button', { name: 'Tool', exact: true }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('get_weather');
  await page.getByRole('dialog').getByRole('button', { name: 'Add tool' }).click();
  await page.getByLabel('Message', { exact: true }).fill('Use get_weather');
  await page.keyboard.press('Enter');
  await page.getByLabel('Result of get_weather').fill('Sunny, 21 °C');
  await page.getByRole('button', { name: 'Send result' }).click();
  await expect(page.getByText('The tool answered: Sunny, 21 °C')).toBeVisible();
});

test('an error of the gateway is shown in the conversation', async ({ page, visit, log }) => {
  log.expect(/404/);
  await visit('/playground?model=no-such-model');
  await page.getByLabel('Message', { exact: true }).fill('Hello');
  await page.keyboard.press('Enter');
  await expect(page.getByText("There is no model 'no-such-model'.")).toBeVisible();
});
