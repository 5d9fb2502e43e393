import { RotateCcw, Trash2 } from "lucide-react";
import { useEffect, useId, useState, type ReactNode } from "react";
import type { ApiError } from "@/api/errors";
import { Button } from "./Button";
import { CopyAs, type Call } from "./CopyAs";
import { DiffView } from "./DiffView";
import { Drawer } from "./Drawer";
import { ErrorNote } from "./EmptyState";
import { Form } from "./Field";
import { Note } from "./Note";
import { SkeletonRows } from "./Skeleton";

type EditDrawerProps = {
  title: ReactNode;
  sub?: ReactNode;
  onClose: () => void;
  /** The stored object; null for a new one, which is saved without a review. */
  before: object | null;
  /** The object as edited in the form. */
  after: object;
  /** The write that the form makes, for Copy as. */
  call?: Call;
  /** The object for Copy as; `after` without it. */
  yaml?: unknown;
  /** Verb with object for a new one, e.g. "Create alias"; existing ones have Save. */
  create?: string;
  /** Required fields are filled. */
  ready?: boolean;
  /** Looks at the form before the review or the write; false keeps the form open. */
  check?: () => boolean;
  busy?: boolean;
  onSave: () => void;
  remove?: { label: string; run: () => void; why?: string };
  /** More buttons at the left of the foot. */
  aside?: ReactNode;
  /** Errors by field; they lead back from the difference to the form. */
  errors?: Record<string, string>;
  /** The refused write; leads back too, and is shown above the form unless its parameter is one of `fields`. */
  failed?: ApiError | null;
  fields?: readonly string[];
  conflict?: boolean;
  /** Above the difference: what saving does. */
  effect?: ReactNode;
  /** Nothing may be stored, e.g. of a system role. */
  readOnly?: boolean;
  loading?: boolean;
  error?: unknown;
  onRetry?: () => void;
  steps?: ReactNode;
  children: ReactNode;
};

/** The error of one field. */
export const fieldError = (failed: ApiError | null | undefined, param: string): string | undefined => (failed?.param === param ? failed.message : undefined);

const NO_ERRORS: Record<string, string> = {};

/** The form of an object in a drawer. Changes of a stored object are shown as a difference before they are saved. */
export function EditDrawer(props: EditDrawerProps) {
  const { title, sub, onClose, before, after, ready = true, check, busy, onSave, errors = NO_ERRORS, failed = null, readOnly, loading, error } = props;
  const id = useId();
  const [reviewing, setReviewing] = useState(false);
  const [seen, setSeen] = useState<unknown[]>([errors, failed]);
  if (errors !== seen[0] || failed !== seen[1]) {
    setSeen([errors, failed]);
    if (failed || Object.keys(errors).length) setReviewing(false);
  }
  const shown = !loading && !error;
  // The dialog gives the focus to the first button of its head; a form begins at its first field.
  useEffect(() => {
    const form = document.getElementById(id);
    if (shown && form && !form.contains(document.activeElement)) form.querySelector<HTMLElement>("input:enabled, textarea:enabled, select:enabled")?.focus({ preventScroll: true });
  }, [id, shown]);
  const changed = before === null || JSON.stringify(before) !== JSON.stringify(after);
  const submit = () => {
    if (busy || readOnly || !ready || !changed || !shown) return;
    if (check && !check()) return;
    if (before === null || reviewing) onSave();
    else setReviewing(true);
  };
  const footer = reviewing ? (
    <>
      <Button className="ml-auto" icon={RotateCcw} onClick={() => setReviewing(false)}>
        Back
      </Button>
      <Button look="primary" busy={busy} disabled={!changed} onClick={submit}>
        Save changes
      </Button>
    </>
  ) : (
    <FormFoot {...props} form={id} disabled={!ready || !changed} />
  );
  return (
    <Drawer title={title} sub={reviewing ? "Review changes" : sub} onClose={onClose} steps={props.steps} footer={shown && (!readOnly || props.call) ? footer : undefined}>
      {error ? (
        <ErrorNote error={error} onRetry={props.onRetry} />
      ) : loading ? (
        <SkeletonRows rows={6} columns={2} />
      ) : (
        <>
          {props.conflict && (
            <Note kind="warn" className="mb-4">
              This was changed after you opened it. Your edits are kept; Save shows how they differ from the stored version.
            </Note>
          )}
          {reviewing && (
            <div className="space-y-3">
              {props.effect && <p className="text-ink-2">{props.effect}</p>}
              <DiffView before={before} after={after} className="max-h-none!" />
            </div>
          )}
          <div hidden={reviewing}>
            <Form id={id} onSubmit={submit}>
              <Refusal failed={failed} fields={props.fields} />
              {props.children}
            </Form>
          </div>
        </>
      )}
    </Drawer>
  );
}

function FormFoot({ before, after, call, yaml = after, create = "Create", remove, aside, readOnly, busy, onClose, form, disabled }: EditDrawerProps & { form: string; disabled: boolean }) {
  return (
    <>
      {call && <CopyAs call={call} yaml={yaml} />}
      {!readOnly && aside}
      <span className="ml-auto" />
      {!readOnly && remove && (
        <Button look="danger" icon={Trash2} disabled={Boolean(remove.why)} title={remove.why} onClick={remove.run} className="phone:[&>svg]:hidden">
          {remove.label}
        </Button>
      )}
      {!readOnly && !remove && <Button onClick={onClose}>Cancel</Button>}
      {!readOnly && (
        <Button look="primary" type="submit" form={form} busy={busy} disabled={disabled} shortcut="⌘↵">
          {before === null ? create : "Save"}
        </Button>
      )}
    </>
  );
}

function Refusal({ failed, fields = [] }: { failed: ApiError | null; fields?: readonly string[] }) {
  if (!failed || (failed.param && fields.includes(failed.param))) return null;
  return (
    <Note kind="bad">
      {failed.message}
      <span className="block text-small text-ink-2">
        {failed.status} <code>{failed.code}</code>
      </span>
    </Note>
  );
}
