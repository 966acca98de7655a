import { UsageError } from '../errors.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import { parseTime, resolveTime } from '../time/time-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { type FieldPath, parseFieldPath } from './field-path.ts';
import type { Items } from './items.ts';
import { scalarEnd, stringEnd, stringText } from './json-bytes.ts';
import { createCursor, MISSING } from './json-cursor.ts';
import { compareNumbers, isNumber } from './json-number.ts';

const OPERATORS = ['!=', '<=', '>=', '=', '<', '>', '~'] as const;
type Operator = (typeof OPERATORS)[number];

/** A condition on a field of an item. */
export interface Condition {
  /** As it was given. */
  readonly text: string;
  readonly field: FieldPath;
  readonly operator: Operator;
  readonly value: string;
  /** True if the value was in quotes: it is a text, whatever it looks like. */
  readonly quoted: boolean;
  /** The value as a time, if it is one. */
  readonly instant: Instant | undefined;
}

/**
 * Reads `FIELD OP VALUE`. Times have the same forms as for `--since`, and are read in `zone` if they have no zone;
 * spans ago count from `now` (milliseconds since the epoch). Throws `UsageError` that names the flag.
 */
export function parseCondition(text: string, flag: string, now: number, zone: TimeZone = UTC): Condition {
  const match = /^((?:[^\\!=<>~]|\\.)*)(!=|<=|>=|=|<|>|~)([\s\S]*)$/u.exec(text);
  const wrong = (why: string) =>
    new UsageError(`${flag}: invalid value '${text}': ${why}`, {
      details: [`a condition is FIELD OP VALUE, where OP is one of ${OPERATORS.join(' ')}`],
      next: `write it as in ${flag} 'delivery.attempts >= 3' or ${flag} 'resource.name ~ contract'`,
    });
  if (!match) throw wrong('it has no operator');
  const [, name = '', operator, rest = ''] = match;
  if (name.trim() === '') throw wrong('it names no field');
  const field = parseFieldPath(name, flag);
  const value = rest.trim();
  // `a == b` and `a =~ b` are other languages' operators; a value that begins so is written in quotes.
  if (/^[=!<>~]/.test(value))
    throw wrong(
      `'${operator}${value[0]}' is no operator; put a value that begins with ${value[0]} in quotes`,
    );
  const quoted = /^"(?:[^"\\]|\\.)*"$/s.test(value);
  const time = quoted ? undefined : parseTime(value, zone);
  try {
    return {
      text,
      field,
      operator: operator as Operator,
      value: quoted ? (JSON.parse(value) as string) : value,
      quoted,
      instant: time && resolveTime(time, now),
    };
  } catch {
    throw wrong('the text in quotes is not a JSON string');
  }
}

/** Keeps the items for which all conditions hold and that have each text in a value or a name. */
export function itemFilter(
  conditions: readonly Condition[],
  texts: readonly string[],
): <Some extends Items>(items: Some) => Some {
  const cursor = createCursor(conditions.map(({ field }) => field));
  const tests = conditions.map(testOf);
  const finders = texts.map(finderOf);
  return (items) => {
    const { bytes, count } = items;
    const kept: number[] = [];
    for (let item = 0; item < count; item++) {
      const start = items.start(item);
      if (tests.length > 0) cursor.read(bytes, start);
      const holds =
        tests.every((test, path) =>
          test(bytes, cursor.starts[path] as number, cursor.ends[path] as number),
        ) && finders.every((find) => find(bytes, start, items.end(item)));
      if (holds) kept.push(item);
    }
    return kept.length === count ? items : (items.pick(kept) as typeof items);
  };
}

type Test = (bytes: Buffer, start: number, end: number) => boolean;

/** A missing field counts as null, which is neither smaller nor larger than anything and contains no text. */
function testOf({ operator, value, quoted, instant }: Condition): Test {
  const number = !quoted && isNumber(value) ? value : undefined;
  const wanted = value.toLowerCase();
  const compare: (bytes: Buffer, start: number, end: number) => number | undefined = (bytes, start, end) => {
    const isText = bytes[start] === 0x22;
    const text = isText ? stringText(bytes, start, end) : bytes.toString('utf8', start, end);
    if (text === value && (isText || !quoted)) return 0;
    if (number !== undefined && isNumber(text)) return compareNumbers(text, number);
    if (!isText) return undefined;
    const at: Instant | undefined = instant && parseInstant(text);
    if (instant && at) return compareInstants(at, instant);
    return text < value ? -1 : 1;
  };
  const isNull = (bytes: Buffer, start: number) => start === MISSING || bytes[start] === 0x6e;
  switch (operator) {
    case '~':
      return (bytes, start, end) =>
        !isNull(bytes, start) && textOf(bytes, start, end).toLowerCase().includes(wanted);
    case '=':
    case '!=': {
      const equal = operator === '=';
      return (bytes, start, end) => {
        const same = isNull(bytes, start) ? !quoted && value === 'null' : compare(bytes, start, end) === 0;
        return same === equal;
      };
    }
    default:
      return (bytes, start, end) => {
        const order = isNull(bytes, start) ? undefined : compare(bytes, start, end);
        if (order === undefined) return false;
        if (operator === '<') return order < 0;
        if (operator === '<=') return order <= 0;
        return operator === '>' ? order > 0 : order >= 0;
      };
  }
}

/** A string's characters, the JSON text of anything else. */
function textOf(bytes: Buffer, start: number, end: number): string {
  return bytes[start] === 0x22 ? stringText(bytes, start, end) : bytes.toString('utf8', start, end);
}

/** Characters that separate tokens, or that begin an escape inside a string. */
const STRUCTURE = /["\\{}[\],:]/;

/** Finds a text in the values and names of an item, in any case. */
function finderOf(wanted: string): Test {
  const lower = wanted.toLowerCase();
  const mayCrossTokens = STRUCTURE.test(wanted);
  return (bytes, start, end) => {
    const text = bytes.toString('utf8', start, end);
    if (!text.includes('\\')) {
      // Without escapes, the item's JSON text contains the text of all its values.
      if (!text.toLowerCase().includes(lower)) return false;
      if (!mayCrossTokens) return true;
    }
    for (let at = start; at < end; ) {
      const byte = bytes[at] as number;
      if (byte === 0x22) {
        const behind = stringEnd(bytes, at);
        if (stringText(bytes, at, behind).toLowerCase().includes(lower)) return true;
        at = behind;
      } else if (byte === 0x2c || byte === 0x3a || (byte | 0x20) === 0x7b || (byte | 0x20) === 0x7d) {
        at++;
      } else {
        const behind = scalarEnd(bytes, at);
        if (bytes.toString('latin1', at, behind).toLowerCase().includes(lower)) return true;
        at = behind;
      }
    }
    return false;
  };
}
