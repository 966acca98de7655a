import { Items } from '../items/items.ts';
import type { EventSample } from '../sample/event-sample.ts';
import type { SampleField } from '../sample/sample-field.ts';
import { type SampleTable, tableOfSample } from '../sample/sample-table.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { fieldCondition } from './cause-conditions.ts';
import { CauseSearch, type FoundCause, type RowTest } from './cause-search.ts';
import { FieldTest } from './conditions.ts';
import { bytesOfEffects, causesAmong, findEffects, valuesToCount } from './effects.ts';
import {
  type Cause,
  type CauseToCount,
  type CountedCauses,
  type Effect,
  ExactCounts,
} from './exact-counts.ts';
import { SpanTest } from './spans.ts';

export interface Explanation {
  readonly events: number;
  readonly failed: number;
  readonly subscriptions: number;
  readonly causes: readonly Cause[];
  readonly unexplained: number;
  readonly onlyInFailures: readonly Effect[];
  readonly notCompared: readonly string[];
  readonly comparedWhereShort: readonly string[];
  /** Paths of lists and objects with too many elements or members to compare. */
  readonly notLookedAt: readonly string[];
}

interface Found {
  readonly causes: readonly CauseToCount[];
  readonly effects: readonly FieldTest[];
}

/** Causes and effects found in a sample, to be counted in all events. */
export interface SearchedSample {
  readonly counts: ExactCounts;
  /** True if events are missing from the sample, so the counts need a second reading. */
  readonly needsSecondReading: boolean;
  /** Call after the last event was counted. */
  readonly explanation: () => Explanation;
}

export function searchSample(sample: EventSample, zone: TimeZone): SearchedSample {
  const { events, failed, isWhole } = sample;
  const table = tableOfSample(sample, zone);
  if (!isWhole) sample.releaseEvents();
  const found = failed === 0 ? { causes: [], effects: [] } : findIn(table);
  const effects = found.effects.map((test) => ({
    condition: fieldCondition(test),
    values: valuesToCount(table, test),
  }));
  const counts = new ExactCounts({ events, failed }, found.causes, effects, { zone, isSampleWhole: isWhole });
  if (isWhole)
    for (const { text, hasFailed } of sample.readSampled()) counts.add(Items.of([text]), hasFailed);
  return {
    counts,
    needsSecondReading: !isWhole && failed > 0,
    explanation: () => explanationOf(sample, table.fields, counts.result()),
  };
}

function explanationOf(
  { events, failed, subscriptions }: EventSample,
  fields: readonly SampleField[],
  { causes, unexplained, effects }: CountedCauses,
): Explanation {
  const ownFields = fields.filter(({ derivation }) => !derivation);
  return {
    events,
    failed,
    subscriptions,
    causes,
    unexplained,
    onlyInFailures: effects,
    notCompared: pathsOf(ownFields.filter((field) => field.isUncompared || field.hasLongValue)),
    comparedWhereShort: pathsOf(ownFields.filter((field) => field.hasLongValue && !field.isUncompared)),
    notLookedAt: pathsOf(fields.filter(({ isOverfull }) => isOverfull)),
  };
}

function pathsOf(fields: readonly SampleField[]): string[] {
  return fields.map(({ path }) => path).sort();
}

function findIn(table: SampleTable): Found {
  const search = new CauseSearch(table);
  const effects = findEffects(search);
  const hasDelivered = table.failures.includes(0);
  if (!hasDelivered) return { causes: [], effects: effects.tests };
  const alike = search.features.filter(({ field }) => !effects.certain.has(field));
  const addedBytes = bytesOfEffects(effects, table);
  const sizes = addedBytes === undefined ? undefined : search.sizesBeside(addedBytes);
  const possible = sizes ? [...alike, sizes] : alike;
  const likely = possible.filter(({ field }) => !effects.fields.has(field));
  let causes = search.findCauses(likely, alike);
  // If nothing else explains the failures, an apparent effect may be the cause.
  if (causes.length === 0) causes = search.findCauses(possible, alike);
  else {
    const mistaken = causesAmong(effects, causes, search);
    const weighed = possible.filter(
      ({ field }) => likely.some((one) => one.field === field) || mistaken.has(field),
    );
    if (mistaken.size > 0) causes = search.findCauses(weighed, alike);
  }
  return { causes: causes.map((cause) => toCount(search, cause)), effects: effects.tests };
}

function toCount(search: CauseSearch, { tests, same }: FoundCause): CauseToCount {
  const fields = fieldTests(tests).sort((a, b) => a.feature.cost - b.feature.cost);
  const span = tests.find((test) => test instanceof SpanTest);
  return {
    conditions: fields.map(fieldCondition),
    span: span && { from: span.times.at(span.from), to: span.times.at(span.to) },
    lnCandidates: search.lnCandidates(tests),
    lnCandidatesWithoutSpan: search.lnCandidates(fields),
    same: same.map(({ test, as }) => ({
      test,
      as: fieldTests(as).map((one) => fieldCondition(one).condition),
    })),
  };
}

function fieldTests(tests: readonly RowTest[]): FieldTest[] {
  return tests.filter((test) => test instanceof FieldTest);
}
