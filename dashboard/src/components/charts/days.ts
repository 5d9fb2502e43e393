const DAY = 86_400_000;

/** Middle of a calendar day in UTC, in seconds: it is shown as that day in nearly every time zone. */
export const dayTime = (date: string) => Date.parse(`${date}T12:00:00Z`) / 1000;

/** A day before or after a YYYY-MM-DD. */
export const shiftDay = (date: string, days: number) => new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);

/** Number of days from one YYYY-MM-DD to another, both included. */
export const daysBetween = (first: string, last: string) => Math.round((Date.parse(`${last}T00:00:00Z`) - Date.parse(`${first}T00:00:00Z`)) / DAY) + 1;

/** All days of a range; the API leaves out days without calls. */
export function allDays<Row extends { date: string }>(rows: readonly Row[], first: string, last: string): { date: string; row: Row | undefined }[] {
  const found = new Map(rows.map((row) => [row.date, row]));
  return Array.from({ length: Math.max(1, daysBetween(first, last)) }, (_, i) => shiftDay(first, i)).map((date) => ({ date, row: found.get(date) }));
}
