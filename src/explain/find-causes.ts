import { compareNumbers, isNumber } from '../items/item-conditions.ts';
import {
  bareText,
  type ComparisonTable,
  FIRST_CODE,
  type Field,
  filterRows,
  NO_VALUE,
  rowsWithout,
  selectRows,
  sortRows,
  type TimeColumn,
  UNCODED,
} from '../outcomes/comparison-table.ts';

/** Chance explains what is named with a probability below this. */
export const SIGNIFICANCE = 0.01;
/** A cause makes a difference of ten points. */
export const LEAST_DIFFERENCE = 0.1;
/** One of several conditions stays if chance makes any candidate narrow the cause down so well with less than this. */
const NEEDED = 0.05;
/** Values in fewer events are no candidates: they would tell little even if all of these failed. */
const LEAST_EVENTS = 3;
/** Conditions of a conjunction. */
const MOST_CONDITIONS = 3;
/**
 * Sizes of conjunctions, with and without a span of time, and a filter of the service alone: each gets an equal part of the
 * significance. There are few values of a filter, so few events are enough to name one.
 */
const SHAPES = 6;
/** Of more fields than this, only those that tell most by themselves are combined with others. */
const MOST_COMBINED = 400;
/** Conjunctions that are tried with another condition. */
const BEAM = 14;
/** The search looks at a part of more events than this, at failed ones first; what it finds is counted exactly. */
const [SAMPLE_FAILED, SAMPLE_DELIVERED] = [12_000, 12_000];
/**
 * Neighbouring limits of a number, or moments at which a span begins, part nearly the same events: they are as many
 * candidates as so many limits and moments at equal distances.
 */
const [MOST_LIMITS, MOST_MOMENTS] = [64, 300];
/** Filters of the service itself (service description, part 4) are the better names for the same events. */
export const FILTER_FIELDS = ['subscriptionId', 'eventType'];
/** Each form's penalty, in addition to the number of candidates: `= value` says more than `!= value` or a limit does. */
const [COST_OF_PRESENCE, COST_OF_FORM, COST_OF_SPAN] = [0.3, 2, 2];
/** Values that fail at this part of the rate, or less, are delivered. */
const DELIVERED_RATE = 0.4;
/** The rest of a more general cause belongs to it if it fails at this part of the rate. */
const REST_FAILS = 0.15;
/** The same beside a sharp cause: one in a span of time, or of which nearly all events fail. */
const REST_FAILS_BESIDE_SHARP = 0.4;
/** Nearly all events of a cause fail from this rate on. */
const NEARLY_ALL_FAIL = 0.9;
/** A condition stays if without it the cause fails at most at this part of its rate. */
const MOST_RATE_WITHOUT = 0.95;
/** The same of `!=`, which takes away one value of many and says little, but for a sharp cause. */
const MOST_RATE_WITHOUT_UNEQUAL = 0.3;

export interface Count {
  readonly events: number;
  readonly failed: number;
}

/** A comparison with the value of a code; with `NO_VALUE`, that the field is missing or there. */
type FieldOp = '=' | '!=' | '>=' | '<=';

/** A field of the events in the sample. */
export class Feature {
  readonly field: Field;
  /** The code of each event in the sample by its row. Of a field with many numbers it is the number's rank. */
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

  /** `rows` are in order of creation. */
  constructor(table: ComparisonTable, field: Field, rows: Int32Array, index: number) {
    this.field = field;
    this.isAlwaysThere = field.present === table.rows;
    this.isFilter = field.steps.length === 1 && FILTER_FIELDS.includes(field.steps[0] as string);
    this.handicap = this.isFilter ? 0 : 0.02 * field.steps.length + 1e-5 * index;
    const { numbers } = field;
    this.codes = numbers ? new Uint32Array(table.rows) : field.codes;
    if (numbers) {
      const found = new Set(Array.from(rows, (row) => numbers[row] as number));
      found.delete(Number.NaN);
      this.#numbers = Float64Array.from(found).sort();
      const ranks = new Map(Array.from(this.#numbers, (number, rank) => [number, FIRST_CODE + rank]));
      for (const row of rows)
        this.codes[row] = ranks.get(numbers[row] as number) ?? (field.codes[row] as number);
      this.order = [...ranks.values()];
    } else this.order = numericOrder(field.texts);
    const size = this.#numbers ? FIRST_CODE + this.#numbers.length : field.texts.length;
    this.places = new Int32Array(size).fill(-1);
    for (const [place, code] of this.order.entries()) {
      // Texts such as "1" and "1.0" are one number, which no limit parts.
      const before = this.order[place - 1];
      const isSame = before !== undefined && Number(this.bareText(before)) === Number(this.bareText(code));
      this.places[code] = isSame ? (this.places[before] as number) : place;
    }
    if (this.#countsTime(rows, table)) this.order = [];
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

  /** True for a number that goes up or down with time, such as one of a sequence: its limits are spans of time. */
  #countsTime(rows: Int32Array, { times }: ComparisonTable): boolean {
    let [up, down] = [0, 0];
    let last = Number.NaN;
    for (const row of rows) {
      const place = this.places[this.codes[row] as number] as number;
      if (place === -1 || !times.isKnown(row)) continue;
      if (place > last) up++;
      if (place < last) down++;
      last = place;
    }
    return this.order.length > 20 && Math.min(up, down) < 0.02 * (up + down);
  }
}

function numericOrder(texts: readonly string[]): number[] {
  return texts
    .map((json, code) => ({ code, text: bareText(json), number: Number(bareText(json)) }))
    .filter(({ text }) => isNumber(text))
    .sort((a, b) => a.number - b.number || compareNumbers(a.text, b.text))
    .map(({ code }) => code);
}

/** The condition that a field has such a value. */
export class FieldTest {
  readonly feature: Feature;
  readonly op: FieldOp;
  readonly code: number;
  /** 1 by each code for which it holds. */
  #accepted: Uint8Array | undefined;

  constructor(feature: Feature, op: FieldOp, code: number) {
    this.feature = feature;
    this.op = op;
    this.code = code;
  }

  filter(rows: Int32Array): Int32Array {
    const { feature, code } = this;
    const { numbers, codes } = feature.field;
    if (numbers && code !== NO_VALUE) return this.#filterNumbers(rows, numbers);
    this.#accepted ??= Uint8Array.from(feature.places, (_, other) => Number(this.accepts(other)));
    return selectRows(rows, codes, this.#accepted);
  }

  #filterNumbers(rows: Int32Array, numbers: Float64Array): Int32Array {
    const { op, json } = limitOf(this);
    const limit = Number(json);
    if (op === '>=') return filterRows(rows, (row) => (numbers[row] as number) >= limit);
    return op === '<='
      ? filterRows(rows, (row) => (numbers[row] as number) <= limit)
      : filterRows(rows, (row) => (numbers[row] as number) < limit);
  }

  /** True if it holds for events with this code. */
  accepts(other: number): boolean {
    const { feature, op, code } = this;
    if (op === '=') return other === code;
    if (op === '!=') return other !== code;
    const [place, limit] = [feature.places[other] as number, feature.places[code] as number];
    return place !== -1 && (op === '>=' ? place >= limit : place <= limit);
  }
}

/** The condition that an event was created between two others, or at the same time as one of them. */
export class SpanTest {
  readonly feature = undefined;
  readonly #times: TimeColumn;
  /** Rows; undefined where the events go on like this. */
  readonly from: number | undefined;
  readonly to: number | undefined;

  constructor(times: TimeColumn, from?: number, to?: number) {
    this.#times = times;
    this.from = from;
    this.to = to;
  }

  filter(rows: Int32Array): Int32Array {
    const { from, to } = this;
    const times = this.#times;
    const isInside = (row: number) =>
      times.isKnown(row) &&
      (from === undefined || times.compare(row, from) >= 0) &&
      (to === undefined || times.compare(row, to) <= 0);
    return filterRows(rows, isInside);
  }
}

export type Test = FieldTest | SpanTest;

/** The rows for which all tests hold. A span takes the most time, so it gets the rows that the fields leave. */
export function filterByAll(tests: readonly Test[], rows: Int32Array): Int32Array {
  const spanLast = [...tests.filter(({ feature }) => feature), ...tests.filter(({ feature }) => !feature)];
  return spanLast.reduce((left, test) => test.filter(left), rows);
}

export function countRows(rows: Int32Array, failures: Uint8Array): Count {
  let failed = 0;
  for (let index = 0; index < rows.length; index++) failed += failures[rows[index] as number] as number;
  return { events: rows.length, failed };
}

/** A limit that parts the values in the same way as the test: the roundest number there is between them. */
export function limitOf({ feature, op, code }: FieldTest): { op: '>=' | '<=' | '<'; json: string } {
  const { order } = feature;
  const place = order.indexOf(code);
  const [below, above] = op === '>=' ? [place - 1, place] : [place, place + 1];
  const [low, high] = [below, above].map((at) => feature.bareText(order[at] as number)) as [string, string];
  const round = roundNumber(low, high) ?? high;
  if (op === '>=') return { op, json: round };
  return round === high || low.length <= round.length ? { op: '<=', json: low } : { op: '<', json: round };
}

/** The number with the fewest digits that is greater than the first and at most the second; undefined if both are too long. */
function roundNumber(lower: string, upper: string): string | undefined {
  const [low, high] = [Number(lower), Number(upper)];
  if (!(Math.abs(low) < 1e15 && Math.abs(high) < 1e15)) return undefined;
  for (let digits = -15; digits <= 15; digits++) {
    const unit = 10 ** Math.abs(digits);
    const number = digits < 0 ? Math.floor(high / unit) * unit : Math.floor(high * unit) / unit;
    const text = String(number);
    if (number > low && compareNumbers(text, upper) <= 0) return text;
  }
  return undefined;
}

interface Candidate extends Count {
  readonly tests: readonly Test[];
  /** The logarithm of how likely it makes the failures, less what its form costs. */
  readonly score: number;
}

/** Places of the first and the last event of a span among those whose time is known. */
type Run = { readonly from: number; readonly to: number };

/** Looks for causes among the events of a sample that no cause has been found for yet. */
export class CauseSearch {
  readonly features: readonly Feature[];
  readonly #table: ComparisonTable;
  /** The rows of the sample that are not set aside, in order of creation, those whose time is not known last. */
  #rows: Int32Array;
  /** Delivered events for which one in the sample stands. */
  readonly #weight: number;
  /** Each number times its logarithm. */
  readonly #lnTable: Float64Array;
  /** Candidates of one condition, and spans of time. */
  readonly #candidates: number;
  readonly #filters: number;
  readonly #spans: number;

  constructor(table: ComparisonTable) {
    const { rows, weight } = sampleOf(table);
    this.#table = table;
    this.#rows = rows;
    this.#weight = weight;
    this.features = table.fields.map((field, index) => new Feature(table, field, rows, index));
    const timed = this.#timed(rows);
    const moments = timed.filter((_, at) => at === 0 || !this.#isSameTime(timed, at - 1, at));
    const ends = Math.min(moments.length, MOST_MOMENTS);
    this.#spans = Math.max(1, (ends * (ends + 1)) / 2);
    this.#lnTable = Float64Array.from({ length: rows.length + 1 }, (_, n) => (n > 0 ? n * Math.log(n) : 0));
    this.#candidates = this.#countCandidates(this.features);
    this.#filters = this.#countCandidates(this.features.filter(({ isFilter }) => isFilter));
  }

  /** The logarithm of the number of candidates of this form, over all forms. */
  lnCandidates(tests: readonly Pick<Test, 'feature'>[]): number {
    if (tests.length === 1 && tests[0]?.feature?.isFilter) return Math.log(SHAPES * this.#filters);
    const fields = tests.filter(({ feature }) => feature).length;
    const spans = fields < tests.length ? Math.log(this.#spans) : 0;
    return Math.log(SHAPES) + lnChoose(Math.max(this.#candidates, fields), fields) + spans;
  }

  /** Leaves these events out of what is explained from now on. */
  setAside(tests: readonly Test[]): void {
    this.#rows = rowsWithout(this.#rows, filterByAll(tests, this.#rows));
  }

  /** The best explanation of the failures that are left. */
  best(features: readonly Feature[]): readonly Test[] | undefined {
    const whole = this.#countOf(this.#rows);
    if (whole.failed < 2) return undefined;
    const alone = this.#extensions([], whole, features);
    const combined = features.length > MOST_COMBINED ? mostTellingOf(alone, features) : features;
    let level = alone.slice(0, BEAM);
    const found = [...level];
    for (let size = 2; size <= MOST_CONDITIONS; size++) {
      const next = new Map<string, Candidate>();
      for (const { tests } of level) {
        for (const longer of this.#extensions(tests, whole, combined)) {
          const key = `${longer.events} ${longer.failed}`;
          if (longer.score > (next.get(key)?.score ?? Number.NEGATIVE_INFINITY)) next.set(key, longer);
        }
      }
      level = [...next.values()].sort(byScore).slice(0, BEAM);
      found.push(...level);
    }
    for (const { tests } of found.filter((one) => this.#makesDifference(one, whole)).sort(byScore)) {
      const simplest = this.#simplest(tests, whole);
      const cause = simplest && this.#withOwnSpan(simplest, whole);
      if (cause && !this.#takesInDelivered(cause)) return cause;
    }
    return undefined;
  }

  /** A span that was found among more events need not begin and end with those for which the other conditions hold. */
  #withOwnSpan(tests: readonly Test[], whole: Count): readonly Test[] {
    const others = tests.filter(({ feature }) => feature);
    if (others.length === tests.length) return tests;
    return this.#bestSpan(filterByAll(others, this.#rows), others, whole)?.tests ?? tests;
  }

  /** The simplest condition on each of the fields that is true of exactly these events of the sample. */
  equivalents(tests: readonly Test[], features: readonly Feature[]): FieldTest[] {
    const inside = filterByAll(tests, this.#rows);
    return features.flatMap((feature) => {
      const alike: { test: FieldTest; cost: number }[] = [];
      this.#eachCondition(feature, this.#rows, (op, code, events, _, cost) => {
        if (events === inside.length) alike.push({ test: new FieldTest(feature, op, code), cost });
      });
      alike.sort((a, b) => a.cost - b.cost);
      return alike.find(({ test }) => test.filter(inside).length === inside.length)?.test ?? [];
    });
  }

  /** The condition on the field that tells the failures best from the other events. */
  mostTelling(feature: Feature): FieldTest | undefined {
    const [best] = this.#bestOn(feature, this.#rows, [], this.#countOf(this.#rows));
    return best?.tests[0] as FieldTest | undefined;
  }

  #countOf(rows: Int32Array): Count {
    return countRows(rows, this.#table.failures);
  }

  #timed(rows: Int32Array): Int32Array {
    const { times } = this.#table;
    return filterRows(rows, (row) => times.isKnown(row));
  }

  #isSameTime(rows: Int32Array, one: number, other: number): boolean {
    return this.#table.times.compare(rows[one] as number, rows[other] as number) === 0;
  }

  /** The candidates with one more condition, the best two of each field, best first. */
  #extensions(tests: readonly Test[], whole: Count, features: readonly Feature[]): Candidate[] {
    const inside = filterByAll(tests, this.#rows);
    const found = features.flatMap((feature) => this.#bestOn(feature, inside, tests, whole));
    if (tests.every(({ feature }) => feature)) {
      const span = this.#bestSpan(inside, tests, whole);
      if (span) found.push(span);
    }
    return found.sort(byScore);
  }

  /** The best two conditions on the field beside those that hold for the rows inside, best first. */
  #bestOn(feature: Feature, inside: Int32Array, tests: readonly Test[], whole: Count): Candidate[] {
    const lnCandidates = this.lnCandidates([...tests, { feature }]);
    const best: Candidate[] = [];
    let delivered: readonly number[] | undefined;
    this.#eachCondition(feature, inside, (op, code, events, failed, cost) => {
      const score = this.#gain(events, failed, whole) - lnCandidates - cost - feature.handicap;
      if (score <= (best[1]?.score ?? Number.NEGATIVE_INFINITY)) return;
      const test = new FieldTest(feature, op, code);
      // A form that takes in values which are delivered would name one that works, in place of several causes.
      if (op !== '=') {
        delivered ??= this.#deliveredCodes(feature, this.#countOf(inside));
        if (delivered.some((other) => test.accepts(other))) return;
      }
      best[best.length === 0 ? 0 : 1] = { tests: [...tests, test], events, failed, score };
      best.sort(byScore);
    });
    return best;
  }

  /** True if a condition takes in values that are delivered where the others hold, such as a span that was added later. */
  #takesInDelivered(tests: readonly Test[]): boolean {
    return tests.some((test) => {
      if (!(test instanceof FieldTest) || test.op === '=') return false;
      const others = tests.filter((other) => other !== test);
      const all = test.feature.count(filterByAll(others, this.#rows), this.#table.failures);
      return this.#deliveredCodes(test.feature, all).some((code) => test.accepts(code));
    });
  }

  /** The codes whose events, as last counted, are delivered so much more often than all that it is no chance. */
  #deliveredCodes({ events, failed }: Feature, all: Count): number[] {
    const rate = this.#rateOf(all);
    const delivered = { events: all.events, failed: all.events - all.failed };
    const lnMost = Math.log(NEEDED / countIf(events, (count) => count > 0));
    return Array.from(events.keys()).filter((code) => {
      const [count, failures] = [events[code] as number, failed[code] as number];
      if (this.#rateOf({ events: count, failed: failures }) > DELIVERED_RATE * rate) return false;
      return lnChance({ events: count, failed: count - failures }, delivered) < lnMost;
    });
  }

  /** Gives `see` every condition on the field that parts these events, with those for which it holds and what its form costs. */
  #eachCondition(
    feature: Feature,
    rows: Int32Array,
    see: (op: FieldOp, code: number, events: number, failed: number, cost: number) => void,
  ): void {
    const { field, events, failed, order, places } = feature;
    const all = feature.count(rows, this.#table.failures);
    const consider: typeof see = (op, code, count, failures, cost) => {
      if (count >= LEAST_EVENTS && failures >= 2) see(op, code, count, failures, cost);
    };
    const states = field.numbers ? 0 : countIf(events, (count) => count > 0);
    for (let code = NO_VALUE; code < (field.numbers ? FIRST_CODE : events.length); code++) {
      const [count, failures] = [events[code] as number, failed[code] as number];
      if (count === 0 || code === UNCODED) continue;
      const isPresence = code === NO_VALUE;
      consider('=', code, count, failures, isPresence ? COST_OF_PRESENCE : 0);
      const cost = isPresence ? COST_OF_PRESENCE : COST_OF_FORM;
      if (states > 2 || isPresence) consider('!=', code, all.events - count, all.failed - failures, cost);
    }
    let [rest, failedRest] = [0, 0];
    for (const code of order) {
      rest += events[code] as number;
      failedRest += failed[code] as number;
    }
    const [numbers, failedNumbers] = [rest, failedRest];
    let last: number | undefined;
    for (const code of order) {
      if (events[code] === 0) continue;
      if (last !== undefined && places[last] !== places[code]) {
        consider('<=', last, numbers - rest, failedNumbers - failedRest, COST_OF_FORM);
        consider('>=', code, rest, failedRest, COST_OF_FORM);
      }
      rest -= events[code] as number;
      failedRest -= failed[code] as number;
      last = code;
    }
  }

  /**
   * The span in which failures are most unlikely to be chance: the heaviest run of events, each weighing by how much
   * likelier it is inside than outside (Kadane's algorithm), at several rates of failure.
   */
  #bestSpan(inside: Int32Array, tests: readonly Test[], whole: Count): Candidate | undefined {
    const timed = this.#timed(inside);
    const base = whole.failed / whole.events;
    let best: Candidate | undefined;
    for (const start of [0.95, 0.5, 0.25]) {
      // Most events fail here: only a greater rate parts them.
      let rate = Math.max(start, base * 1.1);
      for (let round = 0; round < 3 && rate > base; round++) {
        const run = this.#heaviest(timed, rate, base / 2);
        if (!run) break;
        const { events, failed } = this.#countOf(timed.subarray(run.from, run.to + 1));
        rate = failed / events;
        const { from, to } = this.#boundsOf(timed, run, rate);
        const count = this.#countOf(timed.subarray(from, to + 1));
        const bound = (place: number, end: number) => (place === end ? undefined : timed[place]);
        const test = new SpanTest(this.#table.times, bound(from, 0), bound(to, timed.length - 1));
        const more = [...tests, test];
        const score = this.#gain(count.events, count.failed, whole) - this.lnCandidates(more) - COST_OF_SPAN;
        if (count.events < timed.length && count.failed > 1 && (!best || score > best.score))
          best = { tests: more, ...count, score };
      }
    }
    return best;
  }

  #heaviest(timed: Int32Array, rate: number, base: number): Run | undefined {
    const inner = Math.min(rate, 0.995);
    const [failure, success] = [Math.log(inner / base), Math.log((1 - inner) / (1 - base))];
    let [sum, start, most] = [0, 0, 0];
    let run: Run | undefined;
    for (let place = 0; place < timed.length; place++) {
      sum += this.#table.failures[timed[place] as number] === 1 ? failure : success;
      if (sum < 0) [sum, start] = [0, place + 1];
      else if (sum > most) [most, run] = [sum, { from: start, to: place }];
    }
    return run;
  }

  /** Bounds stand only where events beyond them contradict the span: a few successes do not, nor others that fail like it. */
  #boundsOf(timed: Int32Array, run: Run, rate: number): Run {
    const isOver = (beyond: Int32Array) => {
      const { events, failed } = this.#countOf(beyond);
      return failed < DELIVERED_RATE * rate * events && (1 - rate) ** events <= 0.05;
    };
    const last = timed.length - 1;
    let from = isOver(timed.subarray(0, run.from)) ? run.from : 0;
    let to = isOver(timed.subarray(run.to + 1)) ? run.to : last;
    // Events of one moment are inside together.
    while (from > 0 && this.#isSameTime(timed, from - 1, from)) from--;
    while (to < last && this.#isSameTime(timed, to, to + 1)) to++;
    return { from, to };
  }

  /** The logarithm of the likelihood that these and the others have two rates of failure, to compare with that of another part. */
  #gain(events: number, failed: number, whole: Count): number {
    const [restEvents, restFailed] = [whole.events - events, whole.failed - failed];
    if (failed * restEvents <= restFailed * events) return Number.NEGATIVE_INFINITY;
    const ln = this.#lnTable;
    const part = (n: number, of: number) => (ln[n] as number) + (ln[of - n] as number) - (ln[of] as number);
    return part(failed, events) + part(restFailed, restEvents);
  }

  /**
   * Leaves out conditions that are not needed, also the number of a limit beside that its field is there, and those without
   * which the cause is more general: where the rest of the more general cause fails too, they would split one cause in two.
   * None if only one that is not needed makes the difference.
   */
  #simplest(tests: readonly Test[], whole: Count): readonly Test[] | undefined {
    const own = this.#countOf(filterByAll(tests, this.#rows));
    const isSharp = this.#rateOf(own) >= NEARLY_ALL_FAIL || tests.some(({ feature }) => !feature);
    const generals = tests.flatMap((test) => {
      const others = tests.filter((other) => other !== test);
      const dropped = others.length > 0 ? [{ test, others }] : [];
      if (!(test instanceof FieldTest && /[<>]/.test(test.op))) return dropped;
      return [...dropped, { test, others: [...others, new FieldTest(test.feature, '!=', NO_VALUE)] }];
    });
    const shorter = generals.flatMap(({ test, others }) => {
      const general = this.#countOf(filterByAll(others, this.#rows));
      const isTelling = this.#makesDifference(general, whole);
      const rest = without(general, own);
      const lnMost = Math.log(NEEDED / (test.feature ? this.#candidates : this.#spans));
      const leastOfRest = isSharp && test.feature ? REST_FAILS_BESIDE_SHARP : REST_FAILS;
      const isSignificant = lnChance(own, general) < lnMost;
      const restFails =
        this.#rateOf(rest) >= leastOfRest * this.#rateOf(own) &&
        lnChance(rest, without(whole, own)) < Math.log(SIGNIFICANCE);
      const isNeeded =
        isSignificant && this.#raisesRate(test, own, general, isSharp) && !(isTelling && restFails);
      return isNeeded ? [] : [{ others, isTelling, gain: this.#gain(general.events, general.failed, whole) }];
    });
    const [best] = shorter.sort((a, b) => Number(b.isTelling) - Number(a.isTelling) || b.gain - a.gain);
    if (!best) return tests;
    return best.isTelling ? this.#simplest(best.others, whole) : undefined;
  }

  /** True if the condition takes away enough that is delivered; a span of time always may. */
  #raisesRate(test: Test, own: Count, general: Count, isSharp: boolean): boolean {
    if (!test.feature) return true;
    const isWeak = isUnequal(test) && !isSharp;
    const most = isWeak ? MOST_RATE_WITHOUT_UNEQUAL : MOST_RATE_WITHOUT;
    return this.#rateOf(general) <= most * this.#rateOf(own);
  }

  #rateOf(count: Count): number {
    return rateOf(count, this.#weight);
  }

  #makesDifference(count: Count, whole: Count): boolean {
    return differenceOf(count, whole, this.#weight) >= LEAST_DIFFERENCE;
  }

  #countCandidates(features: readonly Feature[]): number {
    let candidates = 0;
    for (const feature of features) {
      const { events, order, field } = feature;
      feature.count(this.#rows, this.#table.failures);
      const states = countIf(events, (count) => count > 0);
      if (events[NO_VALUE] !== 0 && states > 1) candidates += 2;
      const values = countIf(events.subarray(FIRST_CODE), (count) => count >= LEAST_EVENTS);
      if (!field.numbers && states > 1) candidates += states > 2 ? 2 * values : values;
      const numbers = countIf(order, (code) => (events[code] as number) > 0);
      candidates += 2 * Math.max(0, Math.min(numbers - 1, MOST_LIMITS));
    }
    return Math.max(1, candidates);
  }
}

/** True for a condition that one value of a field is not there. */
function isUnequal({ op, code }: FieldTest): boolean {
  return op === '!=' && code !== NO_VALUE;
}

/** The fields whose conditions tell most by themselves, and the service's own filters. */
function mostTellingOf(candidates: readonly Candidate[], features: readonly Feature[]): Feature[] {
  const telling = new Set(candidates.slice(0, MOST_COMBINED).map(({ tests }) => tests[0]?.feature));
  return features.filter((feature) => feature.isFilter || telling.has(feature));
}

function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score;
}

function countIf(numbers: Iterable<number>, holds: (number: number) => boolean): number {
  let count = 0;
  for (const number of numbers) if (holds(number)) count++;
  return count;
}

/** The events of the first count that are not in the second. */
export function without(whole: Count, part: Count): Count {
  return { events: whole.events - part.events, failed: whole.failed - part.failed };
}

/** Rows to search in, in order of creation: all of them, or evenly spread parts of the failed and of the delivered ones. */
function sampleOf(table: ComparisonTable): { rows: Int32Array; weight: number } {
  const delivered = table.rows - table.failed;
  const isWhole = table.rows <= SAMPLE_FAILED + SAMPLE_DELIVERED;
  const share = isWhole ? 1 : Math.min(1, SAMPLE_DELIVERED / delivered);
  const shareOfFailed = isWhole ? 1 : Math.min(1, SAMPLE_FAILED / table.failed);
  let [seen, seenFailed] = [0, 0];
  const rows: number[] = [];
  for (let row = 0; row < table.rows; row++) {
    const [place, part] = table.failures[row] === 1 ? [seenFailed++, shareOfFailed] : [seen++, share];
    if (Math.floor(place * part) < Math.floor((place + 1) * part)) rows.push(row);
  }
  return { rows: Int32Array.from(sortRows(rows, table.times)), weight: shareOfFailed / share };
}

/**
 * Fisher's exact test, one-sided: the natural logarithm of the probability that, if as many events as `inside` has are drawn
 * from those of `whole`, as many of them or more failed.
 */
export function lnChance(inside: Count, whole: Count): number {
  const { failed, events } = inside;
  const delivered = whole.events - whole.failed;
  let [term, sum] = [1, 1];
  // A term is 0 where no more events can have failed.
  for (let count = failed; term > sum * 1e-17; count++) {
    term *= ((whole.failed - count) * (events - count)) / ((count + 1) * (delivered - events + count + 1));
    sum += term;
  }
  const lnFirst =
    lnChoose(whole.failed, failed) + lnChoose(delivered, events - failed) - lnChoose(whole.events, events);
  return Math.min(0, lnFirst + Math.log(sum));
}

/** True if these events fail so much more often than the others that it is no chance, and matters. */
export function isCause(inside: Count, whole: Count): boolean {
  return lnChance(inside, whole) < Math.log(SIGNIFICANCE) && differenceOf(inside, whole) >= LEAST_DIFFERENCE;
}

/** How much more of these events failed than of the others. Each delivered event stands for `weight` of them. */
export function differenceOf(inside: Count, whole: Count, weight = 1): number {
  return rateOf(inside, weight) - rateOf(without(whole, inside), weight);
}

function rateOf({ events, failed }: Count, weight: number): number {
  return events === 0 ? 0 : failed / (failed + (events - failed) * weight);
}

/** The logarithm of the number of ways to choose `some` of `all`. */
function lnChoose(all: number, some: number): number {
  return lnFactorial(all) - lnFactorial(some) - lnFactorial(all - some);
}

/** Stirling's series for the logarithm of the gamma function (Abramowitz and Stegun 6.1.41). */
function lnFactorial(number: number): number {
  let [x, product] = [number + 1, 1];
  // The series is exact from here on.
  for (; x < 20; x++) product *= x;
  const square = x * x;
  const series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}
