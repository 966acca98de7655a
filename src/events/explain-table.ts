import { compareNumbers, conditionText, exactValue } from '../json/item-conditions.ts';
import { fieldPath } from '../json/item-fields.ts';
import { compareInstants, type Instant, knownInstant } from '../time/instant.ts';
import { type EventTable, FIRST_CODE, type FieldColumn, NO_VALUE } from './event-table.ts';
import { bare, CauseSearch, type Feature, holdsCode, lnChance, type Test } from './find-causes.ts';

/** A condition on a field. */
export interface CauseCondition {
  /** A path as `--fields` takes it. */
  readonly field: string;
  readonly op: '=' | '!=' | '<' | '<=' | '>' | '>=' | 'exists' | 'missing';
  /** Null with `exists` and `missing`. A number that JavaScript cannot hold is a text. */
  readonly value: unknown;
  /** The condition as `--where` takes it. */
  readonly text: string;
}

/** A cause: conditions that failed events have in common. The counts are of the events that the causes before it leave. */
export interface Cause {
  /** All of them hold for the events of this cause. */
  readonly conditions: readonly CauseCondition[];
  readonly failed: number;
  readonly events: number;
  readonly failedWithout: number;
  readonly eventsWithout: number;
  /** The probability that chance makes any candidate look like this: Fisher's exact test with Bonferroni's correction. */
  readonly p: number;
  /** Conditions that are true of the same events. */
  readonly same: readonly CauseCondition[];
  readonly firstFailed: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  readonly lastSuccess: Instant | undefined;
  /** The first of the failures that no success follows; undefined if the newest event was delivered. */
  readonly failingSince: Instant | undefined;
  /** Times between which, both excluded, the events of its span of time were created. */
  readonly after: Instant | undefined;
  readonly before: Instant | undefined;
}

/** A field or value that only failed events have: an effect of the failure rather than its cause. */
export interface Effect extends CauseCondition {
  readonly failed: number;
  /** The most frequent values of a field that only failures have. */
  readonly values: readonly { readonly value: unknown; readonly failed: number }[];
}

export interface Explanation {
  readonly events: number;
  readonly failed: number;
  readonly causes: readonly Cause[];
  /** Failures that no cause explains. */
  readonly unexplained: number;
  readonly onlyInFailures: readonly Effect[];
  /** Paths of fields that differ in nearly every event, or have too many values. */
  readonly notCompared: readonly string[];
}

const SIGNIFICANCE = 0.01;
const LEAST_DIFFERENCE = 0.1;
const MOST_CAUSES = 5;
const MOST_SAME = 20;
/** Named values of a field that only failures have. */
const MOST_EFFECT_VALUES = 5;

/** Compares the failed events of a table with the others. */
export function explainTable(table: EventTable): Explanation {
  table.finish();
  const { failed, rows: events } = table;
  const notCompared = [...table.columns.filter(({ uncompared }) => uncompared), ...table.overfull].map(
    ({ steps }) => fieldPath(steps).text,
  );
  const found = { events, failed, notCompared: [...new Set(notCompared)].sort() };
  if (failed === 0 || failed === events)
    return { ...found, causes: [], unexplained: failed, onlyInFailures: [] };
  const search = new CauseSearch(table);
  const effects = new Effects(table, search.features);
  let causes = findCauses(table, search, (feature) => !effects.columns.has(feature.column));
  // Where nothing else explains the failures, what only they have may be the cause after all.
  if (causes.length === 0)
    causes = findCauses(table, search, (feature) => !effects.certain.has(feature.column));
  const explained = causes.reduce((sum, cause) => sum + cause.failed, 0);
  return { ...found, causes, unexplained: failed - explained, onlyInFailures: effects.list };
}

function findCauses(
  table: EventTable,
  search: CauseSearch,
  isAllowed: (feature: Feature) => boolean,
): Cause[] {
  const causes: Cause[] = [];
  // The rows that no cause explains yet.
  const isLeft = new Uint8Array(table.rows).fill(1);
  while (causes.length < MOST_CAUSES) {
    const best = search.best(isAllowed);
    if (!best) break;
    const tests = withoutNeedlessSpan(table, search, best, isLeft);
    const tally = tallyOf(table, rowsOf(table, search, tests, isLeft), isLeft);
    const lnP =
      lnChance(
        tally.failed,
        tally.events,
        tally.failed + tally.failedWithout,
        tally.events + tally.eventsWithout,
      ) + search.lnCandidates(tests);
    if (lnP >= Math.log(SIGNIFICANCE) || differenceOf(tally) < LEAST_DIFFERENCE) break;
    const same = search
      .equivalents(tests, isAllowed)
      .filter(({ tests: own, test }) => {
        const rows = own === tests ? tally.isInside : rowsOf(table, search, own, isLeft);
        return isSame(rows, rowTest(table, search, test), isLeft);
      })
      .map(({ test }) => test);
    causes.push({
      conditions: conditionsOf(table, search, tests),
      failed: tally.failed,
      events: tally.events,
      failedWithout: tally.failedWithout,
      eventsWithout: tally.eventsWithout,
      p: Math.max(Math.exp(lnP), Number.MIN_VALUE),
      same: withoutInner(same)
        .slice(0, MOST_SAME)
        .flatMap((test) => conditionsOf(table, search, [test])),
      ...timesOf(table, tally, isOver(tests)),
      ...boundsAround(table, search, tests),
    });
    for (let row = 0; row < table.rows; row++) if (tally.isInside[row]) isLeft[row] = 0;
    search.setAside(tests);
  }
  return causes;
}

type RowTest = (row: number) => boolean;

/** The condition on any row of the table. */
function rowTest(table: EventTable, search: CauseSearch, test: Test): RowTest {
  if (!test.feature) {
    const { times } = table;
    const { from, to } = test.span;
    const [first, last] = [from, to].map((rank) => (rank === undefined ? undefined : search.rowOfRank(rank)));
    return (row) =>
      times.isKnown(row) &&
      (first === undefined || times.compare(row, first) >= 0) &&
      (last === undefined || times.compare(row, last) <= 0);
  }
  const { column, canonical } = test.feature;
  if (!column.hasNumbers) return (row) => holdsCode(test, canonical[column.codeAt(row)] as number);
  if (test.op === 'exists' || test.op === 'missing')
    return (row) => (column.codeAt(row) === NO_VALUE) === (test.op === 'missing');
  const { op, json } = limitOf(test.feature, test.op as '>=' | '<=', test.code);
  const limit = Number(json);
  if (op === '>=') return (row) => column.numberAt(row) >= limit;
  return op === '<=' ? (row) => column.numberAt(row) <= limit : (row) => column.numberAt(row) < limit;
}

interface RowTally {
  failed: number;
  events: number;
  failedWithout: number;
  eventsWithout: number;
  /** Rows; -1 if there is none. */
  firstFailed: number;
  lastFailed: number;
  lastSuccess: number;
  isInside: Uint8Array;
}

/** 1 for the rows that are left and for which all conditions hold. */
function rowsOf(
  table: EventTable,
  search: CauseSearch,
  tests: readonly Test[],
  isLeft: Uint8Array,
): Uint8Array {
  const inside = isLeft.slice();
  for (const holds of tests.map((test) => rowTest(table, search, test)))
    for (let row = 0; row < inside.length; row++) if (inside[row] === 1 && !holds(row)) inside[row] = 0;
  return inside;
}

function tallyOf(table: EventTable, isInside: Uint8Array, isLeft: Uint8Array): RowTally {
  const { times } = table;
  const tally = { failed: 0, events: 0, failedWithout: 0, eventsWithout: 0 };
  let [firstFailed, lastFailed, lastSuccess] = [-1, -1, -1];
  for (let row = 0; row < table.rows; row++) {
    if (!isLeft[row]) continue;
    const hasFailed = table.hasFailed(row);
    if (!isInside[row]) {
      tally.eventsWithout++;
      if (hasFailed) tally.failedWithout++;
      continue;
    }
    tally.events++;
    if (hasFailed) tally.failed++;
    if (!times.isKnown(row)) continue;
    if (!hasFailed) {
      if (lastSuccess === -1 || times.compare(row, lastSuccess) > 0) lastSuccess = row;
      continue;
    }
    if (firstFailed === -1 || times.compare(row, firstFailed) < 0) firstFailed = row;
    if (lastFailed === -1 || times.compare(row, lastFailed) > 0) lastFailed = row;
  }
  return { ...tally, firstFailed, lastFailed, lastSuccess, isInside };
}

/** True if these events fail so much more often than the others that it is no chance, and matters. */
export function isCause(
  { events, failed }: Pick<Cause, 'events' | 'failed'>,
  whole: Pick<Cause, 'events' | 'failed'>,
): boolean {
  if (events === 0) return false;
  const rest = { eventsWithout: whole.events - events, failedWithout: whole.failed - failed };
  return (
    lnChance(failed, events, whole.failed, whole.events) < Math.log(SIGNIFICANCE) &&
    differenceOf({ events, failed, ...rest }) >= LEAST_DIFFERENCE
  );
}

function differenceOf({
  failed,
  events,
  failedWithout,
  eventsWithout,
}: Pick<Cause, 'failed' | 'events' | 'failedWithout' | 'eventsWithout'>): number {
  return failed / events - (eventsWithout === 0 ? 0 : failedWithout / eventsWithout);
}

/** True if the cause ended before the newest events. */
function isOver(tests: readonly Test[]): boolean {
  return tests.some((test) => !test.feature && test.span.to !== undefined);
}

function timesOf(table: EventTable, tally: RowTally, isPast: boolean) {
  const at = (row: number) => (row === -1 ? undefined : table.times.at(row));
  return {
    firstFailed: at(tally.firstFailed),
    lastFailed: at(tally.lastFailed),
    lastSuccess: at(tally.lastSuccess),
    failingSince: isPast ? undefined : at(failingSince(table, tally)),
  };
}

/** The row of the first failure that no success follows; -1 if the newest event was delivered. */
function failingSince(
  table: EventTable,
  { lastFailed, lastSuccess, firstFailed, isInside }: RowTally,
): number {
  const { times } = table;
  if (lastFailed === -1) return -1;
  if (lastSuccess === -1) return firstFailed;
  if (times.compare(lastFailed, lastSuccess) <= 0) return -1;
  let first = lastFailed;
  for (let row = 0; row < table.rows; row++) {
    if (!isInside[row] || !table.hasFailed(row) || !times.isKnown(row)) continue;
    if (times.compare(row, lastSuccess) > 0 && times.compare(row, first) < 0) first = row;
  }
  return first;
}

/** A span that begins with the failures that go on now says no more than since when they do. */
function withoutNeedlessSpan(
  table: EventTable,
  search: CauseSearch,
  tests: readonly Test[],
  isLeft: Uint8Array,
): readonly Test[] {
  const others = tests.filter(({ feature }) => feature);
  if (others.length === tests.length || others.length === 0) return tests;
  const tally = (some: readonly Test[]) => tallyOf(table, rowsOf(table, search, some, isLeft), isLeft);
  const [own, general] = [tally(tests), tally(others)];
  const since = failingSince(table, general);
  if (since === -1 || differenceOf(general) < LEAST_DIFFERENCE) return tests;
  let failed = 0;
  for (let row = 0; row < table.rows; row++) {
    if (!general.isInside[row] || !table.hasFailed(row) || !table.times.isKnown(row)) continue;
    if (table.times.compare(row, since) >= 0) failed++;
  }
  return failed >= 0.9 * own.failed ? others : tests;
}

function isSame(isInside: Uint8Array, holds: RowTest, isLeft: Uint8Array): boolean {
  for (let row = 0; row < isLeft.length; row++)
    if (isLeft[row] === 1 && (isInside[row] === 1) !== holds(row)) return false;
  return true;
}

/** Leaves out that members of an object are there where the object is. */
function withoutInner(tests: readonly Test[]): Test[] {
  const stepsOf = (test: Test) => test.feature?.column.steps ?? [];
  const isInside = (inner: readonly string[], outer: readonly string[]) =>
    inner.length > outer.length && outer.every((step, index) => step === inner[index]);
  return tests.filter(
    (test) =>
      !tests.some(
        (other) =>
          test.feature &&
          other.feature &&
          other.op === test.op &&
          /^(exists|missing)$/.test(test.op) &&
          isInside(stepsOf(test), stepsOf(other)),
      ),
  );
}

function conditionsOf(table: EventTable, search: CauseSearch, tests: readonly Test[]): CauseCondition[] {
  // The service's own filters first, then the other fields, then the time.
  const rank = ({ feature }: Test) => feature?.handicap ?? Number.POSITIVE_INFINITY;
  return tests
    .toSorted((a, b) => rank(a) - rank(b))
    .flatMap((test) => {
      if (test.feature) return [fieldCondition(test.feature, test.op, test.code)];
      const bound = (op: '>=' | '<=', rank: number | undefined) =>
        rank === undefined ? [] : [timeCondition(op, table.times.at(search.rowOfRank(rank)).text)];
      return [...bound('>=', test.span.from), ...bound('<=', test.span.to)];
    });
}

function timeCondition(op: '>=' | '<=', value: string): CauseCondition {
  return { field: 'createdOn', op, value, text: `createdOn ${op} ${value}` };
}

function fieldCondition(
  feature: Feature,
  op: Exclude<CauseCondition['op'], '<' | '>'>,
  code: number,
): CauseCondition {
  const path = fieldPath(feature.column.steps);
  const condition = (meant: CauseCondition['op'], json: string): CauseCondition => {
    const value = exactValue(json);
    const isText = json.startsWith('"');
    const text = isText ? (JSON.parse(json) as string) : json;
    return { field: path.text, op: meant, value, text: conditionText(path, meant, text, isText) };
  };
  // Where the field is always there, it is null in those events.
  if (op === 'missing' && feature.isAlwaysThere)
    return { field: path.text, op: '=', value: null, text: conditionText(path, op) };
  if (op === 'exists' || op === 'missing')
    return { field: path.text, op, value: null, text: conditionText(path, op) };
  if (op === '=' || op === '!=') return condition(op, feature.textOf(code));
  const limit = limitOf(feature, op as '>=' | '<=', code);
  return condition(limit.op, limit.json);
}

/** A limit that parts the values in the same way as the condition: the roundest number there is between them. */
function limitOf(feature: Feature, op: '>=' | '<=', code: number): { op: '>=' | '<=' | '<'; json: string } {
  const { order, places } = feature;
  const place = places[code] as number;
  const [below, above] = op === '>=' ? [place - 1, place] : [place, place + 1];
  const [lower, upper] = [below, above].map((at) => feature.textOf(order[at] as number)) as [string, string];
  const round = roundNumber(bare(lower), bare(upper)) ?? upper;
  if (op === '>=') return { op, json: round };
  return round === upper || bare(lower).length <= round.length
    ? { op, json: lower }
    : { op: '<', json: round };
}

/** The number with the fewest digits that is greater than the first and at most the second; undefined if both are too long. */
function roundNumber(lower: string, upper: string): string | undefined {
  const [low, high] = [Number(lower), Number(upper)];
  if (!(Math.abs(low) < 1e15 && Math.abs(high) < 1e15)) return undefined;
  for (let digits = -15; digits <= 15; digits++) {
    const unit = 10 ** Math.abs(digits);
    const number = digits < 0 ? Math.floor(high / unit) * unit : Math.floor(high * unit) / unit;
    const text = String(number === 0 ? 0 : number);
    if (number > low && compareNumbers(text, lower) > 0 && compareNumbers(text, upper) <= 0) return text;
  }
  return undefined;
}

/** Times, both excluded, that enclose a span and no other event. */
function boundsAround(table: EventTable, search: CauseSearch, tests: readonly Test[]) {
  const span = tests.find((test) => !test.feature);
  if (!span || span.feature) return { after: undefined, before: undefined };
  const { times } = table;
  const { from, to } = span.span;
  const first = from === undefined ? -1 : search.rowOfRank(from);
  const last = to === undefined ? -1 : search.rowOfRank(to);
  let [earlier, later] = [-1, -1];
  for (let row = 0; row < table.rows; row++) {
    if (!times.isKnown(row)) continue;
    if (first !== -1 && times.compare(row, first) < 0 && (earlier === -1 || times.compare(row, earlier) > 0))
      earlier = row;
    if (last !== -1 && times.compare(row, last) > 0 && (later === -1 || times.compare(row, later) < 0))
      later = row;
  }
  return {
    after: first === -1 ? undefined : boundBetween(earlier, first, table, -1),
    before: last === -1 ? undefined : boundBetween(later, last, table, 1),
  };
}

/** A full second beyond an event, if there is one before the next event beyond it; else the time of that event. */
function boundBetween(beyond: number, row: number, { times }: EventTable, direction: 1 | -1): Instant {
  const { seconds, fraction } = times.at(row);
  const full = direction === 1 ? seconds + 1 : fraction === '' ? seconds - 1 : seconds;
  const bound = knownInstant(full * 1000);
  if (beyond === -1) return bound;
  const next = times.at(beyond);
  return compareInstants(bound, next) * direction > 0 ? next : bound;
}

/** Names of fields that tell how a delivery went, rather than what was delivered. */
const OF_OUTCOMES =
  /attempt|retr(y|ies)|error|fail|exception|fault|reason|response|http_?status|status_?code|outcome/i;

/** Fields that only failures have, or values that all failures and no success have. */
class Effects {
  readonly list: readonly Effect[];
  /** The fields that are not compared for it. */
  readonly columns = new Set<FieldColumn>();
  /** Those of them that are no cause even if there is no other. */
  readonly certain = new Set<FieldColumn>();
  readonly #table: EventTable;

  constructor(table: EventTable, features: readonly Feature[]) {
    this.#table = table;
    const outer: (readonly string[])[] = [];
    this.list = features.flatMap((feature) => {
      const { steps } = feature.column;
      const isFilter = steps.length === 1 && /^(eventType|subscriptionId)$/.test(steps[0] as string);
      if (isFilter) return [];
      const isInner = outer.some((path) => path.every((step, index) => step === steps[index]));
      const effects = isInner ? [] : this.#effectsOf(feature);
      if (effects[0]?.op === 'exists') outer.push(steps);
      if (!isInner && effects.length === 0) return [];
      const isOutcome = steps.some((step) => OF_OUTCOMES.test(step));
      const isOfAll = effects.some(({ failed }) => failed === table.failed);
      // What only some of the failures have may be why they failed, if nothing says that it came of it.
      if (isOutcome || isOfAll || isInner || /deliver/i.test(steps[0] as string))
        this.columns.add(feature.column);
      if (isOutcome) this.certain.add(feature.column);
      return effects;
    });
  }

  #effectsOf(feature: Feature): Effect[] {
    const { column, canonical } = feature;
    const table = this.#table;
    const counts = table.countCodes(column);
    const [failed, delivered] = [counts.failed, counts.others].map((byCode) => {
      const merged = new Uint32Array(byCode.length);
      for (const [code, count] of byCode.entries()) {
        const equal = canonical[code] ?? code;
        merged[equal] = (merged[equal] as number) + count;
      }
      return merged;
    }) as [Uint32Array, Uint32Array];
    const present = table.failed - (failed[NO_VALUE] as number);
    const successes = table.rows - table.failed;
    if (delivered[NO_VALUE] === successes && this.#isTelling(present))
      return [
        {
          ...fieldCondition(feature, 'exists', NO_VALUE),
          failed: present,
          values: this.#values(feature, failed),
        },
      ];
    if (column.hasNumbers) return [];
    const isOutcome = column.steps.some((step) => OF_OUTCOMES.test(step));
    const effects: Effect[] = [];
    for (let code = FIRST_CODE; code < failed.length; code++) {
      const count = failed[code] as number;
      if (count === table.failed && delivered[code] === 0 && table.failed > 1)
        effects.push({ ...fieldCondition(feature, '=', code), failed: count, values: [] });
    }
    if (effects.length > 0 || !isOutcome) return effects;
    const codes = [...failed.keys()].filter(
      (code) => (failed[code] as number) + (delivered[code] as number) > 0,
    );
    const isParted = codes.every((code) => failed[code] === 0 || delivered[code] === 0);
    if (!isParted || codes.length > 50 || 4 * codes.length > table.rows) return [];
    return codes
      .filter((code) => code >= FIRST_CODE && (failed[code] as number) > 0)
      .sort((a, b) => (failed[b] as number) - (failed[a] as number))
      .map((code) => ({ ...fieldCondition(feature, '=', code), failed: failed[code] as number, values: [] }));
  }

  /** True if so many failures and no success having a field is hardly chance. */
  #isTelling(present: number): boolean {
    if (present === this.#table.failed) return true;
    const { failed, rows } = this.#table;
    return present > 1 && lnChance(present, present, failed, rows) < Math.log(SIGNIFICANCE);
  }

  /** The values of the field, or of the members of the object that it is, most frequent first. */
  #values(feature: Feature, failed: Uint32Array): Effect['values'] {
    const { column } = feature;
    const codes = [...failed.keys()].filter((code) => code >= FIRST_CODE && (failed[code] as number) > 0);
    const values = codes.map((code) => ({
      value: exactValue(feature.textOf(code)),
      failed: failed[code] as number,
    }));
    const sorted = (list: Effect['values']) =>
      [...list].sort((a, b) => b.failed - a.failed).slice(0, MOST_EFFECT_VALUES);
    if (values.length > 0) return sorted(values);
    const depth = column.steps.length;
    const members = this.#table.columns.filter(
      ({ steps }) => steps.length === depth + 1 && column.steps.every((step, index) => step === steps[index]),
    );
    const counts = new Map<string, number>();
    for (let row = 0; row < this.#table.rows; row++) {
      if (!this.#table.hasFailed(row) || column.codeAt(row) === NO_VALUE) continue;
      const text = members
        .flatMap((member) => {
          const code = member.codeAt(row);
          return code < FIRST_CODE ? [] : [bareText(member.textOf(code))];
        })
        .join(' ');
      if (text !== '' && (counts.has(text) || counts.size < 1000))
        counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    return sorted([...counts].map(([value, count]) => ({ value, failed: count })));
  }
}

function bareText(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}
