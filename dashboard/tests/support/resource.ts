// Creates, edits and deletes a resource in the browser and compares with the API.
import { expect, type Locator, type Page } from '@playwright/test';
import type { Gateway } from './gateway';

export type Value = string | number | boolean | string[];
export type Fields = Record<string, Value>;

export type ResourceCase = {
  /** Path of the list below /admin/dashboard, opened by the caller with `visit`. */
  name: string;
  /** API path of the object: GET answers it while it exists, and 404 after it is deleted. */
  api: string;
  /** The button that opens the form, the fields by label, and a part of what the API must answer then. */
  create: { button: string; fields: Fields; save?: string; stored: Record<string, unknown> };
  /** Fields to change in the form of the existing object. Leave out for what cannot be changed. */
  edit?: { fields: Fields; button?: string; save?: string; stored: Record<string, unknown> };
  /** The button that deletes it. `typed`: the confirmation asks for the name. */
  remove: { button: string; typed?: boolean; confirm?: string };
};

/** The whole life of a resource: a test of a page is one call of this. */
export async function exerciseResource(page: Page, gateway: Gateway, resource: ResourceCase) {
  const { create, edit, remove, name, api } = resource;
  const stored = async () => (await gateway.api('GET', api)).body;
  await page.getByRole('button', { name: create.button }).first().click();
  await fillForm(dialog(page), create.fields);
  await save(page, create.save ?? create.button);
  await expect.poll(stored, { message: `GET ${api} after create` }).toMatchObject(create.stored);
  await closeDialogs(page);
  await expect(row(page, name)).toBeVisible();
  if (edit) {
    await openRow(page, name);
    if (edit.button) await dialog(page).getByRole('button', { name: edit.button }).click();
    await fillForm(dialog(page), edit.fields);
    await save(page, edit.save ?? 'Save');
    await expect.poll(stored, { message: `GET ${api} after edit` }).toMatchObject(edit.stored);
    await closeDialogs(page);
  }
  await openRow(page, name);
  await dialog(page).getByRole('button', { name: remove.button }).click();
  await confirm(page, remove.typed ? name : undefined, remove.confirm);
  await expect.poll(async () => (await gateway.api('GET', api)).status, { message: `GET ${api} after delete` }).toBe(404);
  await expect(row(page, name)).toHaveCount(0);
}

/** The drawer or dialog on top. */
export function dialog(page: Page): Locator {
  return page.getByRole('dialog').or(page.getByRole('alertdialog')).last();
}

/** The row of a list with this text. */
export function row(page: Page, text: string | RegExp): Locator {
  return page.getByRole('row').filter({ hasText: text });
}

/** Opens the detail of a row: the row itself if it can have the focus, else its first link or button. */
export async function openRow(page: Page, text: string) {
  const found = row(page, text).first();
  await expect(found).toBeVisible();
  const opensItself = (await found.getAttribute('tabindex')) !== null;
  const opener = found.getByRole('link').or(found.getByRole('button')).first();
  await (opensItself ? found.click({ position: { x: 40, y: 12 } }) : opener.click());
  await expect(dialog(page)).toBeVisible();
}

/** Fills fields by their labels: text, number, select, switch, checkbox, segmented; an array is a list, in any form. */
export async function fillForm(form: Locator, fields: Fields) {
  for (const [label, value] of Object.entries(fields)) await fillField(form, label, value);
}

async function fillField(form: Locator, label: string, value: Value) {
  if (typeof value === 'boolean') return toggle(form, label, value);
  const field = form.getByLabel(label, { exact: true }).first();
  await expect(field, `the field '${label}'`).toBeVisible();
  const [role, tag] = await field.evaluate((element) => [element.getAttribute('role'), element.tagName.toLowerCase()]);
  if (tag === 'select') {
    await field.selectOption({ label: String(value) });
  } else if (role === 'combobox' && tag !== 'input') {
    await field.click();
    await form.page().getByRole('option', { name: String(value), exact: true }).click();
  } else if (role === 'radiogroup' || role === 'group') {
    await field.getByRole('button', { name: String(value), exact: true }).or(field.getByRole('radio', { name: String(value), exact: true })).click();
  } else if (Array.isArray(value) && tag === 'input') {
    for (const each of value) {
      await field.fill(each);
      await field.press('Enter');
    }
  } else {
    await field.fill(Array.isArray(value) ? value.join('\n') : String(value));
  }
}

async function toggle(form: Locator, label: string, wanted: boolean) {
  const control = form.getByRole('switch', { name: label }).or(form.getByRole('checkbox', { name: label })).first();
  await expect(control, `the switch '${label}'`).toBeVisible();
  if ((await control.isChecked()) !== wanted) await control.click();
}

/** Presses the button that stores a form. `Save` shows the difference first, which has a button of its own. */
export async function save(page: Page, button: string) {
  await dialog(page).getByRole('button', { name: button, exact: true }).click();
  if (button === 'Save') await page.getByRole('button', { name: 'Save changes', exact: true }).click();
}

/** Confirms a deletion; with `typed`, after the name was typed. */
export async function confirm(page: Page, typed?: string, button?: string) {
  // The question has a way back, which tells it from the form behind it.
  const cancel = dialog(page).getByRole('button', { name: 'Cancel' });
  await expect(cancel).toBeVisible();
  if (typed) await dialog(page).getByRole('textbox').fill(typed);
  await dialog(page).getByRole('button', { name: button ?? /^(delete|remove|deactivate|suspend)/i }).last().click();
  await expect(cancel).toHaveCount(0);
}

/** Takes a change back in the message that names it; messages of earlier changes have a button Undo, too. */
export async function undo(page: Page, message: string) {
  await page.getByRole('list', { name: 'Messages' }).getByRole('listitem').filter({ hasText: message }).last().getByRole('button', { name: 'Undo' }).click();
}

/** Closes all dialogs, e.g. the one with a new key. One that is closing already is left alone. */
export async function closeDialogs(page: Page) {
  await expect(async () => {
    if (await dialog(page).count()) await page.keyboard.press('Escape');
    await expect(dialog(page)).toHaveCount(0, { timeout: 1000 });
  }).toPass();
}
