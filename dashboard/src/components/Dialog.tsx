import { TriangleAlert } from "lucide-react";
import { useId, useState, type ReactNode } from "react";
import { Button } from "./Button";
import { Field } from "./Field";
import { Input } from "./Input";
import { Layer } from "./layer";
import { Note } from "./Note";

type DialogProps = { title: string; onClose: () => void; actions?: ReactNode; wide?: boolean; children: ReactNode };

/** A question or short task in the middle. Mount it to open it; never over another dialog. */
export function Dialog({ title, onClose, actions, wide, children }: DialogProps) {
  const id = useId();
  return (
    <Layer onClose={onClose} labelledBy={id} className={wide ? "center wide" : "center"}>
      <div className="p-5">
        <h2 id={id} className="text-title font-strong">
          {title}
        </h2>
        {children}
        {actions && <div className="mt-5 flex justify-end gap-2 phone:flex-wrap">{actions}</div>}
      </div>
    </Layer>
  );
}

type ConfirmProps = {
  title: string;
  /** The consequence, and that it cannot be undone. */
  body: ReactNode;
  /** Name to be typed for what cannot be undone; without it one click confirms. */
  typed?: string;
  /** Verb with object, e.g. "Delete key". */
  confirm: string;
  onConfirm: () => void;
  onClose: () => void;
  busy?: boolean;
  /** Facts that speak against it, e.g. a recent use. */
  warning?: ReactNode;
  /** The reversible way, e.g. "Deactivate instead". */
  instead?: { label: string; run: () => void };
  danger?: boolean;
};

/** Asks before something that is hard to take back. */
export function ConfirmDialog({ title, body, typed, confirm, onConfirm, onClose, busy, warning, instead, danger = true }: ConfirmProps) {
  const [text, setText] = useState("");
  const ready = !typed || text === typed;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          {instead && (
            <Button look="quiet" className="mr-auto" onClick={instead.run}>
              {instead.label}
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button look={danger ? "danger-solid" : "primary"} disabled={!ready} busy={busy} onClick={onConfirm}>
            {confirm}
          </Button>
        </>
      }
    >
      <form
        className="mt-2 space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !busy) onConfirm();
        }}
      >
        <div className="text-ink-2">{body}</div>
        {warning && (
          <Note kind="warn" icon={TriangleAlert}>
            {warning}
          </Note>
        )}
        {typed && (
          <Field label={<>Type <code className="mx-0.5">{typed}</code> to confirm</>}>
            <Input autoFocus autoComplete="off" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
          </Field>
        )}
      </form>
    </Dialog>
  );
}
