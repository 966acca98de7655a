import { type Advice, advise, hooktrail } from '../advice.ts';
import { parseInstant } from './instant.ts';
import { parseTime } from './time-text.ts';

/** Returns the form to type instead of a text that is not a point in time. */
export function timeAdvice(text: string): Advice {
  const given = text.trim();
  const month = /^(\d{1,9})M( ago)?$/.exec(given)?.[1];
  if (month !== undefined) return `write ${month}mo for months, ${month}m for minutes`;
  const negative = /^[-−](\d.*)/.exec(given)?.[1];
  if (negative !== undefined && parseTime(negative)?.kind === 'ago')
    return `write ${negative}: a span counts back from now`;
  const [, one = '', other = '', year, rest = ''] =
    /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})(.*)/.exec(given) ?? [];
  const two = (number: string) => number.padStart(2, '0');
  const dates = [
    [one, other],
    [other, one],
  ].flatMap(([m = '', d = '']) => parseInstant(`${year}-${two(m)}-${two(d)}`)?.text ?? []);
  if (dates.length > 0) return `write ${[...new Set(dates)].map((date) => date + rest).join(' or ')}`;
  return advise`write a time as 2026-11-20 08:30, 08:00, 2h, 7d, yesterday or monday; see ${hooktrail('help times')}`;
}
