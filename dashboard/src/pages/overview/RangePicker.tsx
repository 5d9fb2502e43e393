import { Calendar } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { buttonClass } from "@/components/Button";
import { Popover } from "@/components/Popover";
import { day, isoDay } from "@/format";

const RangeForm = lazy(() => import("./RangeForm"));

/** A range of days by two dates; the trigger shows the range in use. */
export function RangePicker({ first, last, onChange }: { first: string | undefined; last: string | undefined; onChange: (start: string, end: string) => void }) {
  const [open, setOpen] = useState(false);
  if (!first || !last) return null;
  return (
    <Popover
      open={open}
      onOpenChange={setOpen}
      label="Range of days"
      trigger={
        <button type="button" className={buttonClass({})}>
          {isoDay(first) === isoDay(last) ? day(first) : `${day(first)} – ${day(last)}`}
          <Calendar aria-hidden className="mr-0! ml-0.5! size-3.5!" />
        </button>
      }
    >
      {open && (
        <Suspense fallback={<div className="h-40 w-44" />}>
          <RangeForm
            first={isoDay(first)}
            last={isoDay(last)}
            onChange={(start, end) => {
              setOpen(false);
              onChange(start, end);
            }}
          />
        </Suspense>
      )}
    </Popover>
  );
}
