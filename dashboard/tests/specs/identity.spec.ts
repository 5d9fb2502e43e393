// Tenants, people and roles: create, edit, suspend, permissions, delete.
import { test, expect } from '../support/test';
import { confirm, dialog, exerciseResource, openRow, row, save } from '../support/resource';

test('a tenant is created, edited and deleted', async ({ page, gateway, visit }) => {
  await visit('/tenants');
  await exerciseResource(page, gateway, {
    name: 'globex',
    api: '/tenants/globex',
    create: { button: 'Create tenant', fields: { Slug: 'globex', Name: 'Globex' }, stored: { name: 'Globex', status: 'active' } },
    edit: { fields: { Name: 'Globex Corporation' }, stored: { name: 'Globex Corporation' } },
    remove: { button: 'Delete tenant', typed: true },
  });
});

test('a tenant is suspended and activated', async ({ page, gateway, visit }) => {
  await gateway.expectApi('POST', '/tenants', { slug: 'paused', metadata: { plan: 'small' } });
  const status = async () => (await gateway.api('GET', '/tenants/paused')).body.status;
  await visit('/tenants');
  await page.getByRole('button', { name: 'Actions for paused' }).click();
  await page.getByRole('menuitem', { name: 'Suspend tenant' }).click();
  await confirm(page);
  await expect.poll(status).toBe('suspended');
  await expect(row(page, 'paused')).toContainText('Suspended');
  await openRow(page, 'paused');
  await dialog(page).getByRole('button', { name: 'Activate' }).click();
  await expect.poll(status).toBe('active');
  // The page that has changed the tenant reads it again, which must not happen after its end.
  await visit('/tenants');
  await gateway.api('DELETE', '/tenants/paused');
});

test('a user is created, edited and deleted', async ({ page, gateway, visit }) => {
  const found = async () => ((await gateway.api('GET', '/identity/users')).body as any[]).find((each) => each.email === 'grace@example.org');
  await visit('/users');
  await page.getByRole('button', { name: 'Create user' }).click();
  await dialog(page).getByLabel('Email', { exact: true }).fill('grace@example.org');
  await dialog(page).getByLabel('Password', { exact: true }).fill('a long enough password');
  await dialog(page).getByRole('button', { name: 'operator' }).click();
  await save(page, 'Create user');
  await expect.poll(found).toMatchObject({ roles: ['operator', 'viewer'], active: true, password_set: true });

  await openRow(page, 'grace@example.org');
  await dialog(page).getByLabel('Name', { exact: true }).fill('Grace');
  await dialog(page).getByRole('switch', { name: 'May sign in' }).click();
  await save(page, 'Save');
  await expect.poll(found).toMatchObject({ name: 'Grace', active: false });
  await expect(row(page, 'grace@example.org')).toContainText('Deactivated');

  await openRow(page, 'grace@example.org');
  await dialog(page).getByRole('button', { name: 'Delete user' }).click();
  await confirm(page, 'grace@example.org');
  await expect.poll(found).toBeUndefined();
});

test('a role is created with permissions, edited and deleted', async ({ page, gateway, visit }) => {
  const stored = async () => (await gateway.api('GET', '/identity/roles/billing')).body;
  await visit('/roles');
  await page.getByRole('button', { name: 'Create role' }).click();
  await dialog(page).getByLabel('Name', { exact: true }).fill('billing');
  await dialog(page).getByRole('button', { name: 'read usage: not set' }).click();
  await save(page, 'Create role');
  await expect.poll(stored).toMatchObject({ permissions: [{ action: 'read', resource: 'usage', effect: 'allow' }] });

  await openRow(page, 'billing');
  await dialog(page).getByRole('button', { name: 'write usage: not set' }).click();
  await dialog(page).getByRole('button', { name: 'write usage: allow' }).click();
  await save(page, 'Save');
  await expect.poll(stored).toMatchObject({ permissions: [{ action: 'read', effect: 'allow' }, { action: 'write', resource: 'usage', effect: 'deny' }] });

  await openRow(page, 'billing');
  await dialog(page).getByRole('button', { name: 'Delete role' }).click();
  await confirm(page);
  await expect.poll(async () => (await gateway.api('GET', '/identity/roles/billing')).status).toBe(404);
  await expect(row(page, 'billing')).toHaveCount(0);
});

test('a built-in role is shown and cannot be changed', async ({ page, visit }) => {
  await visit('/roles?open=viewer');
  await expect(dialog(page).getByText(/is built in/)).toBeVisible();
  await expect(dialog(page).getByRole('button', { name: 'Save', exact: true })).toHaveCount(0);
});
