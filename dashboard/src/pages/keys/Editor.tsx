import { useState } from "react";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { DiffView } from "@/components/DiffView";
import { Drawer } from "@/components/Drawer";
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
  const submit = () => check() && !create.busy && create.mutate({ input: draft });
  return (
    <Drawer
      title="Create a key"
      onClose={onClose}
      footer={
        <>
          <CopyAs call={{ method: "POST", path: "/admin/api/v1/auth-keys", body: newBody(draft) }} yaml={newBody(draft)} />
          <span className="ml-auto flex gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button look="primary" busy={create.busy} onClick={submit}>
              Create key
            </Button>
          </span>
        </>
      }
    >
      <KeyForm id="new-key" onSubmit={submit} {...form} />
    </Drawer>
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
  const [review, setReview] = useState(false);
  const edit = useEditKey(stored, onClose, (param, message) => {
    setReview(false);
    return onError(param, message);
  });
  const changed = JSON.stringify(bodyOf(draft)) !== JSON.stringify(bodyOf(draftOf(stored)));
  const submit = () => (review ? !edit.busy && edit.mutate({ input: draft, etag }) : check() && changed && setReview(true));
  return (
    <Drawer
      title={review ? "Review the changes" : `Edit ${stored.name}`}
      onClose={onClose}
      footer={
        <>
          {!review && <CopyAs call={{ method: "PUT", path: `/admin/api/v1/auth-keys/${stored.id}`, body: bodyOf(draft) }} yaml={bodyOf(draft)} />}
          <span className="ml-auto flex gap-2">
            <Button onClick={review ? () => setReview(false) : onClose}>{review ? "Back" : "Cancel"}</Button>
            <Button look="primary" busy={edit.busy} disabled={!changed} onClick={submit}>
              {review ? "Save changes" : "Save"}
            </Button>
          </span>
        </>
      }
    >
      {review ? (
        <div className="space-y-3">
          <p className="text-ink-2">Calls with this key follow the new rules as soon as they are saved.</p>
          <DiffView before={bodyOf(draftOf(stored))} after={bodyOf(draft)} />
        </div>
      ) : (
        <>
          {stored.source === "file" && <Note className="mb-4">This key is in the configuration file. What is saved here overrides it.</Note>}
          <KeyForm id="edit-key" onSubmit={submit} {...form} />
        </>
      )}
    </Drawer>
  );
}
