import { fieldPath, memberPath } from '../items/field-path.ts';
import { type Condition, conditionOn, exactValue } from '../items/item-conditions.ts';
import {
  allRows,
  bareText,
  type ComparisonTable,
  FIRST_CODE,
  type Field,
  filterRows,
  NO_VALUE,
  rowsWithout,
  selectRows,
  sortRows,
  UNCODED,
} from '../outcomes/comparison-table.ts';
import { latestRun } from '../outcomes/failure-runs.ts';
import { compareInstants, type Instant, instantAt } from '../time/instant.ts';
import {
  CauseSearch,
  type Count,
  countRows,
  differenceOf,
  type Feature,
  FILTER_FIELDS,
  FieldTest,
  filterByAll,
  LEAST_DIFFERENCE,
  limitOf,
  lnChance,
  SIGNIFICANCE,
  SpanTest,
  type Test,
  without,
} from './find-causes.ts';

/** A condition on a field. */
export interface CauseCondition {
  /** A path as `--fields` takes it. */
  readonly field: string;
  readonly op: '=' | '!=' | '<' | '<=' | '>' | '>=' | 'exists' | 'missing';
  /** Null with `exists` and `missing`. A number that JavaScript cannot hold is a text. */
  readonly value: unknown;
  /** What keeps the events for which it holds. */
  readonly condition: Condition;
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
  /** How many subscriptions have failures of this cause. */
  readonly subscriptions: number;
  /** The probability that chance makes any candidate look like this: Fisher's exact test with Bonferroni's correction. */
  readonly p: number;
  /** Conditions that are true of the same events. */
  readonly same: readonly CauseCondition[];
  readonly firstFailed: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  readonly lastSuccess: Instant | undefined;
  /** The first of the failures that no success follows; undefined if the newest event was delivered. */
  readonly failingSince: Instant | undefined;
  /** True if its failures may have begun before the events do. */
  readonly edge: boolean;
  /** Times between which, both excluded, the events of its span of time were created. */
  readonly after: Instant | undefined;
  readonly before: Instant | undefined;
}

/** A condition that tells failures from delivered events too well to be their cause: an effect of failing. */
export interface Effect extends CauseCondition {
  readonly failed: number;
  readonly delivered: number;
  /** The most frequent values that the failures have. */
  readonly values: readonly { readonly value: unknown; readonly failed: number }[];
}

export interface Explanation {
  readonly events: number;
  readonly failed: number;
  /** How many subscriptions the events are of, as far as they tell. */
  readonly subscriptions: number;
  readonly causes: readonly Cause[];
  /** Failures that no cause explains. */
  readonly unexplained: number;
  readonly onlyInFailures: readonly Effect[];
  /** Paths of fields that differ in nearly every event, or have too many values. */
  readonly notCompared: readonly string[];
  /** Paths of lists whose later elements were not looked at, and of objects of which that is so of members. */
  readonly notLookedAt: readonly string[];
}

/** Which rows to select by `failures`. */
const [DELIVERED, FAILED] = [Uint8Array.of(1, 0), Uint8Array.of(0, 1)];
export const MOST_CAUSES = 5;
/** A cause after the first explains this part of all failures, */
const LEAST_SHARE = 0.07;
/** or this part of its events failed, */
const HIGH_RATE = 0.3;
/** and at least so many of them. */
const LEAST_FAILED = 5;
const MOST_SAME = 20;
/** Named values of an effect. */
const MOST_EFFECT_VALUES = 5;
/** Different texts of objects that are counted. */
const MOST_TEXTS = 100_000;

/** Compares the failed events of a table with the others. */
export function explainTable(table: ComparisonTable): Explanation {
  table.finish();
  const { failed, rows: events } = table;
  const pathsOf = (fields: readonly Field[]) => fields.map(({ steps }) => fieldPath(steps).text).sort();
  const none = {
    events,
    failed,
    subscriptions: countSubscriptions(table, allRows(events)),
    causes: [],
    unexplained: failed,
    onlyInFailures: [],
    notCompared: pathsOf(table.fields.filter(({ isUncompared }) => isUncompared)),
    notLookedAt: pathsOf(table.fields.filter(({ isOverfull }) => isOverfull)),
  };
  if (failed === 0) return none;
  const search = new CauseSearch(table);
  const effects = findEffects(table, search);
  if (failed === events) return { ...none, onlyInFailures: effects.list };
  const possible = search.features.filter(({ field }) => !effects.certain.has(field));
  const likely = possible.filter(({ field }) => !effects.fields.has(field));
  let causes = findCauses(table, search, likely, possible);
  // If nothing else explains the failures, what only they have may be the cause after all.
  if (causes.length === 0) causes = findCauses(table, search, possible, possible);
  const explained = causes.reduce((sum, cause) => sum + cause.failed, 0);
  return { ...none, causes, unexplained: failed - explained, onlyInFailures: effects.list };
}

/** Looks for causes in some fields, and in `alike` for other names of them. */
function findCauses(
  table: ComparisonTable,
  search: CauseSearch,
  features: readonly Feature[],
  alike: readonly Feature[],
): Cause[] {
  const causes: Cause[] = [];
  // The rows that no cause explains yet.
  let left = allRows(table.rows);
  while (causes.length < MOST_CAUSES) {
    const best = search.best(features);
    if (!best) break;
    const whole = countRows(left, table.failures);
    const lnChanceOf = (tests: readonly Test[], count: Count) =>
      lnChance(count, whole) + search.lnCandidates(tests);
    const isNamed = (tests: readonly Test[], count: Count) =>
      lnChanceOf(tests, count) < Math.log(SIGNIFICANCE) && differenceOf(count, whole) >= LEAST_DIFFERENCE;
    const tests = withoutNeedlessSpan(table, best, left, isNamed);
    const inside = filterByAll(tests, left);
    const count = countRows(inside, table.failures);
    if (!isNamed(tests, count)) break;
    if (causes.length > 0 && !isWorthNaming(count, table.failed)) break;
    const rest = without(whole, count);
    causes.push({
      conditions: conditionsOf(table, tests),
      failed: count.failed,
      events: count.events,
      failedWithout: rest.failed,
      eventsWithout: rest.events,
      subscriptions: countSubscriptions(table, selectRows(inside, table.failures, FAILED)),
      p: Math.max(Math.exp(lnChanceOf(tests, count)), Number.MIN_VALUE),
      same: sameConditions(table, search, tests, alike, left),
      ...timesOf(table, inside, tests),
      ...boundsAround(table, tests),
    });
    left = rowsWithout(left, inside);
    search.setAside(tests);
  }
  return causes;
}

/** How many subscriptions these events are of. */
function countSubscriptions(table: ComparisonTable, rows: Int32Array): number {
  const field = table.fieldAtTop('subscriptionId');
  if (!field) return 0;
  const seen = new Uint8Array(field.texts.length);
  for (const row of rows) seen[field.codes[row] as number] = 1;
  return seen.subarray(FIRST_CODE).reduce((sum, isSeen) => sum + isSeen, 0);
}

/** True if a further cause explains a part of all failures that matters, or fails so often that it does by itself. */
function isWorthNaming({ failed, events }: Count, allFailed: number): boolean {
  const failsOften = failed >= LEAST_FAILED && failed >= HIGH_RATE * events;
  return failsOften || failed >= LEAST_SHARE * allFailed;
}

/** Conditions on other fields that are true of exactly these rows, or of those for which one of the tests holds. */
function sameConditions(
  table: ComparisonTable,
  search: CauseSearch,
  tests: readonly Test[],
  alike: readonly Feature[],
  left: Int32Array,
): CauseCondition[] {
  let others = alike.filter((feature) => tests.every((test) => test.feature !== feature));
  const found: FieldTest[] = [];
  for (const whole of tests.length === 1 ? [tests] : [tests, ...tests.map((test) => [test])]) {
    const equivalent = search.equivalents(whole, others);
    if (equivalent.length === 0) continue;
    others = others.filter((feature) => equivalent.every((test) => test.feature !== feature));
    // Of the sample so far; of all rows it need not hold.
    const inside = filterByAll(whole, left);
    const isSame = (rows: Int32Array) =>
      rows.length === inside.length && rows.every((row, index) => row === inside[index]);
    found.push(...equivalent.filter((test) => isSame(test.filter(left))));
  }
  const order = (test: FieldTest) => search.features.indexOf(test.feature);
  return withoutInner(found.sort((a, b) => order(a) - order(b)))
    .slice(0, MOST_SAME)
    .flatMap((test) => conditionsOf(table, [test]));
}

/** Leaves out that members of an object are there where the object is. */
function withoutInner(tests: readonly FieldTest[]): FieldTest[] {
  const isInner = (one: FieldTest, other: FieldTest) =>
    one.code === NO_VALUE && one.op === other.op && isInside(one.feature.field, other.feature.field);
  return tests.filter((test) => !tests.some((other) => other.code === NO_VALUE && isInner(test, other)));
}

function isInside(inner: Field, outer: Field): boolean {
  const { steps } = outer;
  return inner.steps.length > steps.length && steps.every((step, index) => step === inner.steps[index]);
}

/** When these rows failed and when not. */
function timesOf(table: ComparisonTable, rows: Int32Array, tests: readonly Test[]) {
  const { times, failures } = table;
  const failed = selectRows(rows, failures, FAILED);
  // A span that ended before the newest events fails no more.
  const isOver = tests.some((test) => !test.feature && test.to !== undefined);
  const { lastSuccess, since, isAtEdge } = failingSince(table, rows);
  return {
    firstFailed: times.at(times.oldest(failed)),
    lastFailed: times.at(times.newest(failed)),
    lastSuccess: times.at(lastSuccess),
    failingSince: isOver ? undefined : times.at(since),
    edge: isAtEdge,
  };
}

/** The row of the last success, and that of the first failure of the run that goes on, if one does. */
function failingSince({ times, failures }: ComparisonTable, rows: Int32Array) {
  const lastSuccess = times.newest(selectRows(rows, failures, DELIVERED));
  const dated = sortRows([...filterRows(rows, (row) => times.isKnown(row))], times);
  const run = latestRun(dated.length, (index) => failures[dated[index] as number] === 1);
  const since = run?.isOpen ? dated[run.start] : undefined;
  return { lastSuccess, since, isAtEdge: run?.isAtEdge === true };
}

/** A span that begins with the failures that go on now says no more than since when they do. */
function withoutNeedlessSpan(
  table: ComparisonTable,
  tests: readonly Test[],
  left: Int32Array,
  isNamed: (tests: readonly Test[], count: Count) => boolean,
): readonly Test[] {
  const { failures } = table;
  const others = tests.filter(({ feature }) => feature);
  if (others.length === tests.length || others.length === 0) return tests;
  const general = filterByAll(others, left);
  const { since } = failingSince(table, general);
  if (since === undefined || !isNamed(others, countRows(general, failures))) return tests;
  const going = new SpanTest(table.times, since).filter(general);
  const own = filterByAll(tests, general);
  return countRows(going, failures).failed >= 0.9 * countRows(own, failures).failed ? others : tests;
}

function conditionsOf({ times }: ComparisonTable, tests: readonly Test[]): CauseCondition[] {
  // The service's own filters first, then the other fields, then the time.
  const rank = ({ feature }: Test) => feature?.handicap ?? Number.POSITIVE_INFINITY;
  return tests
    .toSorted((a, b) => rank(a) - rank(b))
    .flatMap((test) => {
      if (test.feature) return [fieldCondition(test)];
      const bound = (op: '>=' | '<=', row: number | undefined): CauseCondition[] => {
        if (row === undefined) return [];
        const instant = times.at(row);
        const value = instant.text;
        const text = `createdOn ${op} ${value}`;
        const field = memberPath('createdOn');
        const condition = { text, field, operator: op, value, quoted: false, instant };
        return [{ field: field.text, op, value, condition, text }];
      };
      return [...bound('>=', test.from), ...bound('<=', test.to)];
    });
}

function fieldCondition(test: FieldTest): CauseCondition {
  const { feature, op, code } = test;
  const path = fieldPath(feature.field.steps);
  if (code === NO_VALUE) {
    const presence = op === '=' ? 'missing' : 'exists';
    // A field that every event has is null in the events that miss it.
    const shown = op === '=' && feature.isAlwaysThere ? op : presence;
    const condition = conditionOn(path, presence);
    return { field: path.text, op: shown, value: null, condition, text: condition.text };
  }
  const { op: shown, json } = op === '=' || op === '!=' ? { op, json: feature.textOf(code) } : limitOf(test);
  const condition = conditionOn(path, shown, json);
  return { field: path.text, op: shown, value: exactValue(json), condition, text: condition.text };
}

/** Times, both excluded, that enclose a span and no other event. */
function boundsAround(table: ComparisonTable, tests: readonly Test[]) {
  const { times } = table;
  const { from, to } = (tests.find(({ feature }) => !feature) as SpanTest | undefined) ?? {};
  const bound = (row: number | undefined, direction: 1 | -1): Instant | undefined => {
    if (row === undefined) return undefined;
    // A full second, if there is one before the next event; else the time of that event.
    const { seconds, fraction } = times.at(row);
    const full = instantAt((direction === 1 || fraction === '' ? seconds + direction : seconds) * 1000);
    const rows = allRows(table.rows);
    const next = times.at(direction === 1 ? times.oldest(rows, row) : times.newest(rows, row));
    return !full || (next && compareInstants(full, next) * direction > 0) ? next : full;
  };
  return { after: bound(from, -1), before: bound(to, 1) };
}

/** Words in names of fields that tell how a delivery went, rather than what was delivered. */
const OF_OUTCOMES =
  /attempt|error|exception|redeliver|dead ?letter|\b(re)?tries\b|\b(re)?try ?count|\b(delivery|receive|fail|failure) ?count|\bhttp ?status|\bstatus ?code|\bdelivered\b|\back(ed|nowledged)?\b|\b(delivered|processed|sent|completed) ?(at|on)\b/;
/** Words that can also be of a policy, a format or a contract's terms. */
const LIKE_OUTCOMES =
  /\bretr(y|ies)\b|\bfail(?!over|safe)|\bfault|\breason(?!abl)|\bresponse|\boutcome|duration|elapsed|latency/;
/** Words that are of outcomes inside an object that tells of a delivery, as in `delivery.ms`. */
const OF_DELIVERIES = /\b(status|state|code|ms|millis|seconds|latency|duration|took|response|result|body)\b/;
/** Names of what an event has before it is delivered. */
const OF_EVENTS = /(version|region|country|currency|environment|plan)$/i;
/** Paths in a list of attempts: all of them are outcomes, whatever their names, but for where it was sent. */
const OF_ATTEMPTS = /(attempts|\b(re)?tries)\.\d+(?!.*(url|endpoint|host|target|address))/i;
/**
 * An effect need not be exact: a delivered event may keep its last error, and a new failure has been tried once. This part
 * of the delivered events may have it if its field has a name of outcomes, or one like it and nearly all failures have it.
 * Otherwise the delivered events that have it are at most this part of as many as failed. Without such a name nearly all
 * failures have it, and nearly all delivered events one value in common instead: outcomes of successes are alike, while
 * types, customers and currencies are not.
 */
const [DELIVERED_WITH_OUTCOME, NEARLY_EXACT, ALIKE] = [0.25, 0.02, 0.9];
/** A field with a name of outcomes may be the cause after all if fewer delivered events are alike in it. */
const MOSTLY_ALIKE = 0.7;
/** Of all rows, those in which a condition is tried first. */
const FIRST_ROWS = 20_000;

/** Fields that tell failures from delivered events so well that they are no cause, if anything else is. */
function findEffects(table: ComparisonTable, search: CauseSearch) {
  /** Fields that are not compared for it. */
  const fields = new Set<Field>();
  /** Those of them that are no cause even if there is no other. */
  const certain = new Set<Field>();
  const outer: Field[] = [];
  const few = Math.max(1, NEARLY_EXACT * table.failed);
  const all = allRows(table.rows);
  const list = search.features.flatMap((feature): readonly Effect[] => {
    const { field } = feature;
    const [first = ''] = field.steps;
    if (field.steps.length === 1 && FILTER_FIELDS.includes(first)) return [];
    const isInner = outer.some((other) => isInside(field, other));
    const isOutcomeByPlace = OF_ATTEMPTS.test(field.steps.join('.')) || isInDelivery(field);
    if (isOutcomeByPlace) certain.add(field);
    const outcome = outcomeOf(field, isOutcomeByPlace);
    // Without a delivered event the names alone tell what came of the failure.
    if (!outcome && table.failed === table.rows) return [];
    const found = isInner ? undefined : findEffect(table, search, feature, all, few, outcome);
    const effect = found && !outcome && isOfEvents(table, field) ? undefined : found;
    if (!isInner && !effect) return [];
    // Each event has a text of its own there, such as a reason for which somebody ordered.
    const isOfOrders = effect?.op === '=' && typeof effect.value === 'string' && field.present === table.rows;
    if (isOfOrders && !isOutcomeByPlace && shareOfOne(table, field) < MOSTLY_ALIKE) return [];
    if (effect?.op === 'exists') outer.push(field);
    // A field of some of the failures alone may be why they failed, unless its name says that it is an outcome.
    const isOfMost = effect && table.failed - effect.failed <= few;
    const isOfDelivery = /deliver/i.test(first);
    if (outcome || isOfMost || isInner || isOfDelivery) fields.add(field);
    const isTold = (least: number) => isInner || isOfDelivery || shareOfOne(table, field) >= least;
    if (outcome === 'sure' ? isTold(MOSTLY_ALIKE) : outcome && !effect?.delivered && isTold(ALIKE))
      certain.add(field);
    return effect ? [effect] : [];
  });
  return { list, fields, certain };
}

/** What the names of a field say of it: an outcome, surely or likely. */
function outcomeOf({ steps }: Field, isOutcomeByPlace: boolean): 'sure' | 'likely' | undefined {
  const names = steps.map(wordsOf);
  if (isOutcomeByPlace || names.some((name) => OF_OUTCOMES.test(name))) return 'sure';
  return names.some((name) => LIKE_OUTCOMES.test(name)) ? 'likely' : undefined;
}

/** True for `delivery.ms` and the like. */
function isInDelivery({ steps }: Field): boolean {
  const isOfDelivery = steps.slice(0, -1).some((step) => /\bdeliver(y|ies)\b/.test(wordsOf(step)));
  return isOfDelivery && OF_DELIVERIES.test(wordsOf(steps.at(-1) as string));
}

/** The words of a name in lower case: `lastHTTPStatus` and `last_http_status` are `last http status`. */
function wordsOf(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^\p{L}\d]+/gu, ' ')
    .toLowerCase();
}

/**
 * True for what is known before the delivery: by its name, or since each subscription has one value of it, also one with
 * failed and delivered events.
 */
function isOfEvents(table: ComparisonTable, field: Field): boolean {
  if (OF_EVENTS.test(field.steps.at(-1) as string)) return true;
  const subscriptions = table.fieldAtTop('subscriptionId')?.codes;
  const first = new Map<number, number>();
  let isMixed = false;
  for (let row = 0; subscriptions && row < table.rows; row++) {
    const earlier = first.get(subscriptions[row] as number) ?? row;
    if (earlier === row) first.set(subscriptions[row] as number, row);
    if (field.codes[earlier] !== field.codes[row]) return false;
    isMixed ||= table.failures[earlier] !== table.failures[row];
  }
  return isMixed;
}

/** The condition on the field that is an effect, which `few` events may contradict, or more if its name tells. */
function findEffect(
  table: ComparisonTable,
  search: CauseSearch,
  feature: Feature,
  all: Int32Array,
  few: number,
  outcome: 'sure' | 'likely' | undefined,
): Effect | undefined {
  const whole = { events: table.rows, failed: table.failed };
  const successes = whole.events - whole.failed;
  const most = outcome ? Math.max(few, DELIVERED_WITH_OUTCOME * successes) : few;
  for (const test of [new FieldTest(feature, '!=', NO_VALUE), search.mostTelling(feature)]) {
    if (!test) continue;
    const countIn = (rows: Int32Array) => countRows(test.filter(rows), table.failures);
    // Most conditions are true of too many of the first events already.
    const first = countIn(all.subarray(0, FIRST_ROWS));
    if (first.events - first.failed > most) continue;
    const count = countIn(all);
    const { failed } = count;
    const [delivered, missed] = [count.events - failed, whole.failed - failed];
    const isOfMost = missed <= few;
    if (delivered > (outcome === 'sure' || isOfMost ? most : few)) continue;
    const isPresence = test.code === NO_VALUE;
    if (!outcome && !isOfMost && (delivered > 0 || !isPresence || test.op === '=')) continue;
    if (!outcome && !isPresence && shareOfOne(table, feature.field) < ALIKE) continue;
    const isExact = delivered === 0 && (missed === 0 || successes === 0);
    const lnP = lnChance(count, whole) + search.lnCandidates([test]);
    if (isExact ? failed > (isPresence ? 0 : 1) : lnP < Math.log(SIGNIFICANCE))
      return { ...fieldCondition(test), failed, delivered, values: valuesOf(table, test) };
  }
  return undefined;
}

/** The part of the delivered events that have one value in common, or lack the field. */
function shareOfOne(table: ComparisonTable, field: Field): number {
  const counts = table.countCodes(field).others.fill(0, UNCODED, FIRST_CODE);
  return Math.max(...counts) / (table.rows - table.failed);
}

/** Names of fields, such as those of an attempt in a list, that tell why it failed. */
const OF_REASONS = /error|exception|reason|message|response|status|code/i;

/** The values of the field, or of members: all of an object, of a list those that tell why the first failed. Most frequent first. */
function valuesOf(table: ComparisonTable, { feature, op, code: other }: FieldTest): Effect['values'] {
  const { field } = feature;
  // The first element of a list has told what the others repeat.
  if (op !== '!=' || /^[1-9]\d*$/.test(field.steps.at(-1) as string)) return [];
  const { codes, texts } = field.prose ?? field;
  const counts = new Map<unknown, number>();
  for (const [code, count] of table.countCodes({ codes, texts }).failed.entries())
    if (code >= FIRST_CODE && count > 0 && texts[code] !== field.texts[other])
      counts.set(exactValue(texts[code] as string), count);
  const isObject = counts.size === 0;
  const [first] = field.elements;
  const isWhy = (one: Field) => first && isInside(one, first) && OF_REASONS.test(one.steps.at(-1) as string);
  const told = first ? table.fields.filter(isWhy) : field.members;
  const columns = told.map((one) => one.prose ?? one);
  const members = columns.map(({ codes, texts }) => ({ codes, texts: texts.map(bareText) }));
  for (let row = 0; isObject && row < table.rows; row++) {
    if (table.failures[row] === 0 || field.codes[row] === NO_VALUE) continue;
    const found = members.filter(({ codes }) => (codes[row] as number) >= FIRST_CODE);
    const text = found.map(({ codes, texts }) => texts[codes[row] as number]).join(' ');
    if (text !== '') counts.set(text, (counts.get(text) ?? 0) + 1);
    if (counts.size > MOST_TEXTS) return [];
  }
  const values = joinAlike(counts).sort((a, b) => b.failed - a.failed);
  return values.slice(0, MOST_EFFECT_VALUES);
}

/** Values with their counts. Texts that differ in words with digits alone are one if most differ: these words are ids or times. */
function joinAlike(counts: ReadonlyMap<unknown, number>): { value: unknown; failed: number }[] {
  const groups = new Map<unknown, { value: unknown; failed: number }[]>();
  for (const [value, failed] of counts) {
    const key = typeof value === 'string' ? value.replace(/[\w.:-]*\d[\w.:-]*/g, '…') : value;
    const group = groups.get(key) ?? [];
    group.push({ value, failed });
    groups.set(key, group);
  }
  return [...groups.values()].flatMap((group) => {
    const failed = group.reduce((sum, one) => sum + one.failed, 0);
    if (group.length < 3 || 2 * group.length <= failed) return group;
    const [first = [], ...others] = group.map(({ value }) => (value as string).split(/([\w.:-]+)/));
    const words = first.map((word, at) => (others.every((other) => other[at] === word) ? word : '…'));
    return { value: words.join(''), failed };
  });
}
