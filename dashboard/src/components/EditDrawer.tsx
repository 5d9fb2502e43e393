import { RotateCcw, Trash2 } from "lucide-react";
import { useState, type ReactNode } from "react";
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
  /** What is stored now; null for a new object. */
  before: object | null;
  /** What the form holds. */
  after: object;
  /** The write that the form makes, for Copy as. */
  call: Call;
  /** Verb with object for a new one, e.g. "Create alias"; existing ones have Save. */
  create: string;
  /** Required fields are filled. */
  ready?: boolean;
  busy?: boolean;
  onSave: () => void;
  remove?: { label: string; run: () => void; why?: string };
  /** Errors of the last write; they lead back from the difference to the form. */
  errors: Record<string, string>;
  conflict?: boolean;
  loading?: boolean;
  error?: unknown;
  onRetry?: () => void;
  steps?: ReactNode;
  children: ReactNode;
};

/** The form of an object in a drawer: what changes is shown before it is stored. */
export function EditDrawer({ title, sub, onClose, before, after, call, create, ready = true, busy, onSave, remove, errors, conflict, loading, error, onRetry, steps, children }: EditDrawerProps) {
  const [review, setReview] = useState(false);
  const [seen, setSeen] = useState(errors);
  if (errors !== seen) {
    setSeen(errors);
    if (Object.keys(errors).length) setReview(false);
  }
  const changed = before === null || JSON.stringify(before) !== JSON.stringify(after);
  const submit = () => {
    if (busy || !ready || !changed || loading) return;
    if (before === null || review) onSave();
    else setReview(true);
  };
  const save = (
    <Button look="primary" busy={busy} disabled={!ready || !changed} onClick={submit} shortcut={review ? undefined : "⌘↵"}>
      {before === null ? create : "Save"}
    </Button>
  );
  const footer = review ? (
    <>
      <Button className="ml-auto" icon={RotateCcw} onClick={() => setReview(false)}>
        Back
      </Button>
      <Button look="primary" busy={busy} onClick={submit}>
        Save changes
      </Button>
    </>
  ) : (
    <>
      <CopyAs call={call} yaml={after} />
      <span className="ml-auto" />
      {remove && (
        <Button look="danger" icon={Trash2} disabled={Boolean(remove.why)} title={remove.why} onClick={remove.run} className="phone:[&>svg]:hidden">
          {remove.label}
        </Button>
      )}
      {save}
    </>
  );
  return (
    <Drawer title={title} sub={sub} onClose={onClose} steps={steps} footer={loading || error ? undefined : footer}>
      {error ? (
        <ErrorNote error={error} onRetry={onRetry} />
      ) : loading ? (
        <SkeletonRows rows={6} columns={2} />
      ) : (
        <>
          {conflict && (
            <Note kind="warn" className="mb-4">
              Somebody else changed this since you opened it. Your edits are kept; Save shows the difference to what is stored now.
            </Note>
          )}
          {review && (
            <div className="space-y-3">
              <p className="text-ink-2">This changes:</p>
              <DiffView before={before} after={after} />
            </div>
          )}
          <div hidden={review}>
            <Form onSubmit={submit}>{children}</Form>
          </div>
        </>
      )}
    </Drawer>
  );
}
