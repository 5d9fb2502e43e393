/** Absent value in tables and figures. */
export const NONE = "–";

const group = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 48,112 */
export function count(value: number | null | undefined): string {
  return value == null ? NONE : group.format(value);
}

/** A number and its unit apart, for figures: 1.41 and M. */
export function compactParts(value: number): { value: string; unit: string } {
  const steps: [number, string][] = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]];
  for (const [size, unit] of steps) {
    if (Math.abs(value) < size * (unit === "k" ? 10 : 1)) continue;
    const scaled = value / size;
    return { value: scaled.toFixed(scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2), unit };
  }
  return { value: group.format(value), unit: "" };
}

/** 1.41M, 186k, 9,420 */
export function compact(value: number | null | undefined): string {
  if (value == null) return NONE;
  const parts = compactParts(value);
  return parts.value.replace(/\.0+$/, "") + parts.unit;
}

const usd = (digits: number, least = digits) => new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: least, maximumFractionDigits: digits });
const whole = usd(0);
const cents = usd(2);

/** Cost of one call: four or five digits, $0 for nothing. */
export function callCost(value: number | null | undefined, options: { estimated?: boolean } = {}): string {
  if (value == null) return "unpriced";
  const text = value === 0 ? "$0" : value >= 1 ? cents.format(value) : value >= 0.001 ? `$${value.toFixed(4)}` : value >= 0.00001 ? `$${value.toFixed(5)}` : `$${Number(value.toPrecision(2))}`;
  return options.estimated ? `≈ ${text}` : text;
}

/** Money in tables: $1,106.32; "unpriced" when there is no price; five digits below one cent. */
export function money(value: number | null | undefined, options: { estimated?: boolean } = {}): string {
  if (value == null) return "unpriced";
  const text = value !== 0 && Math.abs(value) < 0.01 ? callCost(value) : cents.format(value);
  return options.estimated ? `≈ ${text}` : text;
}

/** Money in figures: $4,672 from a hundred dollars on, else as in tables. */
export function moneyFigure(value: number | null | undefined): string {
  if (value == null) return "unpriced";
  return Math.abs(value) >= 100 ? whole.format(value) : money(value);
}

/** A duration and its unit apart: 684 and ms. */
export function durationParts(ms: number): { value: string; unit: string } {
  if (ms < 1) return { value: ms === 0 ? "0" : ms.toFixed(2), unit: "ms" };
  if (ms < 1000) return { value: ms < 10 && ms % 1 ? ms.toFixed(1) : String(Math.round(ms)), unit: "ms" };
  if (ms < 60_000) return { value: (ms / 1000).toFixed(2), unit: "s" };
  if (ms < 3_600_000) return { value: (ms / 60_000).toFixed(1), unit: "min" };
  return { value: (ms / 3_600_000).toFixed(1), unit: "h" };
}

/** 412 ms, 2.87 s */
export function duration(ms: number | null | undefined): string {
  if (ms == null) return NONE;
  const parts = durationParts(ms);
  return `${parts.value} ${parts.unit}`;
}

/** 0.42% of a share between 0 and 1. */
export function percent(share: number | null | undefined, digits = 1): string {
  return share == null || !Number.isFinite(share) ? NONE : `${(share * 100).toFixed(digits)}%`;
}

/** A relative change without its sign: 12.4%, from ten times on 31×. */
export function changeText(change: number): string {
  return change >= 9 ? `${(change + 1).toFixed(0)}×` : `${Math.abs(change * 100).toFixed(1)}%`;
}

/** 3.2 MB */
export function bytes(value: number | null | undefined): string {
  if (value == null) return NONE;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

/** "1 key", "3 keys"; `many` for irregular plurals. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
