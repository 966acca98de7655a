import { nearest } from '../settings/nearest-word.ts';
import { quotedWord } from '../shell-words.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import { milliseconds } from '../time/instant.ts';
import { isNumber } from './exact-numbers.ts';
import { type FieldPath, pathText } from './field-path.ts';
import type { Condition, Operator } from './item-conditions.ts';
import type { Items } from './items.ts';
import { NULL, QUOTE, rawText } from './json-scanner.ts';
import { noSuchField } from './near-field.ts';

/** Maximum texts kept as suggestions, and their maximum length. */
const MAX_NEAR = 1000;
const LONGEST_NEAR_CHARACTERS = 100;
/** Maximum values of a list to suggest a text for. */
const MAX_WANTED_NEAR = 20;
/** Shorter texts resemble too many others. */
const SHORTEST_NEAR_CHARACTERS = 3;

/** Suspects that no event has a condition's field or value, until a value shows otherwise. */
export class ConditionDoubt {
  isOpen = true;
  readonly #field: FieldPath;
  /** Undefined if any value of the field is enough. */
  readonly #ofValues: ValueDoubt | undefined;
  #events = 0;
  #isPresent = false;

  constructor(condition: Condition) {
    this.#field = condition.field;
    this.#ofValues = valueDoubt(condition);
  }

  countEvent(): void {
    this.#events++;
  }

  /** `order`: of the value and the condition's, as `ConditionMatch` compares them. */
  see(order: number | undefined, bytes: Buffer, start: number, end: number): void {
    this.#isPresent = true;
    this.isOpen = this.#ofValues?.see(order, bytes, start, end) ?? false;
  }

  /** Takes suggestions from the sample; undefined if nothing is wrong. */
  warning(flag: string, sample: Items): string | undefined {
    if (!this.isOpen) return undefined;
    const looked = ` (${eventsText(this.#events)} looked at)`;
    if (!this.#isPresent) return `${flag}: ${noSuchField(this.#field, sample)}${looked}`;
    return this.#ofValues?.warning(flag, looked);
  }
}

interface ValueDoubt {
  /** Returns false once a value has settled the doubt. */
  see(order: number | undefined, bytes: Buffer, start: number, end: number): boolean;
  warning(flag: string, looked: string): string | undefined;
}

function valueDoubt(condition: Condition): ValueDoubt | undefined {
  const { operator } = condition;
  if (/^(!?=|(not )?in)$/.test(operator)) return new EqualityDoubt(condition);
  return /[<>]/.test(operator) ? new OrderDoubt(condition) : undefined;
}

function nothingCompares(flag: string, { field, value, quoted }: Condition): string {
  return `${flag}: no event has a value in ${field.text} that compares with ${quoted ? `the text "${value}"` : value}`;
}

/** Suspects that no value equals the condition's, and keeps texts that may have been meant. */
class EqualityDoubt implements ValueDoubt {
  readonly #condition: Condition;
  readonly #wanted: readonly Pick<Condition, 'value' | 'quoted'>[];
  readonly #wantedLower: ReadonlySet<string>;
  /** Undefined until a value decides it. */
  #isComparable: boolean | undefined;
  /** A value that differs from the condition's only in case. */
  #similar: string | undefined;
  readonly #others = new Set<string>();

  constructor(condition: Condition) {
    this.#condition = condition;
    this.#wanted = condition.alternatives ?? [condition];
    this.#wantedLower = new Set(this.#wanted.map(({ value }) => value.toLowerCase()));
  }

  see(order: number | undefined, bytes: Buffer, start: number, end: number): boolean {
    if (order === 0) return false;
    // A null does not reveal the field's type, unless the condition is about null.
    if (bytes[start] === NULL) return true;
    this.#isComparable ||= order !== undefined;
    const isText = bytes[start] === QUOTE;
    if (isText || !this.#condition.quoted) this.#keepForNear(rawText(bytes, start, end), isText);
    return true;
  }

  #keepForNear(text: string, isText: boolean): void {
    if (this.#wantedLower.has(text.toLowerCase())) this.#similar ??= text;
    else if (isText && text.length <= LONGEST_NEAR_CHARACTERS && this.#others.size < MAX_NEAR)
      this.#others.add(text);
  }

  #nearValue(): string | undefined {
    const texts = [...this.#others];
    for (const wanted of this.#wanted.slice(0, MAX_WANTED_NEAR)) {
      const near = nearTo(wanted, texts);
      if (near !== undefined) return near;
    }
    return undefined;
  }

  warning(flag: string, looked: string): string | undefined {
    const { field, value, quoted, operator } = this.#condition;
    const [only, another] = this.#wanted;
    const values = another ? `any of the ${this.#wanted.length} values` : `'${only?.value ?? value}'`;
    const none = `${flag}: no event has ${values} in ${field.text}`;
    const membership = MEMBERSHIPS[operator];
    if (membership && value.includes(',') && !quoted) {
      const [form, meant] = membership;
      return `${none}; for ${meant} of several values write ${flag} ${quotedWord(`${pathText(field)} ${form} (${value})`)}${looked}`;
    }
    const near = this.#similar ?? this.#nearValue();
    if (near !== undefined) return `${none}; did you mean ${near}?${looked}`;
    return this.#isComparable === false ? nothingCompares(flag, this.#condition) : undefined;
  }
}

/** Suspects that `<` and `>` cannot compare the field's values with the condition's. */
class OrderDoubt implements ValueDoubt {
  readonly #condition: Condition;
  readonly #isOfTime: boolean;
  #isComparable = false;
  #unordered = 0;
  #unorderedExample = '';

  constructor(condition: Condition) {
    this.#condition = condition;
    this.#isOfTime = condition.instant !== undefined && !isNumber(condition.value);
  }

  see(order: number | undefined, bytes: Buffer, start: number, end: number): boolean {
    if (order !== undefined && !Number.isNaN(order)) {
      this.#isComparable = true;
      // Each time may be in a different form, so keep looking.
      return this.#isOfTime;
    }
    if (bytes[start] === NULL) return true;
    if (this.#unordered === 0)
      this.#unorderedExample = rawText(bytes, start, Math.min(end, start + LONGEST_NEAR_CHARACTERS));
    this.#unordered++;
    return true;
  }

  warning(flag: string): string | undefined {
    const { field, value } = this.#condition;
    if (!this.#isComparable) return nothingCompares(flag, this.#condition) + this.#unixAdvice(flag);
    if (this.#unordered === 0) return undefined;
    const [count, verb] =
      this.#unordered === 1 ? ['1 value', 'does'] : [`${grouped(this.#unordered)} values`, 'do'];
    return `${flag}: ${count} in ${field.text} ${verb} not compare with ${value}, such as ${this.#unorderedExample}${this.#unixAdvice(flag)}`;
  }

  #unixAdvice(flag: string): string {
    const { text, value, instant } = this.#condition;
    if (!instant || !isNumber(this.#unorderedExample)) return '';
    const isSeconds = Math.abs(Number(this.#unorderedExample)) < SMALLEST_MS;
    const unix = isSeconds ? instant.seconds : milliseconds(instant);
    const meant = text.slice(0, text.trimEnd().length - value.length) + unix;
    return `; for Unix ${isSeconds ? 'seconds' : 'milliseconds'} write ${flag} ${quotedWord(meant)}`;
  }
}

/** Unix times from 1973 on exceed this only in milliseconds. */
const SMALLEST_MS = 1e11;

/** The operator for several values, and the word for it. */
const MEMBERSHIPS: Readonly<Partial<Record<Operator, readonly [form: Operator, meant: string]>>> = {
  '=': ['in', 'any'],
  '!=': ['not in', 'none'],
};

function nearTo(
  { value, quoted }: Pick<Condition, 'value' | 'quoted'>,
  texts: readonly string[],
): string | undefined {
  const isOfText = quoted || !isNumber(value);
  if (!isOfText || value.length < SHORTEST_NEAR_CHARACTERS) return undefined;
  const lower = value.toLowerCase();
  return texts.find((text) => text.toLowerCase().includes(lower)) ?? nearest(value, texts);
}
