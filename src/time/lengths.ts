export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w';

const UNIT_MS: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
};
/** Units for printing a length, the largest first. */
const PRINTED_UNITS = ['d', 'h', 'm', 's'] as const;

/**
 * Parses a length of time such as `15s` or `2m`; undefined for any other text. A bare number has the `bare`
 * unit, if given; zero needs none.
 */
export function durationMs(text: string, bare?: DurationUnit): number | undefined {
  const match = /^(\d{1,9})(ms|[smhdw])?$/.exec(text);
  if (!match) return undefined;
  const count = Number(match[1]);
  const unit = (match[2] as DurationUnit | undefined) ?? (count === 0 ? 's' : bare);
  return unit && count * UNIT_MS[unit];
}

/** Formats a length of time in the largest unit that keeps it whole: `90s`, `2m`, `1h`. */
export function durationText(lengthMs: number): string {
  for (const unit of PRINTED_UNITS) {
    const unitMs = UNIT_MS[unit];
    if (lengthMs >= unitMs && lengthMs % unitMs === 0) return `${lengthMs / unitMs}${unit}`;
  }
  return lengthMs === 0 ? '0s' : `${lengthMs}ms`;
}
