import { useState } from "react";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";

/** Two dates; loaded when the picker is opened. */
export default function RangeForm({ first, last, onChange }: { first: string; last: string; onChange: (start: string, end: string) => void }) {
  const [start, setStart] = useState(first);
  const [end, setEnd] = useState(last);
  return (
    <form
      className="space-y-3"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(start, end);
      }}
    >
      <Field label="From">
        <Input type="date" value={start} max={end} onChange={(event) => setStart(event.target.value)} />
      </Field>
      <Field label="To">
        <Input type="date" value={end} min={start} onChange={(event) => setEnd(event.target.value)} />
      </Field>
      <Button type="submit" look="primary" full disabled={!start || !end}>
        Show
      </Button>
    </form>
  );
}
