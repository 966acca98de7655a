import { type Advice, advise, hooktrail } from '../advice.ts';
import { UsageError } from '../errors.ts';
import { parseInstant } from './instant.ts';
import { parseTime } from './time-text.ts';

export function notATime(flag: string, text: string): UsageError {
  return new UsageError(`${flag}: invalid value '${text}': must be a time`, { next: timeAdvice(text) });
}

export function timeAdvice(text: string): Advice {
  const given = text.trim();
  return (
    adviceOnCapitalM(given) ??
    adviceOnMinus(given) ??
    adviceOnStrokes(given) ??
    advise`write a time as 2026-11-20 08:30, 08:00, 2h, 7d, yesterday or monday; see ${hooktrail('help times')}`
  );
}

/** `5M` is five months to some people and five minutes to others. */
function adviceOnCapitalM(given: string): string | undefined {
  const count = /^(\d{1,9})M( ago)?$/.exec(given)?.[1];
  return count && `write ${count}mo for months, ${count}m for minutes`;
}

/** Accepts a hyphen or a minus sign, as in `-2h`. */
function adviceOnMinus(given: string): string | undefined {
  const span = /^[-−](\d.*)/.exec(given)?.[1];
  if (span === undefined || parseTime(span)?.kind !== 'ago') return undefined;
  return `write ${span}: a span counts back from now`;
}

/**
 * Suggests both dates that `11/12/2026` may mean, since some people put the month first and others the day.
 */
function adviceOnStrokes(given: string): string | undefined {
  const [, one = '', other = '', year, rest = ''] =
    /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})(.*)/.exec(given) ?? [];
  const monthFirst = dateText(year, one, other);
  const dayFirst = dateText(year, other, one);
  const dates = new Set([monthFirst, dayFirst].filter((date) => date !== undefined));
  if (dates.size === 0) return undefined;
  return `write ${[...dates].map((date) => date + rest).join(' or ')}`;
}

/** Returns undefined if the calendar has no such day. */
function dateText(year: string | undefined, month: string, day: string): string | undefined {
  return parseInstant(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`)?.text;
}
