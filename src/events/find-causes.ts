import { compareNumbers, isNumber } from '../json/item-conditions.ts';
import { type EventTable, FIRST_CODE, type FieldColumn, NO_VALUE, sortRows, UNCODED } from './event-table.ts';

/** Chance explains what is named with a probability below this. */
const SIGNIFICANCE = 0.01;
/** One of several conditions stays if chance makes any candidate narrow the cause down so well with less than this. */
const NEEDED = 0.05;
/** A cause makes a difference of ten points. */
const LEAST_DIFFERENCE = 0.1;
/** Values in fewer events are no candidates: they would tell little even if all of these failed. */
const LEAST_EVENTS = 3;
/** Conditions of a conjunction. */
const MOST_CONDITIONS = 3;
/** Sizes of conjunctions, with and without a span of time: each gets an equal part of the significance. */
const SHAPES = 5;
/** Conjunctions that are tried with another condition. */
const BEAM = 14;
/** The search looks at a part of more events than this, at failed ones first; what it finds is counted exactly. */
const SAMPLE_FAILED = 12_000;
const SAMPLE_DELIVERED = 12_000;
/**
 * Neighbouring limits of a number, or moments at which a span begins, part nearly the same events: they are as many
 * candidates as so many limits and moments at equal distances.
 */
const [MOST_LIMITS, MOST_MOMENTS] = [64, 300];
/** Filters of the service itself (service description, part 4) are the better names for the same events. */
const FILTER_FIELDS = ['subscriptionId', 'eventType'];

type FieldOp = '=' | '!=' | '>=' | '<=' | 'exists' | 'missing';

/** A condition on one field; on the time of creation if it has none. */
export type Test =
  | { readonly feature: Feature; readonly op: FieldOp; readonly code: number }
  | { readonly feature: undefined; readonly span: Span };

/** Ranks of times in the sample, both included; without a bound where the events go on like this. */
export interface Span {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** A field of the events in the sample. */
export class Feature {
  readonly column: FieldColumn;
  /** The code of each event in the sample. Of a field with many numbers it is the number's rank. */
  readonly codes: Uint16Array | Uint32Array;
  readonly size: number;
  /** The codes that stand for numbers, in ascending order. */
  readonly order: Uint32Array;
  /** The position of a code in that order; -1 if it is no number. */
  readonly places: Int32Array;
  /** The code of equal values (`1` and `1.0`) by the column's code; empty if the column has only numbers. */
  readonly canonical: Uint16Array;
  /** The numbers by rank, if the column has only numbers. */
  readonly numbers: Float64Array;
  /** True if every event has it, be it null. */
  readonly isAlwaysThere: boolean;
  /** Fields that are the better name have less. */
  readonly handicap: number;

  /** The first `timed` rows are in order of creation. */
  constructor(table: EventTable, column: FieldColumn, rows: Int32Array, index: number, timed: number) {
    this.column = column;
    this.isAlwaysThere = column.present === table.rows;
    const isFilter = column.steps.length === 1 && FILTER_FIELDS.includes(column.steps[0] as string);
    this.handicap = isFilter ? 0 : 0.02 * column.steps.length + 1e-5 * index;
    if (column.hasNumbers) {
      const numbers = Float64Array.from(rows, (row) => column.numberAt(row));
      this.numbers = Float64Array.from(new Set(numbers.filter((number) => !Number.isNaN(number)))).sort();
      this.canonical = new Uint16Array(0);
      this.codes = Uint32Array.from(numbers, (number, at) =>
        Number.isNaN(number)
          ? Math.min(column.codeAt(rows[at] as number), UNCODED)
          : FIRST_CODE + rankOf(number, this.numbers),
      );
      this.size = FIRST_CODE + this.numbers.length;
      this.order = Uint32Array.from(this.numbers, (_, rank) => FIRST_CODE + rank);
    } else {
      this.numbers = new Float64Array(0);
      this.canonical = canonicalCodes(column);
      this.codes = Uint16Array.from(rows, (row) => this.canonical[column.codeAt(row)] as number);
      this.size = this.canonical.length;
      this.order = numericOrder(column, this.canonical);
    }
    this.places = new Int32Array(this.size).fill(-1);
    for (const [place, code] of this.order.entries()) this.places[code] = place;
    if (this.#countsTime(timed)) this.order = new Uint32Array(0);
  }

  /** True for a number that goes up or down with time, such as one of a sequence: its limits are spans of time. */
  #countsTime(timed: number): boolean {
    let [up, down] = [0, 0];
    let last = -1;
    for (let index = 0; index < timed; index++) {
      const place = this.places[this.codes[index] as number] as number;
      if (place === -1) continue;
      if (last !== -1 && place > last) up++;
      if (last !== -1 && place < last) down++;
      last = place;
    }
    return this.order.length > 20 && Math.min(up, down) < 0.02 * (up + down);
  }

  /** The JSON text of a code's value. */
  textOf(code: number): string {
    return this.column.hasNumbers ? String(this.numbers[code - FIRST_CODE]) : this.column.textOf(code);
  }
}

function rankOf(number: number, sorted: Float64Array): number {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Values that a comparison takes for equal, such as 1 and 1.0, get one code. */
function canonicalCodes(column: FieldColumn): Uint16Array {
  const codes = Uint16Array.from({ length: Math.max(column.codes, FIRST_CODE) }, (_, code) => code);
  const known = new Map<string, number>();
  const texts: { text: string; code: number }[] = [];
  for (let code = FIRST_CODE; code < codes.length; code++) {
    const text = column.textOf(code);
    if (text.startsWith('"')) texts.push({ text: text.slice(1, -1), code });
    else {
      const key = keyOf(text);
      const first = known.get(key);
      if (first === undefined) known.set(key, code);
      else codes[code] = first;
    }
  }
  if (known.size === 0) return codes;
  for (const { text, code } of texts) codes[code] = known.get(keyOf(text)) ?? code;
  return codes;
}

/** The same for all texts of a number, as far as a double can tell them apart. */
function keyOf(text: string): string {
  if (!isNumber(text)) return text;
  const number = String(Number(text));
  return isNumber(number) && compareNumbers(number, text) === 0 ? number : text;
}

function numericOrder(column: FieldColumn, canonical: Uint16Array): Uint32Array {
  const numbers: { code: number; text: string; number: number }[] = [];
  for (let code = FIRST_CODE; code < canonical.length; code++) {
    const text = bare(column.textOf(code));
    if (canonical[code] === code && isNumber(text)) numbers.push({ code, text, number: Number(text) });
  }
  numbers.sort((a, b) => a.number - b.number || compareNumbers(a.text, b.text));
  return Uint32Array.from(numbers, ({ code }) => code);
}

/** A number in quotes is compared as the number that it is. */
export function bare(json: string): string {
  return json.startsWith('"') ? json.slice(1, -1) : json;
}

/** Some of the events in the sample, by ascending index and thereby in order of creation. */
type Members = Int32Array;

interface Count {
  readonly events: number;
  readonly failed: number;
}

interface Candidate extends Count {
  readonly tests: readonly Test[];
  /** The logarithm of how much better it explains the failures than chance, less what its form costs. */
  readonly score: number;
}

/** A condition that is true of the same events as some others together. */
interface Equivalent {
  readonly test: Test;
  readonly tests: readonly Test[];
}

/** Looks for causes among the events that no cause has been found for yet. */
export class CauseSearch {
  /** The events looked at, in order of creation; those whose time is not known come last. */
  readonly rows: Int32Array;
  /** 1 for the events of the sample that failed. */
  readonly #failures: Uint8Array;
  /** Delivered events for which one in the sample stands. */
  readonly #weight: number;
  readonly features: readonly Feature[];
  /** The rank of each event's time; -1 if it is not known. */
  readonly #timeRanks: Int32Array;
  /** The first and the last event of each rank. */
  readonly #firstOfRank: number[] = [];
  readonly #lnTable: Float64Array;
  /** Candidates of one condition, and spans of time. */
  readonly candidates: number;
  readonly #spans: number;
  #members: Members;

  constructor(table: EventTable) {
    const { rows, weight } = sampleOf(table);
    this.rows = rows;
    this.#weight = weight;
    this.#failures = Uint8Array.from(rows, (row) => Number(table.hasFailed(row)));
    const timed = rows.findIndex((row) => !table.times.isKnown(row));
    this.features = table.columns.map(
      (column, index) => new Feature(table, column, rows, index, timed === -1 ? rows.length : timed),
    );
    this.#timeRanks = new Int32Array(rows.length).fill(-1);
    for (const [index, row] of rows.entries()) {
      if (!table.times.isKnown(row)) break;
      if (index === 0 || table.times.compare(rows[index - 1] as number, row) !== 0)
        this.#firstOfRank.push(index);
      this.#timeRanks[index] = this.#firstOfRank.length - 1;
    }
    this.#lnTable = Float64Array.from({ length: rows.length + 1 }, (_, n) => (n > 0 ? n * Math.log(n) : 0));
    this.#members = Int32Array.from(rows, (_, index) => index);
    const moments = Math.min(this.#firstOfRank.length, MOST_MOMENTS);
    this.#spans = Math.max(1, (moments * (moments + 1)) / 2);
    this.candidates = Math.max(1, this.#countCandidates());
  }

  /** The row of the first event of a rank of times. */
  rowOfRank(rank: number): number {
    return this.rows[this.#firstOfRank[rank] as number] as number;
  }

  /** The logarithm of the number of candidates of this form, over all forms. */
  lnCandidates(tests: readonly Test[]): number {
    const fields = tests.filter(({ feature }) => feature).length;
    const spans = fields < tests.length ? Math.log(this.#spans) : 0;
    return Math.log(SHAPES) + lnChoose(Math.max(this.candidates, fields), fields) + spans;
  }

  /** Leaves these events out of what is explained from now on. */
  setAside(tests: readonly Test[]): void {
    this.#members = this.#members.filter((index) => !tests.every((test) => this.#holds(test, index)));
  }

  /** The best explanation of the failures that are left. */
  best(isAllowed: (feature: Feature) => boolean): readonly Test[] | undefined {
    const all = this.#members;
    const whole = this.#countOf(all);
    if (whole.failed < 2 || whole.failed === whole.events) return undefined;
    const features = this.features.filter(isAllowed);
    let level = this.#extensions([], all, whole, features).slice(0, BEAM);
    const found = [...level];
    for (let size = 2; size <= MOST_CONDITIONS; size++) {
      const next = new Map<string, Candidate>();
      for (const candidate of level) {
        const inside = all.filter((index) => candidate.tests.every((test) => this.#holds(test, index)));
        for (const longer of this.#extensions(candidate.tests, inside, whole, features)) {
          const key = `${longer.events} ${longer.failed}`;
          if (longer.score > (next.get(key)?.score ?? Number.NEGATIVE_INFINITY)) next.set(key, longer);
        }
      }
      level = [...next.values()].sort(byScore).slice(0, BEAM);
      found.push(...level);
    }
    const enough = found.filter((candidate) => this.#difference(candidate, whole) >= LEAST_DIFFERENCE);
    const [best] = enough.sort(byScore);
    return best && this.#simplest(best.tests, all, whole);
  }

  /**
   * Conditions on other fields that are true of exactly these events of the sample, or of those of one of the conditions,
   * the simplest of each field.
   */
  equivalents(tests: readonly Test[], isAllowed: (feature: Feature) => boolean): Equivalent[] {
    const used = new Set(tests.map(({ feature }) => feature));
    const wholes = tests.length === 1 ? [tests] : [tests, ...tests.map((test) => [test])];
    return this.features
      .filter((feature) => !used.has(feature) && isAllowed(feature))
      .flatMap((feature) => {
        for (const whole of wholes) {
          const test = this.#equivalent(whole, feature);
          if (test) return [{ test, tests: whole }];
        }
        return [];
      });
  }

  #equivalent(tests: readonly Test[], feature: Feature): Test | undefined {
    const members = this.#members;
    const inside = members.filter((index) => tests.every((test) => this.#holds(test, index)));
    const count = this.#countOf(inside);
    const alike: Candidate[] = [];
    this.#ofField(feature, members, [], this.#countOf(members), (candidate) => {
      if (candidate.events === count.events && candidate.failed === count.failed) alike.push(candidate);
    });
    const [simplest] = alike
      .filter(({ tests: [test] }) => inside.every((index) => this.#holds(test as Test, index)))
      .sort(byScore);
    return simplest?.tests[0];
  }

  #holds(test: Test, index: number): boolean {
    if (!test.feature) {
      const rank = this.#timeRanks[index] as number;
      const { from = 0, to = rank } = test.span;
      return rank >= from && rank <= to && rank !== -1;
    }
    const code = test.feature.codes[index] as number;
    return holdsCode(test, code);
  }

  #countOf(members: Members): Count {
    let failed = 0;
    for (const index of members) failed += this.#failures[index] as number;
    return { events: members.length, failed };
  }

  /** The candidates with one more condition, the best of each field, best first. */
  #extensions(
    tests: readonly Test[],
    inside: Members,
    whole: Count,
    features: readonly Feature[],
  ): Candidate[] {
    const found: Candidate[] = [];
    for (const feature of features) {
      let best: Candidate | undefined;
      let second: Candidate | undefined;
      this.#ofField(feature, inside, tests, whole, (candidate) => {
        if (!best || candidate.score > best.score) [best, second] = [candidate, best];
        else if (!second || candidate.score > second.score) second = candidate;
      });
      if (best) found.push(best);
      if (second) found.push(second);
    }
    if (!tests.some(({ feature }) => feature === undefined)) {
      const span = this.#bestSpan(inside, tests, whole);
      if (span) found.push(span);
    }
    return found.sort(byScore);
  }

  /** Gives `see` every condition on the field that is no chance by its form. */
  #ofField(
    feature: Feature,
    inside: Members,
    tests: readonly Test[],
    whole: Count,
    see: (candidate: Candidate) => void,
  ): void {
    const { codes, size, order, column } = feature;
    const events = new Uint32Array(size);
    const failed = new Uint32Array(size);
    for (const index of inside) {
      const code = codes[index] as number;
      events[code] = (events[code] as number) + 1;
      failed[code] = (failed[code] as number) + (this.#failures[index] as number);
    }
    const all = this.#countOf(inside);
    const lnCandidates = this.lnCandidates([...tests, { feature, op: '=', code: 0 }]);
    const consider = (op: FieldOp, code: number, count: number, failures: number, cost: number) => {
      if (count < LEAST_EVENTS || count === all.events || failures < 2) return;
      const score = this.#gain(count, failures, whole) - lnCandidates - cost - feature.handicap;
      if (score > Number.NEGATIVE_INFINITY)
        see({ tests: [...tests, { feature, op, code }], events: count, failed: failures, score });
    };
    const states = events.reduce((sum, count) => sum + Number(count > 0), 0);
    if (!column.hasNumbers) {
      for (let code = FIRST_CODE; code < size; code++) {
        const [count, failures] = [events[code] as number, failed[code] as number];
        if (count === 0) continue;
        consider('=', code, count, failures, 0);
        if (states > 2) consider('!=', code, all.events - count, all.failed - failures, COST_OF_FORM);
      }
    }
    const [missing, missed] = [events[NO_VALUE] as number, failed[NO_VALUE] as number];
    consider('missing', NO_VALUE, missing, missed, COST_OF_PRESENCE);
    if (missing > 0)
      consider('exists', NO_VALUE, all.events - missing, all.failed - missed, COST_OF_PRESENCE);
    let [count, failures] = [0, 0];
    for (const code of order) {
      count += events[code] as number;
      failures += failed[code] as number;
    }
    const [numbers, failedNumbers] = [count, failures];
    [count, failures] = [0, 0];
    for (let place = 0; place < order.length - 1; place++) {
      const code = order[place] as number;
      if ((events[code] as number) === 0) continue;
      count += events[code] as number;
      failures += failed[code] as number;
      if (count === numbers) break;
      consider('<=', code, count, failures, COST_OF_FORM);
      const next = order[place + 1] as number;
      consider('>=', next, numbers - count, failedNumbers - failures, COST_OF_FORM);
    }
  }

  /**
   * The span in which failures are most unlikely to be chance: the heaviest run of events, each weighing by how much
   * likelier it is inside than outside (Kadane's algorithm), at several rates of failure.
   */
  #bestSpan(inside: Members, tests: readonly Test[], whole: Count): Candidate | undefined {
    const timed = inside.filter((index) => this.#timeRanks[index] !== -1);
    if (timed.length < LEAST_EVENTS) return undefined;
    let best: Candidate | undefined;
    for (const start of [0.95, 0.5, 0.25]) {
      let rate = start;
      for (let round = 0; round < 3; round++) {
        const base = whole.failed / whole.events;
        if (rate <= base * 1.05) break;
        const span = this.#heaviest(timed, rate, Math.max(base * 0.5, 0.5 / whole.events));
        if (!span) break;
        const test = this.#spanTest(timed, span.from, span.to, span.failed / span.events);
        if (!test) break;
        const members = timed.filter((index) => this.#holds(test, index));
        const count = this.#countOf(members);
        const longer = [...tests, test];
        const score =
          this.#gain(count.events, count.failed, whole) - this.lnCandidates(longer) - COST_OF_SPAN;
        if (count.events < inside.length && count.failed > 1 && (!best || score > best.score))
          best = { tests: longer, ...count, score };
        rate = span.failed / span.events;
      }
    }
    return best;
  }

  #heaviest(timed: Members, rate: number, base: number): (Count & { from: number; to: number }) | undefined {
    const inner = Math.min(rate, 0.995);
    const [failure, success] = [Math.log(inner / base), Math.log((1 - inner) / (1 - base))];
    let [sum, start, best] = [0, 0, 0];
    let [from, to] = [0, -1];
    for (const [place, index] of timed.entries()) {
      sum += this.#failures[index] === 1 ? failure : success;
      if (sum < 0) [sum, start] = [0, place + 1];
      else if (sum > best) [best, from, to] = [sum, start, place];
    }
    if (to < from) return undefined;
    return { from, to, ...this.#countOf(timed.subarray(from, to + 1)) };
  }

  /** Bounds stand only where events beyond them contradict the span: a few successes after its last failure do not. */
  #spanTest(timed: Members, from: number, to: number, rate: number): Test | undefined {
    const quiet = (events: number) => (1 - Math.min(rate, 0.995)) ** events > 0.05;
    const rank = (place: number) => this.#timeRanks[timed[place] as number] as number;
    const span = {
      from: quiet(from) ? undefined : rank(from),
      to: quiet(timed.length - 1 - to) ? undefined : rank(to),
    };
    return span.from === undefined && span.to === undefined ? undefined : { feature: undefined, span };
  }

  /** The logarithm of the ratio of likelihoods: two rates of failure for these and the others, or one for all. */
  #gain(events: number, failed: number, whole: Count): number {
    const [restEvents, restFailed] = [whole.events - events, whole.failed - failed];
    if (failed * restEvents <= restFailed * events) return Number.NEGATIVE_INFINITY;
    const ln = this.#lnTable;
    const part = (n: number, of: number) => (ln[n] as number) + (ln[of - n] as number) - (ln[of] as number);
    return part(failed, events) + part(restFailed, restEvents) - part(whole.failed, whole.events);
  }

  /** How much more of these events failed than of the others. */
  #difference({ events, failed }: Count, whole: Count): number {
    return (
      this.#rate({ events, failed }) -
      this.#rate({ events: whole.events - events, failed: whole.failed - failed })
    );
  }

  #rate({ events, failed }: Count): number {
    return events === 0 ? 0 : failed / (failed + (events - failed) * this.#weight);
  }

  /**
   * Leaves out conditions that are not needed, and those without which the cause is more general: where the rest of the
   * more general cause fails too, they would split one cause in two.
   */
  #simplest(tests: readonly Test[], all: Members, whole: Count): readonly Test[] {
    if (tests.length === 1) return tests;
    const own = this.#countOf(all.filter((index) => tests.every((test) => this.#holds(test, index))));
    const shorter = tests.flatMap((test) => {
      const others = tests.filter((other) => other !== test);
      const general = this.#countOf(
        all.filter((index) => others.every((other) => this.#holds(other, index))),
      );
      if (this.#difference(general, whole) < LEAST_DIFFERENCE) return [];
      const rest = { events: general.events - own.events, failed: general.failed - own.failed };
      const outside = { events: whole.events - general.events, failed: whole.failed - general.failed };
      const candidates = test.feature ? this.candidates : this.#spans;
      const needed =
        lnChance(own.failed, own.events, general.failed, general.events) + Math.log(candidates) <
        Math.log(NEEDED);
      const restFails =
        this.#rate(rest) >= (test.feature ? REST_FAILS : REST_FAILS_LATER) * this.#rate(own) &&
        lnChance(rest.failed, rest.events, rest.failed + outside.failed, rest.events + outside.events) <
          Math.log(SIGNIFICANCE);
      if (needed && !restFails) return [];
      return [{ others, gain: this.#gain(general.events, general.failed, whole) }];
    });
    const [best] = shorter.sort((a, b) => b.gain - a.gain);
    return best ? this.#simplest(best.others, all, whole) : tests;
  }

  #countCandidates(): number {
    let candidates = 0;
    for (const { codes, size, order, column } of this.features) {
      const events = new Uint32Array(size);
      for (const code of codes) events[code] = (events[code] as number) + 1;
      const states = events.reduce((sum, count) => sum + Number(count > 0), 0);
      if (events[NO_VALUE] !== 0 && states > 1) candidates += 2;
      if (!column.hasNumbers) {
        const values = events
          .subarray(FIRST_CODE)
          .reduce((sum, count) => sum + Number(count >= LEAST_EVENTS), 0);
        if (states > 1) candidates += states > 2 ? 2 * values : values;
      }
      const numbers = order.reduce((sum, code) => sum + Number((events[code] as number) > 0), 0);
      candidates += 2 * Math.max(0, Math.min(numbers - 1, MOST_LIMITS));
    }
    return candidates;
  }
}

/** What a form costs beside the number of candidates: a value says more than all others but one, or than a limit. */
const [COST_OF_PRESENCE, COST_OF_FORM, COST_OF_SPAN] = [0.3, 2, 2];
/** The rest of a more general cause belongs to it if it fails at this part of the rate; at other times, at this. */
const [REST_FAILS, REST_FAILS_LATER] = [0.4, 0.15];

function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score;
}

/** True if a condition on a field holds for events with this code. */
export function holdsCode(
  { feature, op, code: wanted }: Exclude<Test, { feature: undefined }>,
  code: number,
): boolean {
  switch (op) {
    case '=':
      return code === wanted;
    case '!=':
      return code !== wanted;
    case 'exists':
      return code !== NO_VALUE;
    case 'missing':
      return code === NO_VALUE;
    default: {
      const [place, limit] = [feature.places[code] as number, feature.places[wanted] as number];
      return place !== -1 && (op === '>=' ? place >= limit : place <= limit);
    }
  }
}

/** Rows to search in: all failed and all delivered ones, or evenly spread parts of both, in order of creation. */
function sampleOf(table: EventTable): { rows: Int32Array; weight: number } {
  const delivered = table.rows - table.failed;
  const isSmall = table.rows <= SAMPLE_FAILED + SAMPLE_DELIVERED;
  const steps = isSmall ? [1, 1] : [delivered / SAMPLE_DELIVERED, table.failed / SAMPLE_FAILED];
  const next = [0, 0];
  const seen = [0, 0];
  const rows: number[] = [];
  for (let row = 0; row < table.rows; row++) {
    const kind = Number(table.hasFailed(row));
    if ((seen[kind] as number) >= (next[kind] as number)) {
      rows.push(row);
      next[kind] = (next[kind] as number) + Math.max(1, steps[kind] as number);
    }
    seen[kind] = (seen[kind] as number) + 1;
  }
  return {
    rows: Int32Array.from(sortRows(rows, table.times)),
    weight: Math.max(1, isSmall ? 1 : (steps[0] as number)) / Math.max(1, isSmall ? 1 : (steps[1] as number)),
  };
}

/**
 * Fisher's exact test, one-sided: the natural logarithm of the probability that of `events` events drawn from `allEvents`,
 * of which `allFailed` failed, `failed` or more did.
 */
export function lnChance(failed: number, events: number, allFailed: number, allEvents: number): number {
  const most = Math.min(events, allFailed);
  const least = Math.max(0, events + allFailed - allEvents);
  if (failed <= least) return 0;
  const delivered = allEvents - allFailed;
  let term = 1;
  let sum = 1;
  for (let count = failed; count < most && term > sum * 1e-17; count++) {
    term *= ((allFailed - count) * (events - count)) / ((count + 1) * (delivered - events + count + 1));
    sum += term;
  }
  const lnFirst =
    lnChoose(allFailed, failed) + lnChoose(delivered, events - failed) - lnChoose(allEvents, events);
  return Math.min(0, lnFirst + Math.log(sum));
}

/** The logarithm of the number of ways to choose `some` of `all`. */
export function lnChoose(all: number, some: number): number {
  return lnFactorial(all) - lnFactorial(some) - lnFactorial(all - some);
}

const EXACT = Array.from({ length: 20 }, (_, number) => {
  let product = 1;
  for (let factor = 2; factor <= number; factor++) product *= factor;
  return Math.log(product);
});

/** Stirling's series for the logarithm of the gamma function (Abramowitz and Stegun 6.1.41). */
function lnFactorial(number: number): number {
  if (number < EXACT.length) return EXACT[number] as number;
  const x = number + 1;
  const square = x * x;
  return (
    (x - 0.5) * Math.log(x) -
    x +
    0.5 * Math.log(2 * Math.PI) +
    (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / x
  );
}
