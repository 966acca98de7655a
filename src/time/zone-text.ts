import { offsetMsIn } from './date-time.ts';
import type { Zone } from './resolve-time.ts';
import { type TimeTokens, wordsFor } from './time-tokens.ts';
import { TimeZone, zoneNamed } from './time-zone.ts';

/** The zones named in RFC 2822 (section 4.3), and those of central Europe. */
const ABBREVIATIONS = wordsFor(
  ['z gmt utc ut', 'Z'],
  ['cet', '+01:00'],
  ['cest', '+02:00'],
  ['est', '-05:00'],
  ['edt', '-04:00'],
  ['cst', '-06:00'],
  ['cdt', '-05:00'],
  ['mst', '-07:00'],
  ['mdt', '-06:00'],
  ['pst', '-08:00'],
  ['pdt', '-07:00'],
);
const PREFIXES = wordsFor(['gmt utc', true]);

export function readZone(tokens: TimeTokens): Zone | undefined {
  return tokens.attempt(() => {
    tokens.sign(' ');
    return readOffset(tokens) ?? readZoneName(tokens);
  });
}

/** `+02`, `+0200`, `+02:00`, and after `UTC` or `GMT` also `+2` and `+5:30`. */
function readOffset(tokens: TimeTokens): string | undefined {
  return tokens.attempt(() => {
    const hasPrefix = tokens.word(PREFIXES) !== undefined;
    const sign = tokens.sign('+', '-');
    const digits = sign && readOffsetDigits(tokens, hasPrefix ? 1 : 2);
    const offset = `${sign}${digits}`;
    return digits === undefined || Number.isNaN(offsetMsIn(offset)) ? undefined : offset;
  });
}

/** Returns `02:00` for `0200`, `02:00` and `02`. */
function readOffsetDigits(tokens: TimeTokens, fewestDigits: number): string | undefined {
  const together = tokens.number(4);
  if (together !== undefined) return `${together.slice(0, 2)}:${together.slice(2)}`;
  const hours = tokens.number(fewestDigits, 2);
  const minutes = (hours && tokens.numberAfter(':', 2)) ?? '00';
  return hours && `${hours.padStart(2, '0')}:${minutes}`;
}

/** Reads `CET`, or a name of the IANA database, which has a slash: `Europe/Berlin`, `Etc/GMT+5`. */
function readZoneName(tokens: TimeTokens): Zone | undefined {
  let text = '';
  while (tokens.next !== undefined && tokens.next !== ' ') text += tokens.any();
  if (!text.includes('/')) return ABBREVIATIONS.get(text.toLowerCase());
  const name = zoneNamed(text);
  return name === undefined ? undefined : new TimeZone(name);
}
