import { Link } from "@tanstack/react-router";
import { CirclePause, CirclePlay } from "lucide-react";
import { useState } from "react";
import { ADMIN, unwrap } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { Drawer } from "@/components/Drawer";
import { EditDrawer, fieldError } from "@/components/EditDrawer";
import { ErrorNote } from "@/components/EmptyState";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";
import { Note } from "@/components/Note";
import { PairsInput } from "@/components/PairsInput";
import { KeyValues } from "@/components/Panel";
import { SkeletonRows } from "@/components/Skeleton";
import { moment } from "@/format";
import { activateTenant, createTenant, deleteTenant, putTenant, suspendTenant, TENANTS, useTenant, type Metadata, type Tenant } from "./queries";

type EditorProps = { id: string | null; writable: boolean; onClose: () => void; onSuspend: (tenant: Tenant) => void };

/** The form of a new or stored tenant. */
export function TenantEditor({ id, writable, onClose, onSuspend }: EditorProps) {
  const stored = useTenant(id);
  if (id !== null && !stored.data)
    return (
      <Drawer title="Tenant" onClose={onClose}>
        {stored.error ? <ErrorNote error={stored.error} onRetry={() => void stored.refetch()} /> : <SkeletonRows rows={4} columns={1} />}
      </Drawer>
    );
  return <TenantForm stored={stored.data ?? null} etag={stored.etag} writable={writable} reload={() => void stored.refetch()} onClose={onClose} onSuspend={onSuspend} />;
}

type FormProps = { stored: Tenant | null; etag: string | null; writable: boolean; reload: () => void; onClose: () => void; onSuspend: (tenant: Tenant) => void };

function TenantForm({ stored, etag, writable, reload, onClose, onSuspend }: FormProps) {
  const [slug, setSlug] = useState(stored?.slug ?? "");
  const [name, setName] = useState(stored?.name ?? "");
  const [metadata, setMetadata] = useState<Metadata>((stored?.metadata as Metadata | undefined) ?? {});
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [deleting, setDeleting] = useState(false);
  const invalidates = [TENANTS, ["changes"]];
  const onError = (error: ApiError) => {
    setFailed(error);
    return true;
  };
  const save = useSave({
    write: (_: null, headers) => (stored ? putTenant(stored.id, name, metadata, headers) : createTenant(slug, name, metadata)),
    invalidates,
    done: (tenant) => `${tenant.name || tenant.slug} is ${stored ? "saved" : "created"}`,
    undo: (tenant) => (stored ? unwrap<unknown>(putTenant(stored.id, stored.name, stored.metadata)) : unwrap<unknown>(deleteTenant(tenant.id))),
    what: "this tenant",
    onCompare: reload,
    onSuccess: onClose,
    onError,
  });
  const remove = useSave({ write: (tenant: Tenant) => deleteTenant(tenant.id), invalidates, gone: (tenant) => [...TENANTS, "one", tenant.id], done: (_, tenant) => `${tenant.slug} is deleted`, onSuccess: onClose, onError });
  const resume = useSave({ write: (tenant: Tenant) => activateTenant(tenant.id), invalidates, done: (tenant) => `${tenant.name || tenant.slug} is active`, undo: (tenant) => unwrap(suspendTenant(tenant.id)), onSuccess: onClose });

  if (deleting && stored)
    return (
      <ConfirmDialog
        title={`Delete the tenant ${stored.slug}?`}
        body="This cannot be undone. Its keys are refused; its usage and audit log are kept until their retention ends."
        typed={stored.slug}
        warning={failed && <><strong className="font-medium">Not deleted.</strong> {failed.message}</>}
        confirm="Delete tenant"
        instead={stored.status === "active" ? { label: "Suspend instead", run: () => onSuspend(stored) } : undefined}
        busy={remove.busy}
        onConfirm={() => remove.mutate({ input: stored })}
        onClose={() => setDeleting(false)}
      />
    );
  return (
    <EditDrawer
      title={stored ? stored.name || stored.slug : "Create tenant"}
      before={stored ? { name: stored.name, metadata: stored.metadata } : null}
      after={{ name, metadata }}
      create="Create tenant"
      onSave={() => {
        setFailed(null);
        save.mutate({ input: null, etag });
      }}
      onClose={onClose}
      busy={save.busy}
      failed={failed}
      fields={["slug", "name"]}
      readOnly={!writable}
      call={stored ? { method: "PUT", path: `${ADMIN}/tenants/${stored.id}`, body: { name, metadata } } : { method: "POST", path: `${ADMIN}/tenants`, body: { slug, name, metadata } }}
      yaml={{ slug, name, metadata }}
      remove={stored ? { label: "Delete tenant", run: () => setDeleting(true) } : undefined}
      aside={
        stored &&
        (stored.status === "active" ? (
          <Button look="quiet" icon={CirclePause} onClick={() => onSuspend(stored)}>
            Suspend
          </Button>
        ) : (
          <Button look="quiet" icon={CirclePlay} busy={resume.busy} onClick={() => resume.mutate({ input: stored })}>
            Activate
          </Button>
        ))
      }
    >
      {stored?.status === "suspended" && <Note kind="warn">This tenant is suspended: calls with its keys are refused with 403.</Note>}
      {!stored && (
        <Field label="Slug" hint="Lower-case letters, digits and hyphens. It is the tenant's id and cannot be changed." error={fieldError(failed, "slug")}>
          <Input autoFocus mono value={slug} onChange={(event) => setSlug(event.target.value)} placeholder="acme" />
        </Field>
      )}
      <Field label="Name" aside="optional" error={fieldError(failed, "name")}>
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <div>
        <h3 className="mb-1.5 text-small font-medium">Metadata</h3>
        <PairsInput label="Metadata" value={metadata} onChange={setMetadata} />
      </div>
      {stored && (
        <KeyValues
          items={[
            { label: "Id", value: stored.id, mono: true },
            { label: "Created", value: moment(stored.created_at) },
            { label: "Changed", value: <Link to="/changes" search={{ kind: "tenant", name: stored.id } as never} className="link">{moment(stored.updated_at)}</Link> },
          ]}
        />
      )}
    </EditDrawer>
  );
}
