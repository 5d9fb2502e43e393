import { useState } from "react";
import { useSession } from "@/app/session";
import { Drawer } from "@/components/Drawer";
import { EditDrawer } from "@/components/EditDrawer";
import { ErrorNote } from "@/components/EmptyState";
import { Note } from "@/components/Note";
import { SkeletonRows } from "@/components/Skeleton";
import { bodyOf, draftOf, EMPTY, newBody, problems, type Draft } from "./draft";
import { KeyForm } from "./KeyForm";
import { useKey, type Key, type NewKey } from "./queries";
import { useCreateKey, useEditKey } from "./writes";

function useForm(initial: Draft) {
  const session = useSession();
  const [draft, setDraft] = useState(initial);
  const [tried, setTried] = useState(false);
  const [refused, setRefused] = useState<Record<string, string>>({});
  const found = problems(draft);
  const change = (next: Draft) => {
    setDraft(next);
    setRefused({});
  };
  const check = () => {
    setTried(true);
    return Object.keys(found).length === 0;
  };
  const onError = (param: string, message: string) => {
    setRefused({ [param]: message });
    return param.split(".")[0]! in draft || param === "expires_at";
  };
  const budgets = session.has("advancedBudgets") && session.can("admin:budgets:read");
  return { draft, change, check, onError, form: { draft, onChange: change, errors: { ...(tried ? found : {}), ...refused }, budgets } };
}

/** The drawer of a new key. */
export function CreateKey({ path, onClose, onCreated }: { path: string; onClose: () => void; onCreated: (key: NewKey) => void }) {
  const { draft, check, onError, form } = useForm({ ...EMPTY, user_path: path || "/" });
  const create = useCreateKey(onCreated, onError);
  const body = newBody(draft);
  return (
    <EditDrawer
      title="Create a key"
      onClose={onClose}
      before={null}
      after={body}
      call={{ method: "POST", path: "/admin/api/v1/auth-keys", body }}
      create="Create key"
      check={check}
      busy={create.busy}
      onSave={() => create.mutate({ input: draft })}
      errors={form.errors}
    >
      <KeyForm {...form} />
    </EditDrawer>
  );
}

/** The drawer that edits a key: reads it with its tag first. */
export function EditKey({ id, onClose }: { id: string; onClose: () => void }) {
  const key = useKey(id);
  if (key.data) return <EditForm key={key.etag} stored={key.data} etag={key.etag} onClose={onClose} />;
  return (
    <Drawer title="Edit a key" onClose={onClose}>
      {key.error ? <ErrorNote error={key.error} onRetry={() => void key.refetch()} /> : <SkeletonRows rows={8} columns={1} />}
    </Drawer>
  );
}

function EditForm({ stored, etag, onClose }: { stored: Key; etag: string | null; onClose: () => void }) {
  const { draft, check, onError, form } = useForm(draftOf(stored));
  const edit = useEditKey(stored, onClose, onError);
  const body = bodyOf(draft);
  return (
    <EditDrawer
      title={`Edit ${stored.name}`}
      onClose={onClose}
      before={bodyOf(draftOf(stored))}
      after={body}
      call={{ method: "PUT", path: `/admin/api/v1/auth-keys/${stored.id}`, body }}
      check={check}
      busy={edit.busy}
      onSave={() => edit.mutate({ input: draft, etag })}
      errors={form.errors}
      effect="Calls with this key follow the new rules as soon as they are saved."
    >
      {stored.source === "file" && <Note>Defined in the configuration file. Saving here overrides it.</Note>}
      <KeyForm {...form} />
    </EditDrawer>
  );
}
