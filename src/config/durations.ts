import { UsageError } from '../errors.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** What Node's timers can wait. */
const LONGEST = 2_147_483_647;

/** A parser for a flag that takes a length of time such as 15s or 2m, in milliseconds; throws `UsageError`. */
export function duration(flag: string, lowest: number): (text: string) => number {
  return (text) => {
    const match = /^(\d{1,9})(ms|[smhd])$/.exec(text);
    const value = match ? Number(match[1]) * (UNITS[match[2] as string] as number) : Number.NaN;
    if (value >= lowest && value <= LONGEST) return value;
    throw new UsageError(
      `${flag}: '${text}' is not accepted: a length of time such as 15s, 2m or 1h, from ${durationText(lowest)} to 24d`,
    );
  };
}

/** A length of time in the largest unit that keeps it whole: `90s`, `2m`, `1h`. */
export function durationText(milliseconds: number): string {
  for (const name of ['d', 'h', 'm', 's']) {
    const size = UNITS[name] as number;
    if (milliseconds >= size && milliseconds % size === 0) return `${milliseconds / size}${name}`;
  }
  return milliseconds === 0 ? '0s' : `${milliseconds}ms`;
}
