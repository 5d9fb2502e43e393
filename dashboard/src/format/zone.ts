import { stored } from "./stored";

/** The time zone of all times that the dashboard shows: an IANA name. Default: the browser's. */
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const store = stored("gatehouse.zone", browserZone, (value) => {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: value });
    return true;
  } catch {
    return false;
  }
});

export const zone = store.get;
export const setZone = store.set;
export const useZone = store.use;
export const ownZone = browserZone;

/** Short name of the zone for a moment, e.g. "UTC" or "CET". */
export function zoneLabel(at: Date = new Date()): string {
  const part = new Intl.DateTimeFormat("en-GB", { timeZone: zone(), timeZoneName: "short" }).formatToParts(at).find((p) => p.type === "timeZoneName");
  return part?.value ?? zone();
}
