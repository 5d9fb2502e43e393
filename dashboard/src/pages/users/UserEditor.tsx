import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ADMIN, unwrap } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { ChoiceTags } from "@/components/ChoiceTags";
import { ConfirmDialog } from "@/components/Dialog";
import { Drawer } from "@/components/Drawer";
import { EditDrawer, fieldError } from "@/components/EditDrawer";
import { ErrorNote } from "@/components/EmptyState";
import { Field, Pair } from "@/components/Field";
import { Input } from "@/components/Input";
import { KeyValues } from "@/components/Panel";
import { SkeletonRows } from "@/components/Skeleton";
import { Switch } from "@/components/Switch";
import { moment } from "@/format";
import { bodyOf, createUser, deleteUser, putUser, USERS, useRoleList, useUser, type User, type UserBody } from "./queries";

type EditorProps = { id: string | null; writable: boolean; onClose: () => void };

/** The form of a new or stored user. */
export function UserEditor({ id, writable, onClose }: EditorProps) {
  const stored = useUser(id);
  const roles = useRoleList();
  if (id !== null && !stored.data)
    return (
      <Drawer title="Person" onClose={onClose}>
        {stored.error ? <ErrorNote error={stored.error} onRetry={() => void stored.refetch()} /> : <SkeletonRows rows={5} columns={1} />}
      </Drawer>
    );
  return <UserForm stored={stored.data ?? null} etag={stored.etag} roles={(roles.data ?? []).map((role) => role.name)} writable={writable} reload={() => void stored.refetch()} onClose={onClose} />;
}

type FormProps = { stored: User | null; etag: string | null; roles: string[]; writable: boolean; reload: () => void; onClose: () => void };
const NEW: UserBody = { email: "", name: "", roles: ["viewer"], user_path: null, tenant_id: null, active: true };

function UserForm({ stored, etag, roles, writable, reload, onClose }: FormProps) {
  const before = stored ? bodyOf(stored) : null;
  const [draft, setDraft] = useState<UserBody>(before ?? NEW);
  const [password, setPassword] = useState("");
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [deleting, setDeleting] = useState(false);
  const set = (change: Partial<UserBody>) => setDraft({ ...draft, ...change });
  const invalidates = [USERS, ["changes"]];
  const onError = (error: ApiError) => {
    setFailed(error);
    return true;
  };
  const save = useSave({
    write: (body: UserBody, headers) => (stored ? putUser(stored.id, body, headers) : createUser(body)),
    invalidates,
    done: (user) => (stored ? `${user.email} is saved` : `${user.email} is created`),
    // A changed password cannot be taken back: it is not known.
    undo: password && stored ? undefined : (user) => (before ? unwrap<unknown>(putUser(user.id, before)) : unwrap<unknown>(deleteUser(user.id))),
    what: "this person",
    onCompare: reload,
    onSuccess: onClose,
    onError,
  });
  const remove = useSave({ write: (user: User) => deleteUser(user.id), invalidates, gone: (user) => [...USERS, "one", user.id], done: (_, user) => `${user.email} is deleted`, onSuccess: onClose, onError });
  const run = (body: UserBody) => {
    setFailed(null);
    save.mutate({ input: body, etag });
  };
  const deactivate = () => {
    setDeleting(false);
    run({ ...draft, active: false });
  };

  if (deleting && stored)
    return (
      <ConfirmDialog
        title={`Delete ${stored.email}?`}
        body="This cannot be undone. Sessions end at once; past calls and changes stay recorded."
        typed={stored.email}
        warning={failed?.message}
        confirm="Delete user"
        instead={stored.active ? { label: "Deactivate instead", run: deactivate } : undefined}
        busy={remove.busy}
        onConfirm={() => remove.mutate({ input: stored })}
        onClose={() => setDeleting(false)}
      />
    );
  const masked = password ? { password: "a new password" } : {};
  return (
    <EditDrawer
      title={stored ? stored.name || stored.email : "Create user"}
      sub={stored?.name ? stored.email : undefined}
      before={before}
      after={{ ...draft, ...masked }}
      create="Create user"
      onSave={() => run(password ? { ...draft, password } : draft)}
      onClose={onClose}
      busy={save.busy}
      failed={failed}
      fields={["email", "name", "password", "roles", "user_path", "tenant_id"]}
      readOnly={!writable}
      call={stored ? { method: "PUT", path: `${ADMIN}/identity/users/${stored.id}`, body: draft } : { method: "POST", path: `${ADMIN}/identity/users`, body: draft }}
      yaml={draft}
      remove={stored ? { label: "Delete user", run: () => setDeleting(true) } : undefined}
    >
      <Field label="Email" error={fieldError(failed, "email")}>
        <Input type="email" autoFocus={!stored} autoComplete="off" value={draft.email} onChange={(event) => set({ email: event.target.value })} />
      </Field>
      <Field label="Name" aside="optional" error={fieldError(failed, "name")}>
        <Input autoComplete="off" value={draft.name ?? ""} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label={stored ? "New password" : "Password"} aside="optional" hint={stored?.password_set ? "Empty keeps the password." : "12 characters or more. Without one, the person signs in by single sign-on."} error={fieldError(failed, "password")}>
        <Input type="password" autoComplete="new-password" value={password} onChange={(event) => setPassword(event.target.value)} />
      </Field>
      <Field label="Roles" hint={draft.roles?.length ? <>Permissions are listed on <Link to="/roles" className="link">Roles</Link>.</> : "Without a role, the person may do nothing."} error={fieldError(failed, "roles")}>
        <ChoiceTags label="Roles" mono={false} options={[...new Set([...roles, ...(draft.roles ?? [])])]} values={draft.roles ?? []} onChange={(next) => set({ roles: next })} />
      </Field>
      <Pair>
        <Field label="Path" aside="optional" hint="Empty: all paths." error={fieldError(failed, "user_path")}>
          <Input mono placeholder="/" value={draft.user_path ?? ""} onChange={(event) => set({ user_path: event.target.value || null })} />
        </Field>
        <Field label="Tenant" aside="optional" hint="Empty: all tenants." error={fieldError(failed, "tenant_id")}>
          <Input value={draft.tenant_id ?? ""} onChange={(event) => set({ tenant_id: event.target.value || null })} />
        </Field>
      </Pair>
      <Switch checked={draft.active !== false} onChange={(active) => set({ active })}>
        May sign in
      </Switch>
      {stored && (
        <KeyValues
          items={[
            { label: "Id", value: stored.id, mono: true },
            { label: "Single sign-on", value: stored.identities.map((each) => `${each.provider}: ${each.subject}`).join(", ") || "none" },
            { label: "Created", value: moment(stored.created_at) },
            { label: "Changed", value: <Link to="/changes" search={{ kind: "user", name: stored.id } as never} className="link">{moment(stored.updated_at)}</Link> },
          ]}
        />
      )}
    </EditDrawer>
  );
}
