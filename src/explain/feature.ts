import { compareNumbers, isNumber } from '../items/exact-numbers.ts';
import { FIRST_CODE, NO_VALUE } from '../outcomes/code-column.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import type { Field } from '../outcomes/field-column.ts';
import type { Codes } from '../outcomes/rows.ts';
import { bareText, NULL_TEXT } from '../outcomes/value-texts.ts';
import { type Count, countRows, without } from './chance.ts';
import { handicapOf, isFilterField, isOfTimes, OF_PRESENCE, pathHandicap } from './handicaps.ts';
import type { Sample } from './sample.ts';
import { type RankedNumbers, TimeOrder } from './time-order.ts';

/** Events by the code of a value, and those of them that failed. */
interface CountsByCode {
  readonly events: Uint32Array;
  readonly failed: Uint32Array;
}

/** A field of the events in the sample. */
export class Feature {
  readonly field: Field;
  /** The number of rows in the table. */
  readonly rows: number;
  /**
   * The code of each event in the sample by its row, or of each value by its cell. Of a field with many
   * numbers it is the number's rank.
   */
  readonly codes: Codes | Uint32Array;
  /** Of a field in cells: the row of each. */
  readonly #cellRows: Int32Array | undefined;
  /** The codes that stand for numbers, in ascending order. */
  readonly order: readonly number[];
  /** The position of a code in that order; -1 if it is no number. */
  readonly places: Int32Array;
  /** The numbers by rank, if the field has too many for codes. */
  readonly #numbers: Float64Array | undefined;
  /** True if every event has it, be it null. */
  readonly isAlwaysThere: boolean;
  readonly isFilter: boolean;
  /** True for times in the payload: what is not of one moment is told by the time of the events. */
  readonly isOfTimes: boolean;
  /** Fields whose values are the better name have less. */
  readonly handicap: number;
  readonly handicapOfPresence: number;
  /** Bytes by which delivered events are larger than the field's numbers say. */
  readonly #moreOfDelivered: number;
  readonly #failures: Uint8Array;
  /** In a list: the code that says that an element has no value; otherwise -1. */
  readonly nullCode: number;
  /**
   * The events of a code, and those that failed, by the last `count`; of a list those with any such element.
   */
  readonly events: Uint32Array;
  readonly failed: Uint32Array;
  /** The events whose greatest number has the code, and those whose smallest has. */
  readonly highest: CountsByCode;
  readonly lowest: CountsByCode;

  /** `rows` are in order of creation, which `time` has; `index` is the place of the field among others. */
  constructor(
    table: ComparisonTable,
    field: Field,
    rows: Int32Array,
    index: number,
    time = new TimeOrder(table, rows),
  ) {
    this.field = field;
    this.rows = table.rows;
    const { cellRows } = field;
    this.isAlwaysThere = field.present === table.rows && !field.isInList;
    this.#moreOfDelivered = field.derivation === 'size' ? table.moreOfDelivered : 0;
    this.#failures = table.failures;
    this.isFilter = isFilterField(field);
    this.isOfTimes = isOfTimes(field);
    this.handicap = handicapOf(field, index);
    this.handicapOfPresence = this.isFilter ? 0 : OF_PRESENCE + pathHandicap(field, index);
    this.#numbers = field.numbers && distinctNumbers(field, field.numbers, rows);
    const codes = this.#numbers ? this.#ranksOf(this.#numbers, rows) : field.codes;
    const cells = cellRows && cellsAmong(field, codes, rows, table.rows);
    this.codes = cells?.codes ?? codes;
    this.#cellRows = cells?.rows;
    const order = this.#numbers
      ? Array.from(this.#numbers, (_, rank) => FIRST_CODE + rank)
      : numericOrder(field.texts);
    const size = this.#numbers ? FIRST_CODE + this.#numbers.length : field.texts.length;
    this.places = this.#placesOf(order, size);
    this.order = time.goesWithTime(this.#rankedNumbers(order.length, rows)) ? [] : order;
    this.nullCode = field.isInList ? field.texts.indexOf(NULL_TEXT, FIRST_CODE) : -1;
    this.events = new Uint32Array(size);
    this.failed = new Uint32Array(size);
    const ofValues = { events: this.events, failed: this.failed };
    this.highest = cellRows ? emptyCounts(size) : ofValues;
    this.lowest = cellRows ? emptyCounts(size) : ofValues;
  }

  /** The JSON text of a code's value. */
  textOf(code: number): string {
    return this.#numbers ? String(this.#numbers[code - FIRST_CODE]) : (this.field.texts[code] as string);
  }

  /** A number in quotes is compared as the number that it is. */
  bareText(code: number): string {
    return bareText(this.textOf(code));
  }

  /** A number that is greater than that of a place in the order, in delivered events too. */
  lowerBound(place: number): string {
    const text = this.bareText(this.order[place] as number);
    const next = Number(this.bareText(this.order[place + 1] as number));
    const more = Number(text) + this.#moreOfDelivered;
    return this.#moreOfDelivered > 0 && more < next ? String(more) : text;
  }

  /** The number of a row as the item has it. */
  numberOf(row: number): number {
    const number = this.field.numbers?.[row] ?? Number.NaN;
    return this.#failures[row] === 1 ? number : number + this.#moreOfDelivered;
  }

  /** Counts these events of the sample, also by their codes. */
  count(rows: Int32Array, sample: Pick<Sample, 'table' | 'marksOf'>): Count {
    const { failures } = sample.table;
    const { codes, events, failed } = this;
    events.fill(0);
    failed.fill(0);
    if (this.#cellRows) return this.#countCells(rows, failures, sample.marksOf(rows), this.#cellRows);
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

  #countCells(rows: Int32Array, failures: Uint8Array, marks: Uint8Array, cellRows: Int32Array): Count {
    for (const counts of [this.highest, this.lowest]) {
      counts.events.fill(0);
      counts.failed.fill(0);
    }
    const withValue = { events: 0, failed: 0 };
    let end = 0;
    for (let start = 0; start < cellRows.length; start = end) {
      const row = cellRows[start] as number;
      while (cellRows[end] === row) end++;
      if (marks[row] === 0) continue;
      const hasFailed = failures[row] as number;
      withValue.events++;
      withValue.failed += hasFailed;
      this.#countRow(start, end, hasFailed);
    }
    const all = countRows(rows, failures);
    const none = without(all, withValue);
    this.#addCount(NO_VALUE, none);
    // Where no element has a value, `= null` holds, as where one has none.
    if (this.nullCode !== -1) this.#addCount(this.nullCode, none);
    return all;
  }

  /** Counts the values in the cells of a row. */
  #countRow(start: number, end: number, hasFailed: number): void {
    const { codes, places, highest, lowest } = this;
    let high = NO_VALUE;
    let low = NO_VALUE;
    for (let cell = start; cell < end; cell++) {
      const code = codes[cell] as number;
      addTo(this, code, hasFailed);
      const place = places[code] as number;
      if (place === -1) continue;
      if (high === NO_VALUE || place > (places[high] as number)) high = code;
      if (low === NO_VALUE || place < (places[low] as number)) low = code;
    }
    if (high === NO_VALUE) return;
    addTo(highest, high, hasFailed);
    addTo(lowest, low, hasFailed);
  }

  #addCount(code: number, count: Count): void {
    this.events[code] = (this.events[code] as number) + count.events;
    this.failed[code] = (this.failed[code] as number) + count.failed;
  }

  /** The ranks of numbers by row or cell, for rows of the sample. */
  #ranksOf(distinct: Float64Array, rows: Int32Array): Codes | Uint32Array {
    const { numbers = distinct, codes, cellRows, cells } = this.field;
    const ranks = new Map(Array.from(distinct, (number, rank) => [number, FIRST_CODE + rank]));
    const size = cellRows ? cells : this.rows;
    const isSmall = FIRST_CODE + distinct.length <= 0x1_0000;
    const ranked = isSmall ? new Uint16Array(size) : new Uint32Array(size);
    const rank = (place: number) => {
      ranked[place] = ranks.get(numbers[place] as number) ?? (codes[place] as number);
    };
    if (cellRows) for (let cell = 0; cell < cells; cell++) rank(cell);
    else for (const row of rows) rank(row);
    return ranked;
  }

  /** The numbers of the rows, or of the cells of a list. */
  #rankedNumbers(different: number, rows: Int32Array): RankedNumbers {
    const { codes, places } = this;
    const cellRows = this.#cellRows;
    if (!cellRows) {
      const rankAt = (index: number) => places[codes[rows[index] as number] as number] as number;
      return { rows, rankAt, different };
    }
    return { rows: cellRows, rankAt: (cell) => places[codes[cell] as number] as number, different };
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
}

function emptyCounts(size: number): CountsByCode {
  return { events: new Uint32Array(size), failed: new Uint32Array(size) };
}

function addTo({ events, failed }: CountsByCode, code: number, hasFailed: number): void {
  events[code] = (events[code] as number) + 1;
  failed[code] = (failed[code] as number) + hasFailed;
}

/** The cells of some of all rows, with their codes. */
function cellsAmong(
  { cellRows = new Int32Array(0), cells }: Field,
  codes: Codes | Uint32Array,
  rows: Int32Array,
  allRows: number,
): { readonly rows: Int32Array; readonly codes: Codes | Uint32Array } {
  if (rows.length === allRows) return { rows: cellRows.subarray(0, cells), codes: codes.subarray(0, cells) };
  const isSampled = new Uint8Array(allRows);
  for (const row of rows) isSampled[row] = 1;
  const sampled: number[] = [];
  for (let cell = 0; cell < cells; cell++) if (isSampled[cellRows[cell] as number] === 1) sampled.push(cell);
  return {
    rows: Int32Array.from(sampled, (cell) => cellRows[cell] as number),
    codes: Uint32Array.from(sampled, (cell) => codes[cell] as number),
  };
}

/** The numbers of some rows in ascending order; of a list those of all rows. */
function distinctNumbers({ cellRows, cells }: Field, numbers: Float64Array, rows: Int32Array): Float64Array {
  const found = new Set(
    cellRows ? numbers.subarray(0, cells) : Array.from(rows, (row) => numbers[row] as number),
  );
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
