import { UsageError } from '../errors.ts';
import { nearest } from '../settings/nearest-word.ts';
import { quotedWord } from '../shell-words.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant, parseInstant, trimZeros } from '../time/instant.ts';
import { parseTime, resolveTime } from '../time/time-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { weekdayMeant } from './derived-values.ts';
import { MISSING } from './field-cursor.ts';
import { type FieldPath, parseFieldPath, pathText } from './field-path.ts';
import { FieldReader } from './field-reader.ts';
import type { Items } from './items.ts';
import { scalarEnd, stringEnd, stringText } from './json-scanner.ts';
import { noSuchField } from './near-field.ts';

const COMPARISONS = ['!=', '<=', '>=', '=', '<', '>', '~'] as const;
export type Operator = (typeof COMPARISONS)[number] | 'exists' | 'missing' | 'in';

/** A condition on a field of an item. */
export interface Condition {
  /** As it was given. */
  readonly text: string;
  readonly field: FieldPath;
  readonly operator: Operator;
  /** Empty for `exists` and `missing`. */
  readonly value: string;
  /** True if the value was in quotes: it is a text, whatever it looks like. */
  readonly quoted: boolean;
  /** The value as a time, if it is one. */
  readonly instant: Instant | undefined;
  /** Of `in`: what `=` has to hold for, with any one of the values. */
  readonly alternatives?: readonly Condition[];
}

/**
 * Reads the values of `in @FILE`, one a line. Throws `UsageError` where it cannot be read, or files are not
 * to be read.
 */
export type ReadValues = (file: string, flag: string) => readonly string[];

export const refuseFiles: ReadValues = (file, flag) => {
  throw new UsageError(`${flag}: @${file} names a file, and no files are read here`, {
    next: 'give the values themselves: FIELD in (a, b)',
  });
};

const NAME = String.raw`(?:[^\\!=<>~]|\\[\s\S])*`;
const CONDITION = new RegExp(`^\\s*(!(?!=))?(${NAME})(?:(!=|<=|>=|=|<|>|~)([\\s\\S]*))?$`, 'u');
/** `and`, `or`, `&&` or `||` between two conditions; a backslash makes the white space part of a name. */
const JOINT = /((?<=(?<!\\)\s)(?:and|or)(?=\s)|&&|\|\|)/i;

/**
 * Reads `FIELD OP VALUE`, `FIELD` (present) or `!FIELD` (absent). Times have the same forms as for `--since`,
 * and are read in `zone` if they have no zone; spans ago count from `now` (milliseconds since the epoch).
 * Throws `UsageError` that names the flag, for conditions joined in one text and for values that nothing can
 * be compared with too.
 */
export function parseCondition(
  text: string,
  flag: string,
  now: number,
  zone: TimeZone = UTC,
  readValues = refuseFiles,
): Condition {
  const wrong = (why: string, next = formOf(flag)) =>
    new UsageError(`${flag}: invalid value '${text}': ${why}`, {
      details: [
        `a condition is FIELD OP VALUE, where OP is one of ${COMPARISONS.join(' ')}; or FIELD; or !FIELD`,
      ],
      next,
    });
  const membership = IN.exec(text);
  if (membership) {
    const [, name = '', list] = membership;
    const field = parseFieldPath(name, flag, text);
    const values =
      list === undefined ? readValues((membership[3] as string).trim(), flag) : listedValues(list);
    if (values === undefined)
      throw wrong('the values in ( ) are parted by commas; one with a comma is in JSON quotes');
    if (values.length === 0) throw wrong('in needs a value', `write it as in ${flag} 'FIELD in (a, b)'`);
    const alternatives = values.map((value) => equality(field, value, flag, now, zone));
    return { text, field, operator: 'in', value: '', quoted: false, instant: undefined, alternatives };
  }
  const [whole, not, name = '', typed, behind = ''] = CONDITION.exec(text) ?? [];
  const rest = behind.trim();
  const quotation = quotedText(rest);
  if (JOINT.test(name) || (quotation === undefined && !isListOrObject(rest) && joinsConditions(rest))) {
    const pieces = text.split(JOINT).map((piece) => piece.trim());
    const [, word = ''] = pieces;
    const parts = pieces.filter((piece, index) => index % 2 === 0 && piece !== '');
    throw wrong(
      `${word} cannot join conditions in one ${flag}`,
      /or|\|/i.test(word)
        ? `several ${flag} must all hold; for either of them run the command once for each`
        : `give each a flag of its own: ${parts.map((part) => `${flag} ${quotedWord(part)}`).join(' ')}`,
    );
  }
  if (whole === undefined || (not && typed))
    throw wrong("'!' stands before a field alone, or before '=' in a comparison");
  if (name.trim() === '') throw wrong(text.trim() === '' ? 'it is empty' : 'it names no field');
  // A backslash makes the white space part of a name.
  const word = typed ? undefined : wordOfOtherLanguages(name);
  if (word !== undefined) throw wrong(`'${word}' is no operator`);
  const field = parseFieldPath(name, flag, text);
  if (!typed) {
    const operator = not ? 'missing' : 'exists';
    return { text, field, operator, value: '', quoted: false, instant: undefined };
  }
  const operator = typed as Operator;
  // `a == b` and `a =~ b` are other languages' operators; a value that begins so is written in quotes.
  if (/^[=!<>~]/.test(rest))
    throw wrong(
      `'${operator}${rest[0]}' is no operator; put a value that begins with ${rest[0]} in quotes`,
      operator + rest[0] === '==' ? `write ${flag} ${quotedWord(text.replace('==', '='))}` : undefined,
    );
  if (quotation === null) throw wrong('the text in quotes is not a JSON string');
  const quoted = quotation !== undefined;
  const value = quotation ?? rest;
  const isOrder = /[<>]/.test(operator);
  const isTime = field.steps.length === 1 && field.steps[0] === 'createdOn' && operator !== '~';
  // `= 20261120` means the number alone: a text with that date is another value.
  const mayBeTime = !quoted && !isDerived(field) && (isOrder || isTime || !isNumber(value));
  const time = mayBeTime ? parseTime(value, zone) : undefined;
  const instant = time && resolveTime(time, now);
  if (isOrder && field.walk?.derivation === 'weekday')
    throw wrong('weekdays have no order', `name them: ${flag} '${pathText(field)} in (Saturday, Sunday)'`);
  if (isOrder && !quoted && !instant && !isNumber(value))
    throw wrong(
      `${value === '' ? 'nothing' : `'${value}'`} is neither a number nor a time, so that nothing is ${operator.startsWith('<') ? 'less' : 'greater'}`,
      `compare with a number or a time, as in ${flag} 'eventData.body.pages > 20' or ${flag} 'createdOn < 2h'; a value in quotes compares as text`,
    );
  if (isTime && !instant && value !== 'null')
    throw wrong(
      `'${value}' is not a time`,
      `write a time as for --since, as in ${flag} 'createdOn < 2026-11-20 08:30'`,
    );
  return { text, field, operator, value, quoted, instant };
}

/** True for what is derived of a field: numbers and texts, none of them a time. */
function isDerived({ walk }: FieldPath): boolean {
  return walk?.derivation !== undefined;
}

/** `FIELD in (a, b)` and `FIELD in @FILE`; a backslash makes the white space part of a name. */
const IN = /^((?:[^\\!=<>~\s]|\\[\s\S]|[^\S\n](?!\s))+?)\s+in\s*(?:\(([\s\S]*)\)|@([\s\S]+))\s*$/i;

/** Throws `UsageError` for a condition whose values are to be read from a file. */
export function refuseFileOfValues(condition: string, flag: string): void {
  const file = IN.exec(condition)?.[3];
  if (file !== undefined) refuseFiles(file.trim(), flag);
}

/** A condition that holds where `FIELD = VALUE` does; the value may be in quotes. */
function equality(field: FieldPath, value: string, flag: string, now: number, zone: TimeZone): Condition {
  const quotation = quotedText(value);
  const quoted = typeof quotation === 'string';
  const plain = quoted ? quotation : value;
  const mayBeTime = !quoted && !isDerived(field) && !isNumber(plain);
  const time = mayBeTime ? parseTime(plain, zone) : undefined;
  const instant = time && resolveTime(time, now);
  return { text: `${flag} ${value}`, field, operator: '=', value: plain, quoted, instant };
}

/** The values of `(a, "b, c")`; undefined if a text in quotes does not end where a comma or the list does. */
function listedValues(list: string): string[] | undefined {
  const values: string[] = [];
  const value = /\s*("(?:[^"\\]|\\.)*"|'[^']*'|(?:[^,"'\s][^,]*)?)\s*(,|$)/y;
  if (list.trim() === '') return values;
  for (;;) {
    const [, text = '', end] = value.exec(list) ?? [];
    if (end === undefined || (text.trim() === '' && text === '')) return undefined;
    values.push(text.trim());
    if (end === '') return values;
  }
}

/**
 * A word that other languages compare with, behind a name: `contains x`, `like x`, `in x`, `is x`, `exists`
 * at the end.
 */
function wordOfOtherLanguages(name: string): string | undefined {
  const words = name.trim().split(/\s+/);
  for (const [index, word] of words.entries()) {
    if (index === 0 || words[index - 1]?.endsWith('\\')) continue;
    const isLast = index === words.length - 1;
    if (isLast ? /^exists$/i.test(word) : /^(contains|like|in|is)$/i.test(word)) return word;
  }
  return undefined;
}

function formOf(flag: string): string {
  return `write it as in ${flag} 'eventData.body.pages > 20', ${flag} 'eventType ~ signed' or ${flag} '!eventData.partition'`;
}

/**
 * The text in quotes: JSON's double ones, or single ones as in SQL; undefined without quotes, null if JSON
 * refuses it.
 */
function quotedText(value: string): string | null | undefined {
  if (/^'[^']*'$/.test(value)) return value.slice(1, -1);
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(value)) return undefined;
  try {
    return JSON.parse(value) as string;
  } catch {
    return null;
  }
}

/** True if a value is a whole list or object of JSON, whose texts may read like conditions. */
function isListOrObject(value: string): boolean {
  try {
    return typeof JSON.parse(value) === 'object';
  } catch {
    return false;
  }
}

/** True if a value goes on with another condition. Text such as `Smith and Sons` does not. */
function joinsConditions(value: string): boolean {
  const [joint = ''] = JOINT.exec(value) ?? [];
  return /[&|]/.test(joint) || /[=<>~]|^!/.test(value.split(JOINT).slice(2).join('').trim());
}

/**
 * The text of a condition, which `parseCondition` reads as the same one again. `value` is the text of a
 * string in an item, or, with `isText` false, the JSON text of a number or a literal.
 */
export function conditionText(field: FieldPath, operator: Operator, value = '', isText = true): string {
  const name = pathText(field);
  if (operator === 'exists') return name;
  if (operator === 'missing') return `!${name}`;
  // A text that could be taken for anything else is quoted.
  const isPlain =
    !isText ||
    (/^[\p{L}\p{N}][\p{L}\p{N}\p{M} ./_:@-]*$/u.test(value) &&
      value.trim() === value &&
      !/\s(and|or)\s/i.test(value) &&
      !isNumber(value) &&
      !/^(null|true|false)$/.test(value) &&
      (isDerived(field) || !parseTime(value)));
  return `${name} ${operator} ${isPlain ? value : JSON.stringify(value)}`;
}

/**
 * A condition that compares with a JSON value; `json` is its JSON text, and nothing for `exists` and
 * `missing`.
 */
export function conditionOn(field: FieldPath, operator: Operator, json?: string): Condition {
  const quoted = json?.startsWith('"') ?? false;
  const value = quoted ? (JSON.parse(json as string) as string) : (json ?? '');
  const text = conditionText(field, operator, value, quoted);
  return { text, field, operator, value, quoted, instant: undefined };
}

/**
 * Keeps the items for which all conditions hold and that have any of the texts, if there are some, in a value
 * or a name.
 */
export interface KeepItems {
  <Some extends Items>(items: Some): Some;
  /** Returns a warning for each field or value of the conditions that none of the items seen so far has. */
  doubts(): string[];
}

/** Hours and weekdays that conditions are about are those of `zone`. */
export function itemFilter(
  conditions: readonly Condition[],
  texts: readonly string[],
  zone = UTC,
  flag = '--where',
): KeepItems {
  const fields = conditions.map(({ field }) => field);
  const reader = new FieldReader(fields, zone);
  const trials = conditions.map((condition) => new Trial(condition));
  let sample: Items | undefined;
  const finders = texts.map(finderOf);
  const keep = <Some extends Items>(items: Some): Some => {
    const { bytes, count } = items;
    if (count > 0) sample ??= items;
    const kept: number[] = [];
    for (let item = 0; item < count; item++) {
      const start = items.start(item);
      if (trials.length > 0) reader.read(bytes, start);
      let holds = true;
      for (const [field, trial] of trials.entries())
        if (holds || trial.isUnsure) holds = trial.holds(reader, field) && holds;
      // Of several texts any one is enough.
      if (holds && (finders.length === 0 || finders.some((find) => find(bytes, start, items.end(item)))))
        kept.push(item);
    }
    return kept.length === count ? items : (items.pick(kept) as typeof items);
  };
  return Object.assign(keep, {
    doubts: () => (sample ? trials.flatMap((trial) => trial.doubt(flag, sample as Items) ?? []) : []),
  });
}

const HOLDS: Readonly<Record<'=' | '<' | '<=' | '>' | '>=', (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** The operators that hold where no value fulfils another, each with that other. */
const OPPOSITES: Readonly<Record<string, Operator>> = { '!=': '=', missing: 'exists' };

/**
 * Tries a condition on the values of events, and notes what shows that its field and its value are well
 * chosen.
 */
class Trial {
  readonly #condition: Condition;
  readonly #compare: Comparison;
  readonly #lower: string;
  isUnsure = true;
  #isPresent = false;
  /** Undefined while no value tells. */
  #isComparable: boolean | undefined;
  /** A value that is the condition's in another case. */
  #similar: string | undefined;
  /** Some of the other texts, of which one near the condition's may have been meant. */
  readonly #others = new Set<string>();
  #seen = 0;
  readonly #isAny: (bytes: Buffer, start: number, end: number) => boolean;
  /** What any value has to fulfil, or with an opposite none. */
  readonly #operator: Operator;
  readonly #isOpposite: boolean;
  /** Of the event that is tried. */
  #isFulfilled = false;

  constructor(condition: Condition) {
    this.#condition = condition;
    this.#compare = comparisonWith(condition);
    this.#isAny = membershipOf(condition.alternatives ?? []);
    this.#lower = condition.value.toLowerCase();
    this.#operator = OPPOSITES[condition.operator] ?? condition.operator;
    this.#isOpposite = this.#operator !== condition.operator;
  }

  /** True if the condition holds for the event that was read: any of the values of its field is enough. */
  holds(reader: FieldReader, field: number): boolean {
    if (this.isUnsure) this.#seen++;
    this.#isFulfilled = false;
    reader.each(field, this.#try);
    return this.#isFulfilled !== this.#isOpposite;
  }

  readonly #try = (bytes: Buffer, start: number, end: number): void => {
    if (start !== MISSING) this.#isPresent = true;
    if (this.#isFulfilled && !this.isUnsure) return;
    if (this.#fulfils(bytes, start, end)) this.#isFulfilled = true;
  };

  /**
   * A missing field counts as null, which is neither smaller nor larger than anything and contains no text.
   */
  #fulfils(bytes: Buffer, start: number, end: number): boolean {
    const operator = this.#operator;
    if (operator === 'exists' || operator === '~' || operator === 'in') {
      if (this.#isPresent) this.isUnsure = false;
      if (operator === 'in') return this.#isAny(bytes, start, end);
      const isNull = start === MISSING || bytes[start] === 0x6e;
      if (operator === 'exists') return !isNull;
      return !isNull && textOf(bytes, start, end).toLowerCase().includes(this.#lower);
    }
    const order = this.#compare(bytes, start, end);
    if (this.isUnsure && start !== MISSING) this.#note(order, bytes, start, end);
    return HOLDS[operator as keyof typeof HOLDS](order ?? Number.NaN);
  }

  #note(order: number | undefined, bytes: Buffer, start: number, end: number): void {
    const isEquality = /^!?=$/.test(this.#condition.operator);
    // A null that was not asked for does not tell what kind of value the field has.
    if (isEquality && order !== 0 && bytes[start] === 0x6e) return;
    this.#isComparable ||= order !== undefined && (isEquality || !Number.isNaN(order));
    if (isEquality ? order === 0 : this.#isComparable) this.isUnsure = false;
    else if (isEquality && (bytes[start] === 0x22 || !this.#condition.quoted)) {
      const text = textOf(bytes, start, end);
      if (text.toLowerCase() === this.#lower) this.#similar ??= text;
      else if (bytes[start] === 0x22) this.#keepForNear(text);
    }
  }

  #keepForNear(text: string): void {
    if (text.length <= LONGEST_NEAR_CHARACTERS && this.#others.size < MOST_NEAR) this.#others.add(text);
  }

  /** A text of the field that holds the condition's as a part, or else the nearest. */
  #nearValue(): string | undefined {
    const { operator, value, quoted } = this.#condition;
    const isOfText = quoted || !isNumber(value);
    if (!/^!?=$/.test(operator) || !isOfText || this.#lower.length < 3) return undefined;
    const texts = [...this.#others];
    return texts.find((text) => text.toLowerCase().includes(this.#lower)) ?? nearest(value, texts);
  }

  doubt(flag: string, sample: Items): string | undefined {
    if (!this.isUnsure) return undefined;
    const { field, value, quoted, operator } = this.#condition;
    const looked = ` (${eventsText(this.#seen)} looked at)`;
    if (!this.#isPresent) return `${flag}: ${noSuchField(field, sample)}${looked}`;
    const none = `${flag}: no event has '${value}' in ${field.text}`;
    if (operator === '=' && value.includes(',') && !quoted)
      return `${none}; for any of several values write ${flag} ${quotedWord(`${field.text} in (${value})`)}${looked}`;
    const near = this.#similar ?? this.#nearValue();
    if (near !== undefined) return `${none}; did you mean ${near}?${looked}`;
    if (this.#isComparable !== false) return undefined;
    return `${flag}: no event has a value in ${field.text} that compares with ${quoted ? `the text "${value}"` : value}`;
  }
}

/** Texts of an item that are kept to find a near one among them, and how long they may be. */
const MOST_NEAR = 1000;
const LONGEST_NEAR_CHARACTERS = 100;

/**
 * Tells whether a value of an item is that of any of some equalities. Texts, of which there may be many, are
 * looked up.
 */
function membershipOf(
  equalities: readonly Condition[],
): (bytes: Buffer, start: number, end: number) => boolean {
  const texts = new Set(equalities.map(({ value }) => value));
  const others = equalities.filter((equality) => !isPlainText(equality)).map(comparisonWith);
  return (bytes, start, end) => {
    if (start !== MISSING && bytes[start] === 0x22 && texts.has(stringText(bytes, start, end))) return true;
    return others.some((compare) => compare(bytes, start, end) === 0);
  };
}

/** True if a condition's value is equal to the same text and to nothing else. */
function isPlainText(condition: Condition): boolean {
  const { value, quoted, instant } = condition;
  if (instant !== undefined || derivedValue(condition) !== undefined) return false;
  return quoted || !(isNumber(value) || /^(true|false|null)$/.test(value));
}

/** The value that people mean by another of a derived field: `mon` by Monday, `08` by the hour 8. */
function derivedValue({ field, value }: Condition): string | undefined {
  const derivation = field.walk?.derivation;
  if (derivation === 'weekday') return weekdayMeant(value);
  return derivation === 'hour' ? /^0(\d)$/.exec(value)?.[1] : undefined;
}

/**
 * Compares a value of an item with that of the condition: negative, 0 or positive; `NaN` for values that
 * differ and have no order, such as texts without quotes; undefined for those of kinds that nothing compares.
 */
type Comparison = (bytes: Buffer, start: number, end: number) => number | undefined;

function comparisonWith(condition: Condition): Comparison {
  const { value, quoted, instant } = condition;
  const number = !quoted && isNumber(value);
  const isLiteral = /^(true|false|null)$/.test(value);
  const derived = derivedValue(condition);
  return (bytes, start, end) => {
    if (start === MISSING || bytes[start] === 0x6e) return value === 'null' && !quoted ? 0 : Number.NaN;
    const isText = bytes[start] === 0x22;
    const text = textOf(bytes, start, end);
    if (text === value && (isText || !quoted)) return 0;
    if (text === derived) return 0;
    if (number && isNumber(text)) return compareNumbers(text, value);
    if (!isText) return !quoted && isLiteral && /^(true|false)$/.test(text) ? Number.NaN : undefined;
    const at = instant && parseInstant(text);
    if (instant && at) return compareInstants(at, instant);
    if (!quoted) return Number.NaN;
    return text < value ? -1 : 1;
  };
}

/** A string's characters, the JSON text of anything else. */
function textOf(bytes: Buffer, start: number, end: number): string {
  return bytes[start] === 0x22 ? stringText(bytes, start, end) : bytes.toString('utf8', start, end);
}

/** Characters that separate tokens, or that begin an escape inside a string. */
const STRUCTURE = /["\\{}[\],:]/;

/** Finds a text in the values and names of an item, in any case. */
function finderOf(wanted: string): (bytes: Buffer, start: number, end: number) => boolean {
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

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;

/** True if a text is a number as JSON writes it (RFC 8259 section 6). */
export function isNumber(text: string): boolean {
  return NUMBER.test(text);
}

/**
 * An exact number: `0.digits` times ten to the `magnitude`, without zeros at either end of the digits. Zero
 * has no digits.
 */
interface Decimal {
  readonly sign: number;
  readonly digits: string;
  readonly magnitude: bigint;
}

/** The value of a JSON text. A number that JavaScript cannot hold as it is written stays a text. */
export function exactValue(json: string): unknown {
  const value: unknown = JSON.parse(json);
  const isLost =
    typeof value === 'number' && (!Number.isFinite(value) || compareNumbers(json, String(value)) !== 0);
  return isLost ? json : value;
}

/** Negative if JSON number `a` is smaller, positive if it is larger; exact for numbers of any size. */
export function compareNumbers(a: string, b: string): number {
  const [one, other] = [decimal(a), decimal(b)];
  if (one.sign !== other.sign) return one.sign - other.sign;
  if (one.magnitude !== other.magnitude) return one.magnitude < other.magnitude ? -one.sign : one.sign;
  if (one.digits === other.digits) return 0;
  // Digits after the point compare as texts do.
  return one.digits < other.digits ? -one.sign : one.sign;
}

/** One form of the many that a JSON number has, with all its digits. */
export function normalNumber(text: string): string {
  const { sign, digits, magnitude } = decimal(text);
  const places = Number(magnitude);
  const minus = sign < 0 ? '-' : '';
  const parted = (whole: string, fraction: string) => minus + whole + (fraction && `.${fraction}`);
  if (sign === 0) return '0';
  if (places > 0 && places <= 30)
    return parted(digits.slice(0, places).padEnd(places, '0'), digits.slice(places));
  return `${parted(digits.slice(0, 1), digits.slice(1))}e${magnitude - 1n}`;
}

function decimal(text: string): Decimal {
  const [, minus, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) as RegExpExecArray;
  const all = whole + fraction;
  const digits = all.replace(/^0+/, '');
  if (digits === '') return { sign: 0, digits: '', magnitude: 0n };
  const magnitude = BigInt(exponent) + BigInt(whole.length - (all.length - digits.length));
  return { sign: minus ? -1 : 1, digits: trimZeros(digits), magnitude };
}
