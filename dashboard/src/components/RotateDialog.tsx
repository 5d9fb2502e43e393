import { useState } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field } from "./Field";
import { Input } from "./Input";
import { Select } from "./Select";

const OVERLAPS = [
  { value: "0", label: "Ends at once" },
  { value: "3600", label: "Stays valid for 1 hour" },
  { value: "86400", label: "Stays valid for 1 day" },
  { value: "259200", label: "Stays valid for 3 days" },
  { value: "604800", label: "Stays valid for 7 days" },
];

type RotateDialogProps = {
  name: string;
  busy: boolean;
  onRotate: (overlapSeconds: number, value: string) => void;
  onClose: () => void;
  /** Asks for the current value: a session alone may not replace a key. */
  asksValue?: boolean;
  error?: string | null;
};

/** Asks how long the old value of a key stays valid. */
export function RotateDialog({ name, busy, onRotate, onClose, asksValue, error }: RotateDialogProps) {
  const [overlap, setOverlap] = useState("86400");
  const [value, setValue] = useState("");
  return (
    <Dialog
      title={`Rotate ${name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={busy} disabled={asksValue && value === ""} onClick={() => onRotate(Number(overlap), value.trim())}>
            Rotate key
          </Button>
        </>
      }
    >
      <div className="mt-2 space-y-4">
        <p className="text-ink-2">The key gets a new value, which is shown once. Its id, rules and usage stay.</p>
        {asksValue && (
          <Field label="Current value" error={error} hint="Required to rotate your own key. It is sent once and not stored.">
            <Input type="password" autoComplete="off" mono placeholder="gk_" value={value} onChange={(event) => setValue(event.target.value)} />
          </Field>
        )}
        <Field label="Old value" warning={overlap === "0" ? "Calls with the old value fail from the next moment on." : undefined} hint="Time to replace it where it is used.">
          <Select value={overlap} onChange={setOverlap} options={OVERLAPS} />
        </Field>
      </div>
    </Dialog>
  );
}
