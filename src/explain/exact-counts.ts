import { copyEnlarged } from '../items/array-capacity.ts';
import { ConditionMatch } from '../items/condition-match.ts';
import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import type { Condition } from '../items/item-conditions.ts';
import type { Items } from '../items/items.ts';
import { rawText } from '../items/json-scanner.ts';
import { parseOutcome } from '../items/outcome-names.ts';
import { TimeColumn } from '../items/time-column.ts';
import { isInside, NO_VALUE } from '../sample/sample-field.ts';
import { type Count, isNamed, isWorthNaming, Likelihood, lnChance, without } from '../statistics/chance.ts';
import { compareInstants, type Instant, instantAt } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type CauseCondition, fieldCondition, spanConditions } from './cause-conditions.ts';
import type { FieldTest } from './conditions.ts';
import { type EffectValue, type EffectValueSource, EffectValues } from './effect-values.ts';
import { allRows, countRows, filterRows, rowsWithout } from './rows.ts';
import {
  bestSpan,
  inOrderOfTime,
  isStartOfCurrentRun,
  latestRunOf,
  type SpanTest,
  type TimedRows,
} from './spans.ts';

/** Conditions that failed events have in common. The counts leave out the events of earlier causes. */
export interface Cause extends CauseTimes {
  readonly conditions: readonly CauseCondition[];
  readonly failed: number;
  readonly events: number;
  readonly failedWithout: number;
  readonly eventsWithout: number;
  readonly subscriptions: number;
  /** Probability that chance produces any candidate like this. */
  readonly p: number;
  readonly same: readonly CauseCondition[];
  /** Exclusive bounds of its span of time. */
  readonly after: Instant | undefined;
  readonly before: Instant | undefined;
}

export interface CauseTimes {
  readonly firstFailed: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  readonly lastSuccess: Instant | undefined;
  /** The first failure of the current run; undefined if it has ended. */
  readonly failingSince: Instant | undefined;
  /** True if the failures may have begun earlier, since the first is at the edge of the window. */
  readonly edge: boolean;
  readonly isSinceAtEdge: boolean;
}

export interface Effect extends CauseCondition {
  readonly failed: number;
  readonly delivered: number;
  readonly values: readonly EffectValue[];
}

export interface CauseToCount {
  readonly conditions: readonly CauseCondition[];
  readonly span: { readonly from: Instant | undefined; readonly to: Instant | undefined } | undefined;
  readonly lnCandidates: number;
  readonly lnCandidatesWithoutSpan: number;
  readonly same: readonly SameToCount[];
}

export interface SameToCount {
  readonly test: FieldTest;
  readonly as: readonly Condition[];
}

export interface EffectToCount {
  readonly condition: CauseCondition;
  readonly values: EffectValueSource;
}

export interface CountedCauses {
  readonly causes: readonly Cause[];
  readonly unexplained: number;
  readonly effects: readonly Effect[];
}

/** Maximum equivalent conditions reported. */
const MAX_SAME = 20;
/** Maximum equivalent conditions verified on all events. */
const MAX_SAME_COUNTED = 60;

/** Counts by the same conditions as `--where`. Keeps 22 bytes for each event of a cause. */
export class ExactCounts {
  readonly #all: Count;
  readonly #causes: readonly CountedCause[];
  readonly #effects: readonly CountedEffect[];
  readonly #conditions: ConditionTable;
  readonly #rows = new CauseRows();
  /** A span's bounds depend on every event's time. */
  readonly #keepsAll: boolean;
  readonly #isSampleWhole: boolean;

  /** With `isSampleWhole`, equivalent conditions are taken from the sample without counting. */
  constructor(
    all: Count,
    causes: readonly CauseToCount[],
    effects: readonly EffectToCount[],
    { zone, isSampleWhole }: { readonly zone: TimeZone; readonly isSampleWhole: boolean },
  ) {
    this.#all = all;
    this.#isSampleWhole = isSampleWhole;
    const table = new ConditionTable(zone);
    this.#causes = causes.map((cause) => countedCause(cause, table, isSampleWhole));
    this.#effects = effects.map((effect) => countedEffect(effect, table));
    this.#conditions = table;
    this.#keepsAll = causes.some(({ span }) => span);
  }

  add(items: Items, haveFailed: boolean | undefined): void {
    const { bytes, count } = items;
    const conditions = this.#conditions;
    for (let item = 0; item < count; item++) {
      conditions.read(bytes, items.start(item));
      const hasFailed = haveFailed ?? parseOutcome(conditions.text(OUTCOME));
      if (hasFailed === undefined) continue;
      this.#addToCauses(hasFailed);
      for (const effect of this.#effects) this.#addToEffect(effect, hasFailed);
    }
  }

  #addToCauses(hasFailed: boolean): void {
    const conditions = this.#conditions;
    let mask = 0;
    let isLeft = true;
    for (let place = 0; place < this.#causes.length; place++) {
      const cause = this.#causes[place] as CountedCause;
      const holds = conditions.allHold(cause.conditions);
      if (holds) mask |= 1 << place;
      if (!isLeft) continue;
      for (const same of cause.same)
        if (same.isEqual) same.isEqual = conditions.holds(same.condition) === conditions.allHold(same.as);
      isLeft = !(holds && conditions.allHold(cause.span));
    }
    if (mask !== 0 || this.#keepsAll) this.#rows.add(conditions, hasFailed, mask);
  }

  #addToEffect(effect: CountedEffect, hasFailed: boolean): void {
    if (hasFailed) effect.values.add(this.#conditions.reader);
    if (!this.#conditions.holds(effect.place)) return;
    if (hasFailed) effect.failed++;
    else effect.delivered++;
  }

  /** Call after the last event. The list ends at the first cause that the exact counts refute. */
  result(): CountedCauses {
    const causes: Cause[] = [];
    const rows = this.#rows;
    let left = allRows(rows.count);
    let whole = this.#all;
    for (const [place, cause] of this.#causes.entries()) {
      const general = filterRows(left, (row) => ((rows.masks[row] as number) & (1 << place)) !== 0);
      const { inside, span } = this.#withSpan(cause.toCount, general, whole);
      const count = countRows(inside, rows.failures);
      const lnCandidates = span ? cause.toCount.lnCandidates : cause.toCount.lnCandidatesWithoutSpan;
      if (!isNamed(count, whole, lnCandidates)) break;
      if (causes.length > 0 && !isWorthNaming(count, this.#all.failed)) break;
      const rest = without(whole, count);
      const { times } = rows;
      causes.push({
        conditions: [
          ...cause.toCount.conditions,
          ...spanConditions(times.at(span?.from), times.at(span?.to)),
        ],
        failed: count.failed,
        events: count.events,
        failedWithout: rest.failed,
        eventsWithout: rest.events,
        subscriptions: rows.subscriptionsOf(inside),
        p: Math.max(Math.exp(lnChance(count, whole) + lnCandidates), Number.MIN_VALUE),
        same: namesOf(this.#isSampleWhole ? cause.toCount.same : cause.same.filter(({ isEqual }) => isEqual)),
        ...timesOf(rows, inside, span),
        after: boundOf(rows, span?.from, -1),
        before: boundOf(rows, span?.to, 1),
      });
      left = rowsWithout(left, inside);
      whole = rest;
    }
    return {
      causes,
      unexplained: whole.failed,
      effects: this.#effects.map(({ effect, failed, delivered, values }) => ({
        ...effect.condition,
        failed,
        delivered,
        values: values.result(),
      })),
    };
  }

  /** Finds the span's exact ends. Omits a span that only says when the current failures began. */
  #withSpan(cause: CauseToCount, general: Int32Array, whole: Count) {
    const rows = this.#rows;
    if (!cause.span) return { inside: general, span: undefined };
    const best = bestSpan(rows, inOrderOfTime(rows, general), whole, new Likelihood(0));
    if (!best) return { inside: general, span: undefined };
    const inside = best.test.filter(general);
    // Of a span alone, the general rows are all that are left, which are never named.
    const isNeedless =
      isStartOfCurrentRun(rows, general, inside) &&
      isNamed(countRows(general, rows.failures), whole, cause.lnCandidatesWithoutSpan);
    return isNeedless ? { inside: general, span: undefined } : { inside, span: best.test };
  }
}

interface CountedCause {
  readonly toCount: CauseToCount;
  readonly conditions: readonly number[];
  readonly span: readonly number[];
  readonly same: readonly SameCheck[];
}

interface SameCheck {
  readonly test: FieldTest;
  readonly condition: number;
  readonly as: readonly number[];
  isEqual: boolean;
}

interface CountedEffect {
  readonly effect: EffectToCount;
  readonly place: number;
  readonly values: EffectValues;
  failed: number;
  delivered: number;
}

function countedCause(cause: CauseToCount, table: ConditionTable, isSampleWhole: boolean): CountedCause {
  const { conditions, span, same } = cause;
  const ofSpan = spanConditions(span?.from, span?.to);
  // A sample that has all events has proved them already.
  const toCheck = isSampleWhole ? [] : same.slice(0, MAX_SAME_COUNTED);
  return {
    toCount: cause,
    conditions: conditions.map(({ condition }) => table.add(condition)),
    span: ofSpan.map(({ condition }) => table.add(condition)),
    same: toCheck.map(({ test, as }) => ({
      test,
      condition: table.add(fieldCondition(test).condition),
      as: as.map((condition) => table.add(condition)),
      isEqual: true,
    })),
  };
}

function countedEffect(effect: EffectToCount, table: ConditionTable): CountedEffect {
  const place = table.add(effect.condition.condition);
  const values = new EffectValues(effect.values, table.addPaths(EffectValues.pathsOf(effect.values)));
  return { effect, place, values, failed: 0, delivered: 0 };
}

/** Omits the presence of members whose object's presence is also listed. */
function namesOf(same: readonly Pick<SameToCount, 'test'>[]): CauseCondition[] {
  const tests = same.map(({ test }) => test);
  const isInner = (one: FieldTest, other: FieldTest) =>
    one.code === NO_VALUE && one.op === other.op && isInside(one.feature.field, other.feature.field);
  return tests
    .filter((test) => !tests.some((other) => other.code === NO_VALUE && isInner(test, other)))
    .slice(0, MAX_SAME)
    .map(fieldCondition);
}

/** Read of each event in addition to the conditions' fields. */
const READ_FIELDS = ['publishStatus', 'createdOn', 'subscriptionId'];
const OUTCOME = 0;
const CREATED_ON = 1;
const SUBSCRIPTION = 2;

class ConditionTable {
  readonly #zone: TimeZone;
  readonly #paths: FieldPath[] = READ_FIELDS.map(memberPath);
  readonly #matches: (ConditionMatch | undefined)[] = [];
  readonly #placeOf = new Map<string, number>();
  #reader: FieldReader | undefined;
  /** By place, for the event read last; undefined if not tried yet. */
  readonly #held: (boolean | undefined)[] = [];

  constructor(zone: TimeZone) {
    this.#zone = zone;
  }

  get reader(): FieldReader {
    this.#reader ??= new FieldReader(this.#paths, this.#zone);
    return this.#reader;
  }

  add(condition: Condition): number {
    const known = this.#placeOf.get(condition.text);
    if (known !== undefined) return known;
    const place = this.addPaths([condition.field]);
    this.#matches[place] = new ConditionMatch(condition);
    this.#placeOf.set(condition.text, place);
    return place;
  }

  addPaths(paths: readonly FieldPath[]): number {
    this.#paths.push(...paths);
    return this.#paths.length - paths.length;
  }

  read(bytes: Buffer, at: number): void {
    this.#held.fill(undefined);
    this.reader.read(bytes, at);
  }

  text(place: number): string | undefined {
    return this.reader.text(place);
  }

  holds(place: number): boolean {
    this.#held[place] ??= (this.#matches[place] as ConditionMatch).holds(this.reader, place);
    return this.#held[place] as boolean;
  }

  allHold(places: readonly number[]): boolean {
    for (const place of places) if (!this.holds(place)) return false;
    return true;
  }
}

/** Initial capacity. */
const FIRST_ROWS = 1024;

class CauseRows implements TimedRows {
  readonly times = new TimeColumn();
  failures = new Uint8Array(FIRST_ROWS);
  masks = new Uint8Array(FIRST_ROWS);
  count = 0;
  #subscriptions = new Int32Array(FIRST_ROWS);
  readonly #codeOf = new Map<string, number>();

  add({ reader }: ConditionTable, hasFailed: boolean, mask: number): void {
    if (this.count === this.failures.length) this.#grow();
    reader.each(CREATED_ON, (bytes, start, end) => void this.times.pushValue(bytes, start, end));
    this.failures[this.count] = Number(hasFailed);
    this.masks[this.count] = mask;
    reader.each(SUBSCRIPTION, (bytes, start, end) => {
      const text = start === MISSING ? 'null' : rawText(bytes, start, end).toLowerCase();
      const code = this.#codeOf.get(text) ?? this.#codeOf.size;
      this.#codeOf.set(text, code);
      this.#subscriptions[this.count] = text === 'null' ? -1 : code;
    });
    this.count++;
  }

  subscriptionsOf(rows: Int32Array): number {
    const codes = new Set<number>();
    for (const row of rows) if (this.failures[row] === 1) codes.add(this.#subscriptions[row] as number);
    codes.delete(-1);
    return codes.size;
  }

  #grow(): void {
    this.failures = copyEnlarged(this.failures, 2 * this.count);
    this.masks = copyEnlarged(this.masks, 2 * this.count);
    this.#subscriptions = copyEnlarged(this.#subscriptions, 2 * this.count);
  }
}

function timesOf(table: CauseRows, rows: Int32Array, span: SpanTest | undefined): CauseTimes {
  const { times, failures } = table;
  const failed = filterRows(rows, (row) => failures[row] === 1);
  const delivered = filterRows(rows, (row) => failures[row] === 0);
  const { since, isAtEdge, isFirstAtEdge } = latestRunOf(table, inOrderOfTime(table, rows));
  // A span with an end has events after it, so its failures are over.
  const isOver = span?.to !== undefined;
  // A span with a start has events before it that were delivered.
  const hasStart = span?.from !== undefined;
  return {
    firstFailed: times.at(times.oldest(failed)),
    lastFailed: times.at(times.newest(failed)),
    lastSuccess: times.at(times.newest(delivered)),
    failingSince: isOver ? undefined : times.at(since),
    edge: isFirstAtEdge && !hasStart,
    isSinceAtEdge: isAtEdge && !hasStart,
  };
}

/** An exclusive bound that encloses the span and no other event, on a full second if possible. */
function boundOf(
  { times, count }: CauseRows,
  row: number | undefined,
  direction: 1 | -1,
): Instant | undefined {
  if (row === undefined) return undefined;
  const { seconds, fraction } = times.at(row);
  const isNext = direction === 1 || fraction === '';
  const full = instantAt((isNext ? seconds + direction : seconds) * 1000);
  const all = allRows(count);
  const next = times.at(direction === 1 ? times.oldest(all, row) : times.newest(all, row));
  return !full || (next && compareInstants(full, next) * direction > 0) ? next : full;
}
