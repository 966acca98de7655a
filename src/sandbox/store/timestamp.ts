/**
 * A moment as the event service keeps it: milliseconds since the epoch and 100 ns ticks within the millisecond, seven
 * fractional digits in all. Two numbers, as one would not fit a double.
 */
export interface Moment {
  readonly ms: number;
  /** 0 to 9999. */
  readonly ticks: number;
}

/** A value to compare moments with; `beyond` says that it lies after the moment by less than a tick. */
export interface Bound extends Moment {
  readonly beyond: boolean;
}

const UTC = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?Z)?$/;

/**
 * Reads a UTC ISO 8601 date or date-time (service description, part 4), with any number of fractional digits.
 * Undefined when it is none, or no such day or time exists.
 */
export function parseBound(text: string): Bound | undefined {
  const parts = UTC.exec(text);
  if (!parts) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists =
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || hour > 23 || minute > 59 || second > 59) return undefined;
  const fraction = (parts[7] ?? '').padEnd(7, '0');
  return {
    ms: date.getTime() + hour * 3_600_000 + minute * 60_000 + second * 1000 + Number(fraction.slice(0, 3)),
    ticks: Number(fraction.slice(3, 7)),
    beyond: /[1-9]/.test(fraction.slice(7)),
  };
}

/** `2026-11-01T08:15:30.1234567Z` */
export function momentText({ ms, ticks }: Moment): string {
  return `${new Date(ms).toISOString().slice(0, -1)}${String(ticks).padStart(4, '0')}Z`;
}
