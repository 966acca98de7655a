import { type Moment, readDateTime, wallMoment } from '../time/date-time.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import type { ConditionDoubt } from './condition-doubt.ts';
import { derivationFacts } from './derived-values.ts';
import { isNumber, isNumberOrLiteral, numberComparison } from './exact-numbers.ts';
import { MISSING } from './field-cursor.ts';
import type { FieldReader } from './field-reader.ts';
import type { Condition, Operator } from './item-conditions.ts';
import { NULL, QUOTE, rawText, stringText } from './json-scanner.ts';
import { comparableForm } from './value-texts.ts';

/** Different without an order: no comparison with 0 holds for it. */
const UNEQUAL = Number.NaN;

const OPPOSITES: ReadonlySet<Operator> = new Set(['!=', 'missing', 'not in']);

const HOLDS: Readonly<Partial<Record<Operator, (order: number) => boolean>>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

export class ConditionMatch {
  readonly #compare: Comparison;
  readonly #isOpposite: boolean;
  readonly #accepts: (order: number) => boolean;
  readonly #doubt: ConditionDoubt | undefined;
  #isFulfilled = false;

  /** An open `doubt` sees every value. */
  constructor(condition: Condition, doubt?: ConditionDoubt) {
    this.#compare = comparisonOf(condition);
    this.#isOpposite = OPPOSITES.has(condition.operator);
    this.#accepts = HOLDS[condition.operator] ?? ((order) => order === 0);
    this.#doubt = doubt;
  }

  /** Any value of the field is enough. */
  holds(reader: FieldReader, field: number): boolean {
    this.#isFulfilled = false;
    this.#doubt?.countEvent();
    reader.each(field, this.#try);
    return this.#isFulfilled !== this.#isOpposite;
  }

  readonly #try = (bytes: Buffer, start: number, end: number): void => {
    const isDoubted = this.#doubt?.isOpen === true;
    if (this.#isFulfilled && !isDoubted) return;
    const order = this.#compare(bytes, start, end);
    if (isDoubted && start !== MISSING) this.#doubt?.see(order, bytes, start, end);
    if (this.#accepts(order ?? Number.NaN)) this.#isFulfilled = true;
  };
}

/**
 * Compares an item's value (`MISSING` if absent) with the condition's: negative, 0 or positive; `NaN` if they
 * differ without an order, undefined if their kinds never compare.
 */
type Comparison = (bytes: Buffer, start: number, end: number) => number | undefined;

/** For operators without an order, 0 means that the value fulfils the condition. */
function comparisonOf(condition: Condition): Comparison {
  switch (condition.operator) {
    case 'exists':
    case 'missing':
      return (bytes, start) => (isNull(bytes, start) ? UNEQUAL : 0);
    case '~':
      return containment(condition);
    case 'in':
    case 'not in':
      return membership(condition);
    default:
      return comparisonWith(condition);
  }
}

/** A missing field counts as null. */
function isNull(bytes: Buffer, start: number): boolean {
  return start === MISSING || bytes[start] === NULL;
}

/** Null contains no text. */
function containment({ value }: Condition): Comparison {
  const formOf = comparableForm(value);
  const form = formOf(value);
  return (bytes, start, end) => {
    if (isNull(bytes, start)) return UNEQUAL;
    return formOf(rawText(bytes, start, end)).includes(form) ? 0 : UNEQUAL;
  };
}

/** Looks texts up in a set, since a list may have many. */
function membership({ alternatives = [] }: Condition): Comparison {
  const texts = new Set(alternatives.map(({ value }) => value));
  const others = alternatives.filter((equality) => !equalsOneText(equality)).map(comparisonWith);
  return (bytes, start, end) => {
    const isText = start !== MISSING && bytes[start] === QUOTE;
    if (isText && texts.has(stringText(bytes, start, end))) return 0;
    return others.some((compare) => compare(bytes, start, end) === 0) ? 0 : UNEQUAL;
  };
}

function equalsOneText(condition: Condition): boolean {
  const { value, quoted, instant } = condition;
  if (instant !== undefined || derivedValue(condition) !== undefined) return false;
  return quoted || !isNumberOrLiteral(value);
}

/** The canonical form of a derived value: `mon` is Monday, `08` is the hour 8, domains are in lower case. */
function derivedValue({ field, value }: Condition): string | undefined {
  const derivation = field.walk?.derivation;
  const meant = derivation && derivationFacts(derivation).meant?.(value);
  return meant === value ? undefined : meant;
}

/** Null is neither smaller nor larger than anything. */
function comparisonWith(condition: Condition): Comparison {
  const { value, quoted, ignoresCase } = condition;
  if (ignoresCase) return caselessEquality(value);
  const orderOfNull = value === 'null' && !quoted ? 0 : UNEQUAL;
  const derived = derivedValue(condition);
  const orderOf = orderOfOthers(condition);
  return (bytes, start, end) => {
    if (isNull(bytes, start)) return orderOfNull;
    const isText = bytes[start] === QUOTE;
    const text = rawText(bytes, start, end);
    const isSame = text === value && (isText || !quoted);
    return isSame || text === derived ? 0 : orderOf(text, isText);
  };
}

function caselessEquality(value: string): Comparison {
  const wanted = value.toLowerCase();
  return (bytes, start, end) =>
    !isNull(bytes, start) && rawText(bytes, start, end).toLowerCase() === wanted ? 0 : UNEQUAL;
}

/** Compares values written differently: `text` is a string's characters if `isText`, otherwise JSON. */
type OrderOf = (text: string, isText: boolean) => number | undefined;

function orderOfOthers({ value, quoted, instant, wall }: Condition): OrderOf {
  const isLiteral = !quoted && /^(true|false|null)$/.test(value);
  const ofJson = (json: string) => (isLiteral && /^(true|false)$/.test(json) ? UNEQUAL : undefined);
  const ofText = (text: string) => {
    const order = instant && orderOfTime(text, instant, wall);
    if (order !== undefined) return order;
    if (!quoted) return UNEQUAL;
    return text < value ? -1 : 1;
  };
  const byKind: OrderOf = (text, isText) => (isText ? ofText(text) : ofJson(text));
  if (quoted || !isNumber(value)) return byKind;
  const compare = numberComparison(value);
  return (text, isText) => compare(text) ?? byKind(text, isText);
}

/** Undefined if the text is not a time. Without an offset it is local time with `wall`, otherwise UTC. */
function orderOfTime(text: string, instant: Instant, wall: Moment | undefined): number | undefined {
  const read = wall && readDateTime(text);
  if (read && read.zone === undefined) return compareInstants(wallMoment(read), wall);
  const time = parseInstant(text);
  return time && compareInstants(time, instant);
}
