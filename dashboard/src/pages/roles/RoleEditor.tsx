import { Link } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import { useState } from "react";
import { ADMIN, unwrap } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { ConfirmDialog } from "@/components/Dialog";
import { EditDrawer, fieldError } from "@/components/EditDrawer";
import { ErrorNote } from "@/components/EmptyState";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";
import { Note } from "@/components/Note";
import { SkeletonRows } from "@/components/Skeleton";
import { PermissionTable } from "./PermissionTable";
import { bodyOf, createRole, deleteRole, permissionsOf, putRole, ROLES, usePermissionWords, useRole, type Permission, type Role, type RoleBody } from "./queries";

/** The form of a role with its table of permissions; built-in roles are only shown. */
export function RoleEditor({ role, writable, onClose }: { role: Role | null; writable: boolean; onClose: () => void }) {
  const words = usePermissionWords();
  const stored = useRole(role && !role.system ? role.name : null);
  const latest = stored.data ?? role;
  const before = latest ? bodyOf(latest) : null;
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const [rules, setRules] = useState<Permission[]>(role ? permissionsOf(role) : []);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [deleting, setDeleting] = useState(false);
  const draft: RoleBody = { description, permissions: rules };
  const invalidates = [ROLES, ["changes"]];
  const onError = (error: ApiError) => {
    setFailed(error);
    return true;
  };
  const save = useSave({
    write: (body: RoleBody, headers) => (role ? putRole(role.name, body, headers) : createRole({ name, ...body })),
    invalidates,
    done: (saved) => `${saved.name} is ${role ? "saved" : "created"}`,
    undo: (saved) => (before ? unwrap<unknown>(putRole(saved.name, before)) : unwrap<unknown>(deleteRole(saved.name))),
    what: "this role",
    onCompare: () => void stored.refetch(),
    onSuccess: onClose,
    onError,
  });
  const remove = useSave({ write: (target: Role) => deleteRole(target.name), invalidates, gone: (target) => [...ROLES, "one", target.name], done: (_, target) => `${target.name} is deleted`, undo: (_, target) => unwrap<unknown>(createRole({ name: target.name, ...bodyOf(target) })), onSuccess: onClose, onError });

  if (deleting && role)
    return (
      <ConfirmDialog
        title={`Delete the role ${role.name}?`}
        body={<>Its users lose its permissions. <Link to="/users" search={{ role: role.name } as never} className="link">See who has it</Link>.</>}
        warning={failed && <><strong className="font-medium">Not deleted.</strong> {failed.message}</>}
        confirm="Delete role"
        busy={remove.busy}
        onConfirm={() => remove.mutate({ input: role })}
        onClose={() => setDeleting(false)}
      />
    );
  const readOnly = !writable || role?.system === true;
  return (
    <EditDrawer
      title={role ? role.name : "Create role"}
      before={before}
      after={draft}
      create="Create role"
      onSave={() => {
        setFailed(null);
        save.mutate({ input: draft, etag: stored.etag });
      }}
      onClose={onClose}
      busy={save.busy}
      failed={failed}
      fields={["name", "description"]}
      readOnly={readOnly}
      call={role ? { method: "PUT", path: `${ADMIN}/identity/roles/${encodeURIComponent(role.name)}`, body: draft } : { method: "POST", path: `${ADMIN}/identity/roles`, body: { name, ...draft } }}
      yaml={{ name, ...draft }}
      remove={role ? { label: "Delete role", run: () => setDeleting(true) } : undefined}
    >
      {role?.system && <Note icon={Lock}>This role is built in and cannot be changed. Create a role of your own for other rights.</Note>}
      {!role && (
        <Field label="Name" error={fieldError(failed, "name")}>
          <Input autoFocus value={name} onChange={(event) => setName(event.target.value)} placeholder="auditor" />
        </Field>
      )}
      {!readOnly && (
        <Field label="Description" aside="optional" error={fieldError(failed, "description")}>
          <Input value={description} onChange={(event) => setDescription(event.target.value)} />
        </Field>
      )}
      {readOnly && <p className="text-ink-2">{description}</p>}
      <div>
        <h3 className="mb-1.5 text-small font-medium">Permissions</h3>
        {words.data ? <PermissionTable resources={words.data.resources} rules={rules} onChange={setRules} readOnly={readOnly} /> : words.error ? <ErrorNote error={words.error} onRetry={() => void words.refetch()} /> : <SkeletonRows rows={8} columns={3} />}
        {!readOnly && <p className="mt-1.5 text-small text-ink-3">A click goes from not set to allow, to deny, and back. Deny wins.</p>}
      </div>
    </EditDrawer>
  );
}
