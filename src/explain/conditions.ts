import { compareNumbers, isNumber } from '../items/exact-numbers.ts';
import { FILTER_FIELDS } from '../items/filter-keys.ts';
import { isGuid } from '../items/guids.ts';
import { bareText } from '../items/value-texts.ts';
import { FIRST_CODE, NO_VALUE, NULL_TEXT, type SampleField } from '../sample/sample-field.ts';
import type { SampleTable } from '../sample/sample-table.ts';
import type { Count } from '../statistics/chance.ts';
import { parseInstant } from '../time/instant.ts';
import { type DateOrder, dateOrderOf } from './date-limits.ts';
import { wordsOfName } from './outcome-words.ts';
import { countRows, markedRows, type RowMarks } from './rows.ts';
import type { RankedValues, TimeOrder } from './time-order.ts';

/** Candidate conditions on fields, their counts, and the tests that find their events in the sample. */

/** With `NO_VALUE`, `=` means that the field is missing and `!=` that it exists. */
export type FieldOp = '=' | '!=' | '>=' | '<=';

/** Conditions with fewer events prove little even if all of them failed. */
export const MIN_EVENTS = 3;
/** A condition with a single failure could be chance. */
const MIN_FAILED = 2;
/** Visit all cells of a field, not those of each row, if it has fewer than one for this many rows. */
const ROWS_OF_CELL = 4;

/** The service filters by these, so they are the preferred names. Each event has its own id. */
const PREFERRED_FIELDS: readonly string[] = FILTER_FIELDS.filter((field) => field !== 'eventId');

/**
 * Costs in the unit of scores, log likelihood. A score has to exceed the cost of its form. Costs of names are
 * smaller than any difference between events, so they decide only between equivalent conditions.
 */
export const COST = {
  /** Added for any form except `=`, which is the most specific. */
  form: 2,
  fewValues: 0.1,
  presence: 0.3,
  numbers: 0.4,
  texts: 0.5,
  derived: 0.55,
  times: 0.6,
  ids: 0.7,
  /** Prefers the shorter path of two fields of one kind. */
  step: 0.01,
  /** Prefers the first of two paths of equal length. */
  place: 1e-6,
};
/** Enumerations such as regions or carriers have at most this many values. */
const FEW_VALUES = 20;

interface CountsByCode {
  readonly events: Uint32Array;
  readonly failed: Uint32Array;
}

export class Feature implements CountsByCode {
  readonly field: SampleField;
  readonly table: SampleTable;
  /** Codes of ordered values, ascending; empty if the values follow time. */
  readonly order: readonly number[];
  /** By code: the position in `order`, or -1 if unordered. */
  readonly places: Int32Array;
  readonly dates: DateOrder | undefined;
  /** True if every event has the field, even as null. */
  readonly isAlwaysThere: boolean;
  readonly isFilter: boolean;
  /** False to allow `>=` limits only. */
  readonly hasUpperLimits: boolean;
  /** True for times in the payload, for which `!=` is not a candidate. */
  readonly isOfTimes: boolean;
  /** Lower for better names. */
  readonly cost: number;
  readonly costOfPresence: number;
  /** The code of a null element in a list; otherwise -1. */
  readonly nullCode: number;
  /** By code, for the rows counted last. A list counts once for each row that has any such element. */
  readonly events: Uint32Array;
  readonly failed: Uint32Array;
  /** Rows by the greatest and the smallest number in them. */
  readonly highest: CountsByCode;
  readonly lowest: CountsByCode;
  /** By row: its first cell, which is also the end of the row before. Undefined for rare fields. */
  readonly #firstCells: Int32Array | undefined;
  /** Cached, since several steps of the search count the same rows. */
  #counted: Int32Array | undefined;
  #countOfAll: Count = { events: 0, failed: 0 };

  constructor(
    table: SampleTable,
    field: SampleField,
    place: number,
    time: TimeOrder,
    { hasUpperLimits = true } = {},
  ) {
    const { texts, cells } = field;
    this.hasUpperLimits = hasUpperLimits;
    this.table = table;
    this.field = field;
    this.isAlwaysThere = field.present === table.rows && !field.isInList;
    this.isFilter = isFilterField(field);
    this.isOfTimes = !field.derivation && isTime(texts[FIRST_CODE]);
    const costOfPath = COST.step * field.steps.length + COST.place * place;
    this.cost = this.isFilter ? 0 : kindCost(field) + costOfPath;
    this.costOfPresence = this.isFilter ? 0 : COST.presence + costOfPath;
    this.nullCode = field.isInList ? texts.indexOf(NULL_TEXT, FIRST_CODE) : -1;
    if (ROWS_OF_CELL * cells >= table.rows) this.#firstCells = firstCells(field, table.rows);
    this.dates = dateOrderOf(texts.slice(FIRST_CODE).map(bareText));
    const order = this.#orderOfValues();
    this.places = this.#placesOf(order);
    this.order = time.goesWithTime(this.#rankedValues(order.length)) ? [] : order;
    this.events = new Uint32Array(texts.length);
    this.failed = new Uint32Array(texts.length);
    this.highest = field.isInList ? emptyCounts(texts.length) : this;
    this.lowest = field.isInList ? emptyCounts(texts.length) : this;
  }

  count(rows: Int32Array, marks: RowMarks): Count {
    if (this.#counted !== rows) {
      this.events.fill(0);
      this.failed.fill(0);
      this.#countOfAll = this.#countCells(rows, marks);
      this.#counted = rows;
    }
    return this.#countOfAll;
  }

  #countCells(rows: Int32Array, marks: RowMarks): Count {
    const { isInList } = this.field;
    const { failures } = this.table;
    if (isInList)
      for (const counts of [this.highest, this.lowest]) {
        counts.events.fill(0);
        counts.failed.fill(0);
      }
    let withValue = 0;
    let failedWithValue = 0;
    this.#visitCells(rows, marks, (row, start, end) => {
      const hasFailed = failures[row] as number;
      withValue++;
      failedWithValue += hasFailed;
      if (isInList) this.#countElements(start, end, hasFailed);
      else addTo(this, this.field.codes[start] as number, 1, hasFailed);
    });
    const all = countRows(rows, failures);
    const without = all.events - withValue;
    const failedWithout = all.failed - failedWithValue;
    addTo(this, NO_VALUE, without, failedWithout);
    // In a list, `= null` holds if an element is null, and also if no element has a value.
    if (this.nullCode !== -1) addTo(this, this.nullCode, without, failedWithout);
    return all;
  }

  /** Visits the rows that have cells, with the offsets of their first cell and after the last one. */
  #visitCells(
    rows: Int32Array,
    allMarks: RowMarks,
    visit: (row: number, start: number, end: number) => void,
  ): void {
    const firstCells = this.#firstCells;
    if (firstCells) {
      for (let index = 0; index < rows.length; index++) {
        const row = rows[index] as number;
        const start = firstCells[row] as number;
        const end = firstCells[row + 1] as number;
        if (start < end) visit(row, start, end);
      }
      return;
    }
    const { rows: rowOf } = this.field;
    const marks = allMarks.of(rows);
    for (let start = 0, end = 0; start < rowOf.length; start = end) {
      const row = rowOf[start] as number;
      do end++;
      while (rowOf[end] === row);
      if (marks[row] === 1) visit(row, start, end);
    }
  }

  #countElements(start: number, end: number, hasFailed: number): void {
    const { places, highest, lowest } = this;
    const { codes } = this.field;
    let high = NO_VALUE;
    let low = NO_VALUE;
    for (let cell = start; cell < end; cell++) {
      const code = codes[cell] as number;
      addTo(this, code, 1, hasFailed);
      const place = places[code] as number;
      if (place === -1) continue;
      // The place of `NO_VALUE` is -1.
      if (place > (places[high] as number)) high = code;
      if (low === NO_VALUE || place < (places[low] as number)) low = code;
    }
    addTo(highest, high, 1, hasFailed);
    addTo(lowest, low, 1, hasFailed);
  }

  /** None if only frequent values are compared: a limit would count these alone. */
  #orderOfValues(): number[] {
    const { texts, isUncompared } = this.field;
    if (isUncompared) return [];
    return this.dates ? orderOfDates(texts, this.dates) : orderOfNumbers(texts);
  }

  #rankedValues(different: number): RankedValues {
    const { places } = this;
    const { rows, codes } = this.field;
    return { rows, rankAt: (cell) => places[codes[cell] as number] as number, different };
  }

  /** Equal numbers in different spellings, such as "1" and "1.0", share a position. */
  #placesOf(order: readonly number[]): Int32Array {
    const { texts } = this.field;
    const places = new Int32Array(texts.length).fill(-1);
    for (const [place, code] of order.entries()) {
      const before = order[place - 1];
      const isSame = before !== undefined && this.#isEqual(texts[before] as string, texts[code] as string);
      places[code] = isSame ? (places[before] as number) : place;
    }
    return places;
  }

  #isEqual(a: string, b: string): boolean {
    const [first, second] = [bareText(a), bareText(b)];
    return this.dates ? this.dates.compare(first, second) === 0 : Number(first) === Number(second);
  }
}

function firstCells({ rows }: SampleField, count: number): Int32Array {
  const first = new Int32Array(count + 1);
  let cell = 0;
  for (let row = 0; row <= count; row++) {
    while (cell < rows.length && (rows[cell] as number) < row) cell++;
    first[row] = cell;
  }
  return first;
}

function emptyCounts(size: number): CountsByCode {
  return { events: new Uint32Array(size), failed: new Uint32Array(size) };
}

function addTo({ events, failed }: CountsByCode, code: number, count: number, failures: number): void {
  events[code] = (events[code] as number) + count;
  failed[code] = (failed[code] as number) + failures;
}

export function isFilterField({ steps, derivation }: SampleField): boolean {
  return steps.length === 1 && !derivation && PREFERRED_FIELDS.includes(steps[0] as string);
}

function isTime(json: string | undefined): boolean {
  return json !== undefined && parseInstant(bareText(json)) !== undefined;
}

function kindCost(field: SampleField): number {
  const { steps, derivation, texts } = field;
  const first = texts[FIRST_CODE] ?? '';
  const name = steps.findLast((step) => typeof step === 'string') ?? '';
  if (derivation) return COST.derived;
  if (isGuid(bareText(first)) || /\bids?$/.test(wordsOfName(name))) return COST.ids;
  if (isTime(first)) return COST.times;
  if (texts.length - FIRST_CODE <= FEW_VALUES) return COST.fewValues;
  return /^"?-?\d/.test(first) ? COST.numbers : COST.texts;
}

function orderOfDates(texts: readonly string[], dates: DateOrder): number[] {
  return texts
    .map((json, code) => ({ code, text: bareText(json) }))
    .slice(FIRST_CODE)
    .sort((a, b) => dates.compare(a.text, b.text))
    .map(({ code }) => code);
}

function orderOfNumbers(texts: readonly string[]): number[] {
  return texts
    .map((json, code) => ({ code, text: bareText(json), number: Number(bareText(json)) }))
    .filter(({ text }) => isNumber(text))
    .sort((a, b) => a.number - b.number || compareNumbers(a.text, b.text))
    .map(({ code }) => code);
}

/** Takes arguments: an object for each of thousands of conditions would take longer than judging it. */
type VisitCondition = (op: FieldOp, code: number, events: number, failed: number, cost: number) => void;

export function visitConditions(feature: Feature, all: Count, visit: VisitCondition): void {
  const { field, events } = feature;
  const end = field.hasOnlyLimits ? FIRST_CODE : events.length;
  const states = field.hasOnlyLimits ? 0 : countIf(events, (count) => count > 0);
  const hasOpposites = states > 2 && !feature.isOfTimes;
  if (!field.derivation && events[NO_VALUE] !== 0) visitEquality(feature, NO_VALUE, all, true, visit);
  for (let code = FIRST_CODE; code < end; code++)
    if (events[code] !== 0) visitEquality(feature, code, all, hasOpposites, visit);
  visitLimits(feature, visit);
}

function mayExplain(events: number, failed: number): boolean {
  return events >= MIN_EVENTS && failed >= MIN_FAILED;
}

/** Visits `=` for the value, and `!=` if that is a different condition. */
function visitEquality(
  feature: Feature,
  code: number,
  all: Count,
  hasOpposite: boolean,
  visit: VisitCondition,
): void {
  const isPresence = code === NO_VALUE;
  const events = feature.events[code] as number;
  const failed = feature.failed[code] as number;
  const cost = isPresence ? feature.costOfPresence : feature.cost;
  if (mayExplain(events, failed)) visit('=', code, events, failed, cost);
  const others = all.events - events;
  const failedOthers = all.failed - failed;
  const costOfOpposite = isPresence ? cost : COST.form + cost;
  if (hasOpposite && mayExplain(others, failedOthers))
    visit('!=', code, others, failedOthers, costOfOpposite);
}

/** Visits limits between numbers or dates. A list fulfils a limit if any element does. */
function visitLimits(feature: Feature, visit: VisitCondition): void {
  const { order, places, events, highest, lowest } = feature;
  const cost = COST.form + feature.cost;
  let above = 0;
  let failedAbove = 0;
  for (const code of order) {
    above += highest.events[code] as number;
    failedAbove += highest.failed[code] as number;
  }
  let below = 0;
  let failedBelow = 0;
  let last: number | undefined;
  for (const code of order) {
    if (events[code] === 0) continue;
    if (last !== undefined && places[last] !== places[code]) {
      if (feature.hasUpperLimits && mayExplain(below, failedBelow))
        visit('<=', last, below, failedBelow, cost);
      if (mayExplain(above, failedAbove)) visit('>=', code, above, failedAbove, cost);
    }
    above -= highest.events[code] as number;
    failedAbove -= highest.failed[code] as number;
    below += lowest.events[code] as number;
    failedBelow += lowest.failed[code] as number;
    last = code;
  }
}

export function countIf(numbers: ArrayLike<number>, holds: (number: number) => boolean): number {
  let count = 0;
  for (let index = 0; index < numbers.length; index++) if (holds(numbers[index] as number)) count++;
  return count;
}

export class FieldTest {
  readonly feature: Feature;
  readonly op: FieldOp;
  readonly code: number;
  #holds: Uint8Array | undefined;

  constructor(feature: Feature, op: FieldOp, code: number) {
    this.feature = feature;
    this.op = op;
    this.code = code;
  }

  filter(rows: Int32Array): Int32Array {
    this.#holds ??= this.#holdsByRow();
    return markedRows(rows, this.#holds);
  }

  /** A list fulfils a condition if any element does; `!=` and `missing` negate that. */
  #holdsByRow(): Uint8Array {
    const { feature, op, code } = this;
    const { rows, codes, cells } = feature.field;
    const isOpposite = code === NO_VALUE ? op === '=' : op === '!=';
    const isSought = (other: number) =>
      code === NO_VALUE || (isOpposite ? other === code : this.accepts(other));
    const holds = new Uint8Array(feature.table.rows).fill(Number(isOpposite));
    // `= null` also holds if no element has a value.
    if (code !== NO_VALUE && code === feature.nullCode) {
      holds.fill(Number(!isOpposite));
      for (const row of rows) holds[row] = Number(isOpposite);
    }
    for (let cell = 0; cell < cells; cell++)
      if (isSought(codes[cell] as number)) holds[rows[cell] as number] = Number(!isOpposite);
    return holds;
  }

  accepts(other: number): boolean {
    const { feature, op, code } = this;
    if (op === '=') return other === code;
    if (op === '!=') return other !== code;
    const place = feature.places[other] as number;
    const limit = feature.places[code] as number;
    return place !== -1 && (op === '>=' ? place >= limit : place <= limit);
  }
}

export interface Limit {
  readonly op: '>=' | '<=' | '<';
  readonly json: string;
}

export function limitOf({ feature, op, code }: FieldTest): Limit {
  const { order, dates, table, field } = feature;
  const { texts } = field;
  const place = order.indexOf(code);
  const below = op === '>=' ? place - 1 : place;
  const low = texts[order[below] as number] as string;
  const high = texts[order[below + 1] as number] as string;
  if (dates) {
    const round = dates.roundestBetween(bareText(low), bareText(high));
    return { op: op === '>=' ? op : '<', json: JSON.stringify(round) };
  }
  // Compare as if "FAILED" were as long as "SUCCESS".
  const more = field.derivation === 'size' ? table.bytesAddedBySuccess : 0;
  const isRoom = Number(bareText(low)) + more < Number(bareText(high));
  const lowest = more > 0 && isRoom ? String(Number(bareText(low)) + more) : bareText(low);
  const round = roundestNumber(lowest, bareText(high)) ?? bareText(high);
  if (op === '>=') return { op, json: round };
  return round === bareText(high) || lowest.length <= round.length
    ? { op: '<=', json: lowest }
    : { op: '<', json: round };
}

/** Maximum decimals tried. */
const MAX_DECIMALS = 15;
/** Maximum trailing zeros tried; the roundest come first. */
const MAX_ZEROS = 18;
/** Doubles do not hold every integer from here on, so only exact round numbers become limits. */
const LARGE = 10 ** 15;

/** Returns the number with the fewest digits in `(lower, upper]`; undefined if no double fits. */
function roundestNumber(lower: string, upper: string): string | undefined {
  const low = Number(lower);
  const high = Number(upper);
  if (!Number.isFinite(high)) return undefined;
  const isLarge = Math.abs(high) >= LARGE;
  for (let digits = -MAX_ZEROS; digits <= (isLarge ? 0 : MAX_DECIMALS); digits++) {
    const unit = 10 ** Math.abs(digits);
    const number = digits < 0 ? Math.floor(high / unit) * unit : Math.floor(high * unit) / unit;
    const text = String(number);
    const isExact = !isLarge || String(BigInt(number)) === text;
    if (isExact && number > low && compareNumbers(text, upper) <= 0) return text;
  }
  return undefined;
}
