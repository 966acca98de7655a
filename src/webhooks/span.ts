import { UsageError } from '../errors.ts';

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A parser for a flag that takes a length of time such as `90s`, `12h` or `30d`; the result is in milliseconds. */
export function span(flag: string): (text: string) => number {
  return (text) => {
    const [, digits, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
    const length = Number(digits) * (UNITS[unit] as number);
    if (digits !== undefined && length > 0) return length;
    throw new UsageError(`${flag}: '${text}' is not accepted: a length of time such as 90s, 12h or 30d`);
  };
}
