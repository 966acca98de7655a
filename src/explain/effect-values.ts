import { exactValue, isNumber } from '../items/exact-numbers.ts';
import { MISSING } from '../items/field-cursor.ts';
import type { FieldPath } from '../items/field-path.ts';
import type { FieldReader } from '../items/field-reader.ts';
import { ARRAY, NULL, OBJECT } from '../items/json-scanner.ts';
import { bareText, canonicalText } from '../items/value-texts.ts';
import { LONGEST_VALUE_BYTES } from '../sample/sample-field.ts';

export interface EffectValue {
  readonly value: unknown;
  readonly failed: number;
}

export interface CountedField {
  readonly path: FieldPath;
  readonly only: ReadonlySet<string> | undefined;
}

/** The most informative values of an effect: its own, or those of its members joined. */
export interface EffectValueSource {
  readonly own: CountedField | undefined;
  readonly except: string | undefined;
  readonly members: readonly CountedField[];
}

/** Maximum values reported. */
const MAX_VALUES = 5;
/** Maximum distinct texts, some 20 MB. With more, hardly any repeats, so none is reported. */
const MAX_TEXTS = 100_000;
/** Minimum number of texts to join as one text with varying ids and times. */
const MIN_ALIKE = 3;

export class EffectValues {
  readonly #source: EffectValueSource;
  readonly #place: number;
  readonly #counts = new Map<string, number>();

  constructor(source: EffectValueSource, place: number) {
    this.#source = source;
    this.#place = place;
  }

  static pathsOf({ own, members }: EffectValueSource): FieldPath[] {
    return (own ? [own] : members).map(({ path }) => path);
  }

  add(reader: FieldReader): void {
    if (this.#counts.size > MAX_TEXTS) return;
    const { own, members, except } = this.#source;
    if (own) {
      for (const json of new Set(valuesIn(reader, this.#place, own))) if (json !== except) this.#note(json);
      return;
    }
    const texts = members.flatMap((member, index) => firstText(reader, this.#place + index, member) ?? []);
    if (texts.some((text) => text !== '')) this.#note(texts.join(' '));
  }

  result(): readonly EffectValue[] {
    if (this.#counts.size > MAX_TEXTS) return [];
    const counts = this.#source.own ? joinNumbers(this.#counts) : this.#counts;
    const values = joinAlike(
      [...counts].map(([text, failed]) => ({ value: this.#source.own ? exactValue(text) : text, failed })),
    );
    return values.sort((a, b) => b.failed - a.failed).slice(0, MAX_VALUES);
  }

  #note(text: string): void {
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
  }
}

function valuesIn(reader: FieldReader, place: number, { only }: CountedField): string[] {
  const values: string[] = [];
  reader.each(place, (bytes, start, end) => {
    const isCompared = start !== MISSING && bytes[start] !== NULL && end - start <= LONGEST_VALUE_BYTES;
    if (!isCompared || bytes[start] === OBJECT) return;
    const json = canonicalText(bytes.toString('utf8', start, end));
    if (!only || only.has(json)) values.push(json);
  });
  return values;
}

function firstText(reader: FieldReader, place: number, member: CountedField): string | undefined {
  let text: string | undefined;
  let isFound = false;
  reader.each(place, (bytes, start, end) => {
    if (isFound || start === MISSING || bytes[start] === NULL) return;
    isFound = true;
    if (bytes[start] === OBJECT || bytes[start] === ARRAY || end - start > LONGEST_VALUE_BYTES) return;
    const json = canonicalText(bytes.toString('utf8', start, end));
    if (!member.only || member.only.has(json)) text = bareText(json);
  });
  return text;
}

/** Counts a quoted number as the number, as filters do. */
function joinNumbers(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const joined = new Map<string, number>();
  for (const [json, failed] of counts) {
    const bare = bareText(json);
    const number = json.startsWith('"') && isNumber(bare) ? canonicalText(bare) : json;
    const text = counts.has(number) ? number : json;
    joined.set(text, (joined.get(text) ?? 0) + failed);
  }
  return joined;
}

/** Joins texts that differ only in words with digits if more than half of them are distinct. */
function joinAlike(values: readonly EffectValue[]): EffectValue[] {
  const groups = new Map<unknown, EffectValue[]>();
  for (const value of values) {
    const isText = typeof value.value === 'string';
    const key = isText ? withoutDigits(String(value.value)) : value.value;
    const group = groups.get(key) ?? [];
    group.push(value);
    groups.set(key, group);
  }
  return [...groups.values()].flatMap((group) => {
    const failed = group.reduce((sum, one) => sum + one.failed, 0);
    if (group.length < MIN_ALIKE || 2 * group.length <= failed) return group;
    return [{ value: commonText(group.map(({ value }) => value as string)), failed }];
  });
}

function withoutDigits(text: string): string {
  return text.replace(/[\w.:-]+/g, (word) => (/\d/.test(word) ? '…' : word));
}

function commonText(texts: readonly string[]): string {
  const [first = [], ...others] = texts.map((text) => text.split(/([\w.:-]+)/));
  return first.map((word, at) => (others.every((other) => other[at] === word) ? word : '…')).join('');
}
