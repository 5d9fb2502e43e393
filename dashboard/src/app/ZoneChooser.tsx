import { useId, useMemo, useState } from "react";
import { Dialog } from "@/components/Dialog";
import { SearchInput } from "@/components/Input";
import { ownZone, setZone, useZone } from "@/format";
import { closeOverlay } from "./overlays";

const MOST = 60;

/** "Europe/Berlin" and its time now. */
function clockIn(zone: string, now: Date): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", timeZoneName: "short", hourCycle: "h23" }).format(now);
}

/** Chooses the zone of all times and days; the browser's and UTC first. */
export default function ZoneChooser() {
  const name = useId();
  const current = useZone();
  const [text, setText] = useState("");
  const [now] = useState(() => new Date());
  const all = useMemo(() => [...new Set([ownZone, "UTC", current, ...Intl.supportedValuesOf("timeZone")])], [current]);
  const wanted = text.trim().toLowerCase().replaceAll(" ", "_");
  const found = all.filter((zone) => zone.toLowerCase().includes(wanted));
  return (
    <Dialog title="Time zone" onClose={closeOverlay}>
      <p className="mb-3 text-ink-2">All times, and the days of charts and budgets, are shown in this zone. The choice is kept in this browser.</p>
      <SearchInput label="Find a time zone" value={text} onChange={setText} />
      <fieldset className="mt-2 max-h-72 overflow-y-auto" tabIndex={-1}>
        <legend className="sr-only">Time zones</legend>
        {found.slice(0, MOST).map((zone) => (
          <label key={zone} className="flex h-8 cursor-pointer items-center gap-2 rounded-md px-2 hover:bg-hover phone:h-11">
            <input type="radio" name={name} value={zone} checked={zone === current} onChange={() => setZone(zone)} className="accent-accent" />
            <span className="truncate">{zone.replaceAll("_", " ")}</span>
            {zone === ownZone && <span className="text-small text-ink-3">this browser</span>}
            <span className="num ml-auto text-small whitespace-nowrap text-ink-3">{clockIn(zone, now)}</span>
          </label>
        ))}
      </fieldset>
      {found.length > MOST && <p className="mt-2 text-small text-ink-3">{found.length - MOST} more; type to find them.</p>}
      {found.length === 0 && <p className="py-4 text-center text-ink-2">No time zone matches.</p>}
    </Dialog>
  );
}
