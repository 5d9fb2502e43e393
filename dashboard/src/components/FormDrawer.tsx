import { useEffect, useId, useState, type ReactNode } from "react";
import type { ApiError } from "@/api/errors";
import { Button } from "./Button";
import { DiffView } from "./DiffView";
import { Drawer } from "./Drawer";
import { Form } from "./Field";
import { Note } from "./Note";

type FormDrawerProps = {
  title: ReactNode;
  sub?: ReactNode;
  actions?: ReactNode;
  /** What is stored; null for a new object, which is saved without a review. */
  before: unknown;
  /** What would be stored. */
  after: unknown;
  /** Name of the button for a new object, e.g. "Create guardrail". */
  create?: string;
  onSave: () => void;
  onClose: () => void;
  busy?: boolean;
  /** At the left of the foot, e.g. the button that deletes. */
  aside?: ReactNode;
  /** The refused write; leads back to the form. */
  failed?: ApiError | null;
  /** Parameters whose errors the fields show themselves. */
  fields?: readonly string[];
  /** Nothing may be stored, e.g. of a system role. */
  readOnly?: boolean;
  children: ReactNode;
};

/** The error of one field. */
export const fieldError = (failed: ApiError | null | undefined, param: string): string | undefined => (failed?.param === param ? failed.message : undefined);

/** A form in a drawer. Changes of a stored object are shown as a difference before they are saved. */
export function FormDrawer({ title, sub, actions, before, after, create = "Create", onSave, onClose, busy, aside, failed = null, fields = [], readOnly, children }: FormDrawerProps) {
  const id = useId();
  const [reviewing, setReviewing] = useState(false);
  const [seen, setSeen] = useState(failed);
  if (failed !== seen) {
    setSeen(failed);
    if (failed) setReviewing(false);
  }
  // The dialog gives the focus to the first button of its head; a form begins at its first field.
  useEffect(() => {
    document.getElementById(id)?.querySelector<HTMLElement>("input, textarea, select")?.focus();
  }, [id]);
  const fresh = before == null;
  const changed = fresh || JSON.stringify(before) !== JSON.stringify(after);
  const submit = () => (fresh ? onSave() : setReviewing(true));
  const shown = failed && !(failed.param && fields.includes(failed.param)) ? failed : null;
  const footer = readOnly ? undefined : (
    <>
      {!reviewing && aside}
      <span className="ml-auto" />
      {reviewing ? (
        <>
          <Button onClick={() => setReviewing(false)}>Back</Button>
          <Button look="primary" busy={busy} disabled={!changed} onClick={onSave}>
            Save changes
          </Button>
        </>
      ) : (
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={id} busy={busy}>
            {fresh ? create : "Save"}
          </Button>
        </>
      )}
    </>
  );
  return (
    <Drawer title={title} sub={reviewing ? "What changes" : sub} actions={actions} onClose={onClose} footer={footer}>
      {reviewing && <DiffView before={before} after={after} className="max-h-none!" />}
      <div hidden={reviewing}>
        <Form id={id} onSubmit={submit}>
          {shown && (
            <Note kind="bad">
              {shown.message}
              <span className="block text-small text-ink-2">
                {shown.status} <code>{shown.code}</code>
              </span>
            </Note>
          )}
          {children}
        </Form>
      </div>
    </Drawer>
  );
}
