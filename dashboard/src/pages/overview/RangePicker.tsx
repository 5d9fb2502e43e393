import { Calendar } from "lucide-react";
import { useState } from "react";
import { Button, buttonClass } from "@/components/Button";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";
import { Popover } from "@/components/Popover";
import { day, isoDay } from "@/format";

/** A range of days by two dates; the trigger shows the range in use. */
export function RangePicker({ first, last, onChange }: { first: string | undefined; last: string | undefined; onChange: (start: string, end: string) => void }) {
  const [open, setOpen] = useState(false);
  const [start, setStart] = useState("");
  const [end, setEnd] = useState("");
  if (!first || !last) return null;
  return (
    <Popover
      open={open}
      onOpenChange={(next) => {
        setOpen(next);
        setStart(isoDay(first));
        setEnd(isoDay(last));
      }}
      label="Range of days"
      trigger={
        <button type="button" className={buttonClass({})}>
          {isoDay(first) === isoDay(last) ? day(first) : `${day(first)} – ${day(last)}`}
          <Calendar aria-hidden className="mr-0! ml-0.5! size-3.5!" />
        </button>
      }
    >
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          setOpen(false);
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
    </Popover>
  );
}
