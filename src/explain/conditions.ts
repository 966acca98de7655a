import { bareText } from '../items/canonical-json.ts';
import { compareNumbers, isNumber } from '../items/exact-numbers.ts';
import { isGuid } from '../items/items.ts';
import { FIRST_CODE, NO_VALUE, NULL_TEXT, type SampleField } from '../sample/sample-field.ts';
import type { SampleTable } from '../sample/sample-table.ts';
import type { Count } from '../statistics/chance.ts';
import { parseInstant } from '../time/instant.ts';
import { type DateOrder, dateOrderOf } from './date-limits.ts';
import { wordsOfName } from './outcome-words.ts';
import { countRows, filterRows, markedRows } from './rows.ts';
import type { RankedValues, TimeOrder } from './time-order.ts';

/**
 * The conditions that fields offer as candidates, with the events for which they hold, and the tests that
 * find these events in the sample.
 */

/** A comparison with the value of a code; with `NO_VALUE`, that the field is missing or there. */
export type FieldOp = '=' | '!=' | '>=' | '<=';

/** A condition in fewer events is no candidate: it would tell little even if all of these failed. */
export const LEAST_EVENTS = 3;
/** A condition that fewer failures fulfil tells nothing. */
const LEAST_FAILED = 2;
/** A field that fewer events have than one in so many rows is counted by its cells instead of by rows. */
const ROWS_OF_CELL = 4;

/** Filters of the service (service description, part 4) are the better names for the same events. */
const FILTER_FIELDS = ['subscriptionId', 'eventType'];

/**
 * Costs, in the unit of scores: logarithms of likelihood. That of a form is what a score has to be better by;
 * those of names are smaller than any difference between events, and decide between equal conditions alone.
 */
export const COST = {
  /** `= value` says more than that it is another value, a limit, or a span of time. */
  form: 2,
  fewValues: 0.1,
  presence: 0.3,
  numbers: 0.4,
  texts: 0.5,
  derived: 0.55,
  times: 0.6,
  ids: 0.7,
  /** Of two fields of one kind the one with the shorter path is the better name. */
  step: 0.01,
  /** Of two paths of one length the one that comes first is. */
  place: 1e-6,
};
/** Up to so many values a field has few, such as a region or a carrier. */
const FEW_VALUES = 20;

/** Events by the code of a value, and those of them that failed. */
interface CountsByCode {
  readonly events: Uint32Array;
  readonly failed: Uint32Array;
}

/** A field as the search sees it: the order and the name of its values, and how many events have each. */
export class Feature implements CountsByCode {
  readonly field: SampleField;
  readonly table: SampleTable;
  /** The codes that limits part, in ascending order. */
  readonly order: readonly number[];
  /** The position of a code in that order; -1 for what has no order. */
  readonly places: Int32Array;
  readonly dates: DateOrder | undefined;
  /** True if every event has it, be it null. */
  readonly isAlwaysThere: boolean;
  readonly isFilter: boolean;
  /** False if events are only compared with what is smaller. */
  readonly hasUpperLimits: boolean;
  /** True for times in the payload: "not of that moment" is no cause, the time of the events is. */
  readonly isOfTimes: boolean;
  /** Fields whose values are the better name cost less. */
  readonly cost: number;
  readonly costOfPresence: number;
  /** In a list: the code of an element without a value; otherwise -1. */
  readonly nullCode: number;
  /** By code, of the rows that were counted last; of a list rows with any such element. */
  readonly events: Uint32Array;
  readonly failed: Uint32Array;
  /** Rows by their greatest number, and by their smallest. */
  readonly highest: CountsByCode;
  readonly lowest: CountsByCode;
  /** The code of each row, of a field that many events have once. */
  readonly #codeByRow: Int32Array | undefined;
  /** The rows that were counted last: several steps of the search ask for all of them. */
  #counted: Int32Array | undefined;
  #countOfAll: Count = { events: 0, failed: 0 };

  /** `place` is that among all fields. */
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
    if (!field.isInList && ROWS_OF_CELL * cells >= table.rows) {
      this.#codeByRow = new Int32Array(table.rows);
      for (let cell = 0; cell < cells; cell++)
        this.#codeByRow[field.rows[cell] as number] = field.codes[cell] as number;
    }
    this.dates = datesIn(field);
    const order = this.dates ? orderOfDates(texts, this.dates) : orderOfNumbers(texts);
    this.places = this.#placesOf(order);
    this.order = time.goesWithTime(this.#rankedValues(order.length, time.rows)) ? [] : order;
    this.events = new Uint32Array(texts.length);
    this.failed = new Uint32Array(texts.length);
    this.highest = field.isInList ? emptyCounts(texts.length) : this;
    this.lowest = field.isInList ? emptyCounts(texts.length) : this;
  }

  /** Counts these rows by code. `marks` has a 1 for each of them. */
  count(rows: Int32Array, marks: Uint8Array): Count {
    if (this.#counted !== rows) {
      this.events.fill(0);
      this.failed.fill(0);
      this.#countOfAll = this.#codeByRow
        ? this.#countRows(rows, this.#codeByRow)
        : this.#countCells(rows, marks);
      this.#counted = rows;
    }
    return this.#countOfAll;
  }

  #countRows(rows: Int32Array, codeByRow: Int32Array): Count {
    const { failures } = this.table;
    const { events, failed } = this;
    let allFailed = 0;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as number;
      const code = codeByRow[row] as number;
      const hasFailed = failures[row] as number;
      events[code] = (events[code] as number) + 1;
      failed[code] = (failed[code] as number) + hasFailed;
      allFailed += hasFailed;
    }
    return { events: rows.length, failed: allFailed };
  }

  #countCells(rows: Int32Array, marks: Uint8Array): Count {
    const { rows: cellRows, isInList } = this.field;
    const { failures } = this.table;
    if (isInList)
      for (const counts of [this.highest, this.lowest]) {
        counts.events.fill(0);
        counts.failed.fill(0);
      }
    let withValue = 0;
    let failedWithValue = 0;
    let end = 0;
    for (let start = 0; start < cellRows.length; start = end) {
      const row = cellRows[start] as number;
      do end++;
      while (cellRows[end] === row);
      if (marks[row] === 0) continue;
      const hasFailed = failures[row] as number;
      withValue++;
      failedWithValue += hasFailed;
      if (isInList) this.#countElements(start, end, hasFailed);
      else addTo(this, this.field.codes[start] as number, 1, hasFailed);
    }
    const all = countRows(rows, failures);
    const without = all.events - withValue;
    const failedWithout = all.failed - failedWithValue;
    addTo(this, NO_VALUE, without, failedWithout);
    // `= null` holds where no element has a value, as where one has none.
    if (this.nullCode !== -1) addTo(this, this.nullCode, without, failedWithout);
    return all;
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
      if (high === NO_VALUE || place > (places[high] as number)) high = code;
      if (low === NO_VALUE || place < (places[low] as number)) low = code;
    }
    if (high === NO_VALUE) return;
    addTo(highest, high, 1, hasFailed);
    addTo(lowest, low, 1, hasFailed);
  }

  /** The rows among some whose code is accepted: a table with a 1 for each such code. */
  rowsWith(rows: Int32Array, accepted: Uint8Array): Int32Array | undefined {
    const codeByRow = this.#codeByRow;
    return codeByRow && filterRows(rows, (row) => accepted[codeByRow[row] as number] === 1);
  }

  #rankedValues(different: number, inOrderOfTime: Int32Array): RankedValues {
    const { places } = this;
    const codeByRow = this.#codeByRow;
    if (codeByRow) {
      const codeAt = (index: number) => codeByRow[inOrderOfTime[index] as number] as number;
      return { rows: inOrderOfTime, rankAt: (index) => places[codeAt(index)] as number, different };
    }
    const { rows, codes } = this.field;
    return { rows, rankAt: (cell) => places[codes[cell] as number] as number, different };
  }

  /** Texts of one number, such as "1" and "1.0", have one place: no limit parts them. */
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

function emptyCounts(size: number): CountsByCode {
  return { events: new Uint32Array(size), failed: new Uint32Array(size) };
}

function addTo({ events, failed }: CountsByCode, code: number, count: number, failures: number): void {
  events[code] = (events[code] as number) + count;
  failed[code] = (failed[code] as number) + failures;
}

export function isFilterField({ steps, derivation }: SampleField): boolean {
  return steps.length === 1 && !derivation && FILTER_FIELDS.includes(steps[0] as string);
}

function isTime(json: string | undefined): boolean {
  return json !== undefined && parseInstant(bareText(json)) !== undefined;
}

function kindCost(field: SampleField): number {
  const { steps, derivation, texts, hasOnlyLimits } = field;
  const first = texts[FIRST_CODE] ?? '';
  const name = steps.findLast((step) => typeof step === 'string') ?? '';
  if (derivation) return COST.derived;
  if (isGuid(bareText(first)) || /\bids?$/.test(wordsOfName(name))) return COST.ids;
  if (isTime(first)) return COST.times;
  if (hasOnlyLimits) return COST.numbers;
  if (texts.length - FIRST_CODE <= FEW_VALUES) return COST.fewValues;
  return /^"?-?\d/.test(first) ? COST.numbers : COST.texts;
}

/** The order of the dates that all values of a field are; undefined if some are not. */
function datesIn({ texts, derivation, isUncompared }: SampleField): DateOrder | undefined {
  const values = texts.slice(FIRST_CODE);
  const isOfTexts = values.every((json) => json.startsWith('"'));
  if (derivation || isUncompared || !isOfTexts || values.length < 2) return undefined;
  return dateOrderOf(values.map(bareText));
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

/** A condition on a field, with the rows for which it holds. */
export interface FieldCondition extends Count {
  readonly op: FieldOp;
  readonly code: number;
  /** The cost of its form and its name. */
  readonly cost: number;
}

/**
 * Called with what a `FieldCondition` has: a field of many numbers has thousands of conditions, and an object
 * for each would take longer than to judge it.
 */
type VisitCondition = (op: FieldOp, code: number, events: number, failed: number, cost: number) => void;

/** Every condition on the field that parts the rows that it counted last; `all` are these rows. */
export function fieldConditions(feature: Feature, all: Count): FieldCondition[] {
  const found: FieldCondition[] = [];
  visitConditions(feature, all, (op, code, events, failed, cost) => {
    found.push({ op, code, events, failed, cost });
  });
  return found;
}

/** Visits what `fieldConditions` returns. */
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

/** Most values are of too few events. */
function mayTell(events: number, failed: number): boolean {
  return events >= LEAST_EVENTS && failed >= LEAST_FAILED;
}

/** Visits that the field has a value, or is missing, and the opposite where that is another condition. */
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
  if (mayTell(events, failed)) visit('=', code, events, failed, cost);
  const others = all.events - events;
  const failedOthers = all.failed - failed;
  const costOfOpposite = isPresence ? cost : COST.form + cost;
  if (hasOpposite && mayTell(others, failedOthers)) visit('!=', code, others, failedOthers, costOfOpposite);
}

/** Visits limits between numbers or dates: of a list, limits of what any of its elements is. */
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
      if (feature.hasUpperLimits && mayTell(below, failedBelow)) visit('<=', last, below, failedBelow, cost);
      if (mayTell(above, failedAbove)) visit('>=', code, above, failedAbove, cost);
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

/** The condition that a field has such a value. */
export class FieldTest {
  readonly feature: Feature;
  readonly op: FieldOp;
  readonly code: number;
  /** 1 by each code for which it holds. */
  #accepted: Uint8Array | undefined;
  /** 1 by each row for which it holds, of a field that is counted by cells. */
  #holds: Uint8Array | undefined;

  constructor(feature: Feature, op: FieldOp, code: number) {
    this.feature = feature;
    this.op = op;
    this.code = code;
  }

  filter(rows: Int32Array): Int32Array {
    this.#accepted ??= Uint8Array.from(this.feature.places, (_, other) => Number(this.accepts(other)));
    const kept = this.feature.rowsWith(rows, this.#accepted);
    if (kept) return kept;
    this.#holds ??= this.#holdsByRow();
    return markedRows(rows, this.#holds);
  }

  /** Of a list: rows with any element that the condition accepts; of `!=` and `missing` the other rows. */
  #holdsByRow(): Uint8Array {
    const { feature, op, code } = this;
    const { rows, codes, cells } = feature.field;
    const isOpposite = code === NO_VALUE ? op === '=' : op === '!=';
    const isSought = (other: number) =>
      code === NO_VALUE || (isOpposite ? other === code : this.accepts(other));
    const holds = new Uint8Array(feature.table.rows).fill(Number(isOpposite));
    // `= null` holds where no element has a value.
    if (code !== NO_VALUE && code === feature.nullCode) {
      holds.fill(Number(!isOpposite));
      for (const row of rows) holds[row] = Number(isOpposite);
    }
    for (let cell = 0; cell < cells; cell++)
      if (isSought(codes[cell] as number)) holds[rows[cell] as number] = Number(!isOpposite);
    return holds;
  }

  /** True if it holds for events with this code. */
  accepts(other: number): boolean {
    const { feature, op, code } = this;
    if (op === '=') return other === code;
    if (op === '!=') return other !== code;
    const place = feature.places[other] as number;
    const limit = feature.places[code] as number;
    return place !== -1 && (op === '>=' ? place >= limit : place <= limit);
  }
}

/** A limit as it is written: the roundest number or date between two values that events have. */
export interface Limit {
  readonly op: '>=' | '<=' | '<';
  /** The JSON text of the number or date. */
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
  // A delivered event is as large as another one with the letter that its outcome has more.
  const more = field.derivation === 'size' ? table.moreOfDelivered : 0;
  const isRoom = Number(bareText(low)) + more < Number(bareText(high));
  const lowest = more > 0 && isRoom ? String(Number(bareText(low)) + more) : bareText(low);
  const round = roundestNumber(lowest, bareText(high)) ?? bareText(high);
  if (op === '>=') return { op, json: round };
  return round === bareText(high) || lowest.length <= round.length
    ? { op: '<=', json: lowest }
    : { op: '<', json: round };
}

/** Digits after the point that are tried. */
const MOST_DECIMALS = 15;
/** Zeros at the end that are tried first. */
const MOST_ZEROS = 18;
/** From here on a double does not hold each whole number: only round ones are limits. */
const LARGE = 10 ** 15;

/**
 * The number with the fewest digits that is greater than the first and at most the second; undefined if there
 * is none that a double holds.
 */
function roundestNumber(lower: string, upper: string): string | undefined {
  const low = Number(lower);
  const high = Number(upper);
  if (!Number.isFinite(high)) return undefined;
  const isLarge = Math.abs(high) >= LARGE;
  for (let digits = -MOST_ZEROS; digits <= (isLarge ? 0 : MOST_DECIMALS); digits++) {
    const unit = 10 ** Math.abs(digits);
    const number = digits < 0 ? Math.floor(high / unit) * unit : Math.floor(high * unit) / unit;
    const text = String(number);
    const isExact = !isLarge || String(BigInt(number)) === text;
    if (isExact && number > low && compareNumbers(text, upper) <= 0) return text;
  }
  return undefined;
}
