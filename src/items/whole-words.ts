import { pathText } from './field-path.ts';
import { isObject } from './items.ts';
import {
  ARRAY,
  ARRAY_CLOSE,
  COLON,
  COMMA,
  NULL,
  OBJECT,
  OBJECT_CLOSE,
  someToken,
  stringText,
  valueText,
} from './json-scanner.ts';
import { eventMember, isKnownName } from './known-fields.ts';
import { comparableForm } from './value-texts.ts';

const CLOSERS: readonly number[] = [ARRAY_CLOSE, OBJECT_CLOSE];

/** A GUID or a time is one word, so `4711` does not match inside it. */
const ONE_WORD = new RegExp(
  [
    '(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])',
    String.raw`\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`,
    String.raw`(?<!\d)\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?!\d)`,
  ].join('|'),
  'gi',
);

/** Matches whole words in any case and normalization, not inside longer words, numbers, times or GUIDs. */
export function wordMatcher(wanted: string): (value: string) => boolean {
  const formOf = comparableForm(wanted);
  const text = formOf(wanted);
  const before = /^[\p{L}\p{M}\p{N}_]/u.test(text) ? String.raw`(?<![\p{L}\p{M}\p{N}_])` : '';
  const behind = /[\p{L}\p{M}\p{N}_]$/u.test(text) ? String.raw`(?![\p{L}\p{M}\p{N}_])` : '';
  // A point between digits belongs to the number.
  const beforeNumber = /^\d/.test(text) ? String.raw`(?<!\d\.)` : '';
  const behindNumber = /\d$/.test(text) ? String.raw`(?!\.\d)` : '';
  const exact = text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  const word = new RegExp(before + beforeNumber + exact + behindNumber + behind, 'giu');
  return (typed) => {
    const value = formOf(typed);
    const found = [...value.matchAll(word)];
    if (found.length === 0) return false;
    const longer = [...value.matchAll(ONE_WORD)].map((one) => spanOf(one));
    return found.map(spanOf).some((match) => longer.every((one) => isApart(match, one)));
  };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function spanOf(match: RegExpMatchArray): Span {
  const start = match.index as number;
  return { start, end: start + match[0].length };
}

function isApart(match: Span, longer: Span): boolean {
  const isOutside = match.end <= longer.start || match.start >= longer.end;
  return isOutside || (match.start <= longer.start && match.end >= longer.end);
}

/** The path, as `--where` takes it, of the first text, number or literal that matches. Skips member names. */
export function findField(
  bytes: Buffer,
  start: number,
  end: number,
  holds: (value: string) => boolean,
): string | undefined {
  const steps: Steps = [];
  const isMatch = (at: number, to: number) => {
    if (bytes[to] !== COLON) return bytes[at] !== NULL && holds(valueText(bytes, at, to));
    steps[steps.length - 1] = stringText(bytes, at, to);
    return false;
  };
  const isFound = someToken(bytes, start, end, isMatch, (byte) => follow(steps, byte));
  return isFound ? fieldName(steps.map(String), bytes, start, end) : undefined;
}

type Steps = (string | number)[];

function follow(steps: Steps, byte: number): void {
  const last = steps.at(-1);
  if (byte === OBJECT) steps.push('');
  else if (byte === ARRAY) steps.push(0);
  else if (CLOSERS.includes(byte)) steps.pop();
  else if (byte === COMMA && typeof last === 'number') steps[steps.length - 1] = last + 1;
}

function fieldName(steps: readonly string[], bytes: Buffer, start: number, end: number): string {
  const [member, name = ''] = steps;
  if (steps.length !== 2 || !isKnownName(name)) return pathText({ steps });
  const item: unknown = JSON.parse(bytes.toString('utf8', start, end));
  const isShort = isObject(item) && eventMember(item) === member && (item[name] ?? null) === null;
  return isShort ? name : pathText({ steps });
}
