import { compareNumbers, isNumber } from '../items/item-conditions.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { bareText, FIRST_CODE, type Field } from '../outcomes/field-column.ts';
import type { TimeColumn } from '../outcomes/time-column.ts';
import type { Count } from './chance.ts';

/** Filters of the service itself (service description, part 4) are the better names for the same events. */
export const FILTER_FIELDS = ['subscriptionId', 'eventType'];
/** Of two names for the same events the shorter path is the better one, */
const HANDICAP_OF_STEP = 0.02;
/** and then the one that comes first. */
const HANDICAP_OF_PLACE = 1e-5;
/** A number with more values than these may go with time. */
const MOST_WITHOUT_ORDER = 20;
/** It does if fewer of its steps than this part go the other way. */
const OTHER_WAY = 0.02;

/** A field of the events in the sample. */
export class Feature {
  readonly field: Field;
  /**
   * The code of each event in the sample by its row. Of a field with many numbers it is the number's rank.
   */
  readonly codes: Field['codes'] | Uint32Array;
  /** The codes that stand for numbers, in ascending order. */
  readonly order: readonly number[];
  /** The position of a code in that order; -1 if it is no number. */
  readonly places: Int32Array;
  /** The numbers by rank, if the field has too many for codes. */
  readonly #numbers: Float64Array | undefined;
  /** True if every event has it, be it null. */
  readonly isAlwaysThere: boolean;
  readonly isFilter: boolean;
  /** Fields that are the better name have less. */
  readonly handicap: number;
  /** The events of a code, and those that failed, by the last `count`. */
  readonly events: Uint32Array;
  readonly failed: Uint32Array;

  /** `rows` are in order of creation; `index` is the place of the field among others. */
  constructor(table: ComparisonTable, field: Field, rows: Int32Array, index: number) {
    this.field = field;
    this.isAlwaysThere = field.present === table.rows;
    this.isFilter = field.steps.length === 1 && FILTER_FIELDS.includes(field.steps[0] as string);
    const handicap = HANDICAP_OF_STEP * field.steps.length + HANDICAP_OF_PLACE * index;
    this.handicap = this.isFilter ? 0 : handicap;
    this.#numbers = field.numbers && distinctNumbers(field.numbers, rows);
    this.codes = this.#numbers ? this.#ranksOf(this.#numbers, rows, table.rows) : field.codes;
    const order = this.#numbers
      ? Array.from(this.#numbers, (_, rank) => FIRST_CODE + rank)
      : numericOrder(field.texts);
    const size = this.#numbers ? FIRST_CODE + this.#numbers.length : field.texts.length;
    this.places = this.#placesOf(order, size);
    this.order = this.#goesWithTime(order.length, rows, table.times) ? [] : order;
    this.events = new Uint32Array(size);
    this.failed = new Uint32Array(size);
  }

  /** The JSON text of a code's value. */
  textOf(code: number): string {
    return this.#numbers ? String(this.#numbers[code - FIRST_CODE]) : (this.field.texts[code] as string);
  }

  /** A number in quotes is compared as the number that it is. */
  bareText(code: number): string {
    return bareText(this.textOf(code));
  }

  /** Counts these events of the sample, also by their codes. */
  count(rows: Int32Array, failures: Uint8Array): Count {
    const { codes, events, failed } = this;
    events.fill(0);
    failed.fill(0);
    let allFailed = 0;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as number;
      const code = codes[row] as number;
      events[code] = (events[code] as number) + 1;
      failed[code] = (failed[code] as number) + (failures[row] as number);
      allFailed += failures[row] as number;
    }
    return { events: rows.length, failed: allFailed };
  }

  #ranksOf(numbers: Float64Array, rows: Int32Array, allRows: number): Uint32Array {
    const { numbers: byRow, codes } = this.field;
    const ranks = new Map(Array.from(numbers, (number, rank) => [number, FIRST_CODE + rank]));
    const ranked = new Uint32Array(allRows);
    for (const row of rows)
      ranked[row] = ranks.get((byRow as Float64Array)[row] as number) ?? (codes[row] as number);
    return ranked;
  }

  #placesOf(order: readonly number[], size: number): Int32Array {
    const places = new Int32Array(size).fill(-1);
    for (const [place, code] of order.entries()) {
      // Texts such as "1" and "1.0" are one number, which no limit parts.
      const before = order[place - 1];
      const isSame = before !== undefined && Number(this.bareText(before)) === Number(this.bareText(code));
      places[code] = isSame ? (places[before] as number) : place;
    }
    return places;
  }

  /**
   * True for a number that goes up or down with time, such as one of a sequence: its limits are spans of
   * time.
   */
  #goesWithTime(numbers: number, rows: Int32Array, times: TimeColumn): boolean {
    let up = 0;
    let down = 0;
    let last = Number.NaN;
    for (const row of rows) {
      const place = this.places[this.codes[row] as number] as number;
      if (place === -1 || !times.isKnown(row)) continue;
      if (place > last) up++;
      if (place < last) down++;
      last = place;
    }
    return numbers > MOST_WITHOUT_ORDER && Math.min(up, down) < OTHER_WAY * (up + down);
  }
}

function distinctNumbers(numbers: Float64Array, rows: Int32Array): Float64Array {
  const found = new Set(Array.from(rows, (row) => numbers[row] as number));
  found.delete(Number.NaN);
  return Float64Array.from(found).sort();
}

function numericOrder(texts: readonly string[]): number[] {
  return texts
    .map((json, code) => ({ code, text: bareText(json), number: Number(bareText(json)) }))
    .filter(({ text }) => isNumber(text))
    .sort((a, b) => a.number - b.number || compareNumbers(a.text, b.text))
    .map(({ code }) => code);
}
