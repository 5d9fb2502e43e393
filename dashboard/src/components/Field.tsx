import { OctagonX, TriangleAlert } from "lucide-react";
import { createContext, useContext, useId, type ReactNode } from "react";
import { cx } from "./cx";

type FieldIds = { id: string; describedBy?: string; invalid: boolean };
const FieldContext = createContext<FieldIds | null>(null);

/** Ids that tie a control to the label, hint and error of the Field around it. */
export function useFieldIds(id?: string) {
  const field = useContext(FieldContext);
  return { id: id ?? field?.id, "aria-describedby": field?.describedBy, "aria-invalid": field?.invalid || undefined };
}

type FieldProps = {
  label: ReactNode;
  /** Right of the label, e.g. "optional". */
  aside?: ReactNode;
  hint?: ReactNode;
  warning?: ReactNode;
  /** Says what is wrong and what would be right. */
  error?: ReactNode;
  className?: string;
  children: ReactNode;
};

/** A label over a control, with hint, warning or error under it. */
export function Field({ label, aside, hint, warning, error, className, children }: FieldProps) {
  const id = useId();
  const note = error ?? warning ?? hint;
  const noteId = `${id}-note`;
  return (
    <div className={className}>
      <div className="mb-1.5 flex items-baseline gap-1.5 text-small font-medium">
        <label htmlFor={id}>{label}</label>
        {aside != null && <span className="ml-auto font-regular text-ink-3">{aside}</span>}
      </div>
      <FieldContext value={{ id, describedBy: note ? noteId : undefined, invalid: Boolean(error) }}>{children}</FieldContext>
      {note && (
        <p id={noteId} className={cx("mt-1.5 flex gap-1.5 text-small", error ? "text-ink-2" : warning ? "text-ink-2" : "text-ink-3")}>
          {error ? <OctagonX aria-hidden className="mt-px size-3.5 text-bad" /> : warning ? <TriangleAlert aria-hidden className="mt-px size-3.5 text-warn" /> : null}
          <span className="min-w-0">{note}</span>
        </p>
      )}
    </div>
  );
}

/** Two fields beside each other. */
export function Pair({ children }: { children: ReactNode }) {
  return <div className="grid grid-cols-2 gap-3 phone:grid-cols-1 phone:gap-4">{children}</div>;
}

/** Fields under each other; `onSubmit` also runs on ⌘↵. */
export function Form({ id, onSubmit, children, className }: { id?: string; onSubmit: () => void; children: ReactNode; className?: string }) {
  return (
    <form
      id={id}
      noValidate
      className={cx("space-y-4", className)}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
          event.preventDefault();
          onSubmit();
        }
      }}
    >
      {children}
    </form>
  );
}

/** Heading of a part of a form. */
export function FormSection({ title, sub }: { title: string; sub?: string }) {
  return (
    <h3 className="mt-5 border-t border-line pt-4 text-body font-strong">
      {title}
      {sub && <small className="ml-1.5 text-small font-regular text-ink-3">{sub}</small>}
    </h3>
  );
}
