import { NONE } from "./numbers";
import { zone, zoneLabel } from "./zone";

type Moment = string | number | Date;
const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions, at: Moment): string {
  const key = zone() + JSON.stringify(options);
  let found = formats.get(key);
  if (!found) formats.set(key, (found = new Intl.DateTimeFormat("en-GB", { timeZone: zone(), hourCycle: "h23", ...options })));
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? NONE : found.format(date);
}

/** 15 Nov; with the year when it is another one. */
export function day(at: Moment | null | undefined): string {
  if (at == null) return NONE;
  const other = new Date(at).getFullYear() !== new Date().getFullYear();
  return format({ day: "numeric", month: "short", ...(other && { year: "numeric" }) }, at);
}

/** 15 November 2026 */
export const longDay = (at: Moment) => format({ day: "numeric", month: "long", year: "numeric" }, at);

/** 20:58 */
export const clock = (at: Moment) => format({ hour: "2-digit", minute: "2-digit" }, at);

/** 20:58:06 */
export const time = (at: Moment) => format({ hour: "2-digit", minute: "2-digit", second: "2-digit" }, at);

/** 20:58:06.183 */
export const preciseTime = (at: Moment) => format({ hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 }, at);

/** 15 Nov 2026, 20:58:06 UTC */
export function moment(at: Moment | null | undefined): string {
  if (at == null) return NONE;
  return `${format({ day: "numeric", month: "short", year: "numeric" }, at)}, ${time(at)} ${zoneLabel(new Date(at))}`;
}

/** As of 20:58:06 UTC */
export const asOf = (at: Moment) => `As of ${time(at)} ${zoneLabel(new Date(at))}`;

/** YYYY-MM-DD in the chosen zone, as the API takes dates. */
export function isoDay(at: Moment): string {
  const parts = new Intl.DateTimeFormat("en-CA", { timeZone: zone(), year: "numeric", month: "2-digit", day: "2-digit" }).format(new Date(at));
  return parts;
}

/** The last second of a day (YYYY-MM-DD) in the chosen zone. */
export const endOfDay = (date: string): string => new Date(inZone(`${date}T23:59:59Z`)).toISOString();

/** The first millisecond of a day (YYYY-MM-DD) in the chosen zone. */
export const startOfDay = (date: string): number => inZone(`${date}T00:00:00Z`);

/** The moment at which clocks in the chosen zone show this time. */
function inZone(shown: string): number {
  const wanted = Date.parse(shown);
  // The offset of the zone is read at the guess, and again there: the clock may change on that day.
  const guess = wanted - offsetAt(wanted);
  return wanted - offsetAt(guess);
}

/** The offset of the chosen zone from UTC at a time, in milliseconds. */
function offsetAt(at: number): number {
  const parts = new Intl.DateTimeFormat("en-CA", { timeZone: zone(), hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" }).formatToParts(at);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second")) - at;
}

/** "now", "12 s ago", "2 d ago"; "in 3 d" for the future. */
export function ago(at: Moment | null | undefined, now: number = Date.now()): string {
  if (at == null) return "never";
  const seconds = Math.round((now - new Date(at).getTime()) / 1000);
  const size = Math.abs(seconds);
  if (size < 2) return "now";
  const text = size < 60 ? `${size} s` : size < 3600 ? `${Math.floor(size / 60)} min` : size < 86_400 ? `${Math.floor(size / 3600)} h` : `${Math.floor(size / 86_400)} d`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}
