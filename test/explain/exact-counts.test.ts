import { describe, expect, test } from 'vitest';
import type { CauseCondition } from '../../src/explain/cause-conditions.ts';
import { CauseSearch } from '../../src/explain/cause-search.ts';
import type { FieldOp, FieldTest } from '../../src/explain/conditions.ts';
import {
  type Cause,
  type CauseToCount,
  type CountedCauses,
  type EffectToCount,
  ExactCounts,
  type SameToCount,
} from '../../src/explain/exact-counts.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { type Count, lnChance } from '../../src/statistics/chance.ts';
import { knownInstant, parseInstant } from '../../src/time/instant.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { tableOfItems } from '../sample/made-samples.ts';
import { textInShape } from '../support/shape.ts';
import { conditionOf, testOn as testIn } from './made-tables.ts';

type Fields = Readonly<Record<string, unknown>>;

const timeOf = (second: number) => knownInstant(Date.parse('2026-11-20T00:00:00Z') + second * 1000).text;
const instantOf = (second: number) => parseInstant(timeOf(second));

/** An event for each mark, ten seconds apart. Those with an `x` failed. */
const eventsOf = (marks: string, fieldsOf: (index: number) => Fields = () => ({})): Fields[] =>
  [...marks].map((mark, index) => ({
    eventId: `e${index}`,
    eventType: 'late',
    createdOn: timeOf(10 * index),
    publishStatus: mark === 'x' ? 'FAILED' : 'SUCCESS',
    ...fieldsOf(index),
  }));
const itemsOf = (events: readonly Fields[]) =>
  Items.of(events.map((event) => Buffer.from(textInShape(event))));

const causeOf = (conditions: readonly string[], more: Partial<CauseToCount> = {}): CauseToCount => ({
  conditions: conditions.map(conditionOf),
  span: undefined,
  lnCandidates: 0,
  lnCandidatesWithoutSpan: 0,
  same: [],
  ...more,
});
const spanOf = (from: number | undefined, to: number | undefined) => ({
  from: from === undefined ? undefined : instantOf(from),
  to: to === undefined ? undefined : instantOf(to),
});

interface Counting {
  readonly events: readonly Fields[];
  readonly causes?: readonly CauseToCount[];
  readonly effects?: readonly EffectToCount[];
  /** Further events, of which no condition holds. */
  readonly beside?: Count;
  readonly isSampleWhole?: boolean;
  readonly zone?: TimeZone;
}

function countsOf({ events, beside = { events: 1000, failed: 0 }, ...more }: Counting): CountedCauses {
  const failed = events.filter(({ publishStatus }) => publishStatus === 'FAILED').length;
  const all = { events: events.length + beside.events, failed: failed + beside.failed };
  const { causes = [], effects = [], isSampleWhole = false, zone = UTC } = more;
  const counts = new ExactCounts(all, causes, effects, { zone, isSampleWhole });
  counts.add(itemsOf(events), undefined);
  return counts.result();
}

const textsOf = (conditions: readonly CauseCondition[]) => conditions.map(({ text }) => text);
const shown = ({ causes, unexplained }: CountedCauses) => ({
  causes: causes.map(({ conditions, failed, events }) => [textsOf(conditions).join(' and '), failed, events]),
  unexplained,
});
const timesOf = ({ firstFailed, lastFailed, lastSuccess, failingSince, edge, isSinceAtEdge }: Cause) => ({
  firstFailed: firstFailed?.text,
  lastFailed: lastFailed?.text,
  lastSuccess: lastSuccess?.text,
  failingSince: failingSince?.text,
  edge,
  isSinceAtEdge,
});
const boundsOf = ({ causes: [cause] }: CountedCauses) => [cause?.after?.text, cause?.before?.text];

/** The only cause. */
function onlyOf(counting: Counting): Cause {
  const { causes } = countsOf(counting);
  expect(causes).toHaveLength(1);
  return causes[0] as Cause;
}

describe('a cause', () => {
  test('is counted, with its failures and those of all other events', () => {
    const late = eventsOf('..xxxxxx', (index) => ({ subscriptionId: `s${index % 2}` }));
    const others = eventsOf('.x....', () => ({ eventType: 'other' }));
    const cause = causeOf(['eventType = late'], { lnCandidatesWithoutSpan: Math.log(3), lnCandidates: 99 });
    const beside = { events: 300, failed: 2 };
    const counts = countsOf({ events: [...others, ...late], causes: [cause], beside });
    const chance = lnChance({ events: 8, failed: 6 }, { events: 314, failed: 9 });
    expect(counts).toEqual({
      causes: [
        {
          conditions: cause.conditions,
          failed: 6,
          events: 8,
          failedWithout: 3,
          eventsWithout: 306,
          subscriptions: 2,
          p: Math.exp(chance + Math.log(3)),
          same: [],
          firstFailed: instantOf(20),
          lastFailed: instantOf(70),
          lastSuccess: instantOf(10),
          failingSince: instantOf(20),
          edge: false,
          isSinceAtEdge: false,
          after: undefined,
          before: undefined,
        },
      ],
      unexplained: 3,
      effects: [],
    });
  });

  test('has the events of which all its conditions hold', () => {
    const events = eventsOf('xxxx.xxxx.', (index) => ({
      eventType: index < 5 ? 'late' : 'other',
      region: index % 2 ? 'eu' : 'us',
      retries: index,
    }));
    const cause = causeOf(['eventType = late', 'region = us', 'retries < 4']);
    expect(shown(countsOf({ events, causes: [cause] })).causes).toEqual([
      [cause.conditions.map(({ text }) => text).join(' and '), 2, 2],
    ]);
  });

  test('reads hours in the zone of the user', () => {
    const events = eventsOf('xxx...', (index) => ({
      createdOn: `2026-11-20T0${index < 3 ? 1 : 2}:0${index}:00Z`,
    }));
    const causes = [causeOf(['createdOn:hour = 2'])];
    const zone = new TimeZone('Europe/Berlin');
    expect(shown(countsOf({ events, causes, zone })).causes).toEqual([['createdOn:hour = 2', 3, 3]]);
    expect(shown(countsOf({ events, causes })).causes).toEqual([]);
  });

  test('has no probability of 0, however little chance explains it', () => {
    const events = eventsOf('x'.repeat(150));
    const beside = { events: 1_000_000, failed: 0 };
    expect(onlyOf({ events, causes: [causeOf(['eventType = late'])], beside }).p).toBe(Number.MIN_VALUE);
  });

  test('has its failures counted by subscription, in any case and where there is one', () => {
    const ids = ['a1', 'A1', undefined, null, 'b2', 'c3'];
    const events = eventsOf('xxxx..', (index) => ({ subscriptionId: ids[index] }));
    expect(onlyOf({ events, causes: [causeOf(['eventType = late'])] }).subscriptions).toBe(1);
  });

  test('of thousands of events keeps each', () => {
    const marks = 'x.'.repeat(1035);
    const ofDay = (index: number) => index % 3;
    const events = eventsOf(marks, (index) => ({ subscriptionId: `s${index}`, day: ofDay(index) }));
    const beside = { events: 100_000, failed: 0 };
    const [first, second] = countsOf({
      events,
      causes: [causeOf(['day = 1']), causeOf(['eventType = late'])],
      beside,
    }).causes;
    expect(first).toMatchObject({ failed: 345, events: 690, subscriptions: 345 });
    expect(second).toMatchObject({ failed: 690, events: 1380, subscriptions: 690 });
    expect(first?.lastFailed).toEqual(instantOf(10 * 2068));
  });
});

describe('the list of causes', () => {
  const typeOf = (index: number) => (index < 10 ? 'late' : 'lost');
  const events = eventsOf('xxxxx.xxxx.xxxxxxx', (index) => ({
    eventType: typeOf(index),
    region: index % 2 ? 'eu' : 'us',
  }));

  test('counts each cause in the events that the earlier ones leave', () => {
    const causes = [causeOf(['eventType = late']), causeOf(['region = eu']), causeOf(['region = us'])];
    const counts = countsOf({ events, causes });
    expect(shown(counts)).toEqual({
      causes: [
        ['eventType = late', 9, 10],
        ['region = eu', 4, 4],
        ['region = us', 3, 4],
      ],
      unexplained: 0,
    });
    expect(counts.causes.map(({ failedWithout, eventsWithout }) => [failedWithout, eventsWithout])).toEqual([
      [7, 1008],
      [3, 1004],
      [0, 1000],
    ]);
  });

  test('ends at the first one that chance explains', () => {
    const [late, eu, us] = ['eventType = late', 'region = eu', 'region = us'].map((text) => causeOf([text]));
    const refuted = { ...(eu as CauseToCount), lnCandidatesWithoutSpan: 30 };
    const causes = [late, refuted, us].filter((one) => one !== undefined);
    expect(shown(countsOf({ events, causes }))).toEqual({
      causes: [['eventType = late', 9, 10]],
      unexplained: 7,
    });
    expect(shown(countsOf({ events, causes: causes.slice(1) }))).toEqual({ causes: [], unexplained: 16 });
  });

  test('ends at the first one after another that few of all failures have, and few of its own', () => {
    const few = eventsOf(`${'x'.repeat(4)}${'.'.repeat(16)}`, () => ({ eventType: 'few' }));
    const many = eventsOf('x'.repeat(60));
    const causes = [causeOf(['eventType = late']), causeOf(['eventType = few'])];
    const beside = { events: 10_000, failed: 6 };
    expect(shown(countsOf({ events: [...many, ...few], causes, beside }))).toEqual({
      causes: [['eventType = late', 60, 60]],
      unexplained: 10,
    });
    expect(shown(countsOf({ events: [...many, ...few], causes: causes.slice(1), beside })).causes).toEqual([
      ['eventType = few', 4, 20],
    ]);
  });
});

describe('the times of a cause', () => {
  const none = { firstFailed: undefined, lastFailed: undefined, lastSuccess: undefined };
  test.each<[string, string, Partial<ReturnType<typeof timesOf>>]>([
    ['goes on', '.xxxx', { failingSince: timeOf(10), edge: false, isSinceAtEdge: false }],
    ['goes on from the first event', 'xxxx', { failingSince: timeOf(0), edge: true, isSinceAtEdge: true }],
    ['is over', 'xxxx..', { lastSuccess: timeOf(50), failingSince: undefined, edge: true }],
    ['goes on again', 'xxx..xx', { failingSince: timeOf(50), edge: true, isSinceAtEdge: false }],
    [
      'has a success',
      'xx.xx',
      { firstFailed: timeOf(0), lastFailed: timeOf(40), lastSuccess: timeOf(20), failingSince: timeOf(0) },
    ],
  ])('that %s', (_, marks, expected) => {
    const cause = onlyOf({ events: eventsOf(marks), causes: [causeOf(['eventType = late'])] });
    expect(timesOf(cause)).toMatchObject(expected);
  });

  test('are those of its events, whatever their order in the input', () => {
    const events = eventsOf('..xxxx').reverse();
    const cause = onlyOf({ events, causes: [causeOf(['eventType = late'])] });
    expect(timesOf(cause)).toEqual({
      firstFailed: timeOf(20),
      lastFailed: timeOf(50),
      lastSuccess: timeOf(10),
      failingSince: timeOf(20),
      edge: false,
      isSinceAtEdge: false,
    });
  });

  test('are unknown without a time of creation', () => {
    const events = eventsOf('.xxxx', (index) => ({ createdOn: [undefined, null, 'soon', 5][index % 4] }));
    const cause = onlyOf({ events, causes: [causeOf(['eventType = late'])] });
    expect(timesOf(cause)).toEqual({ ...none, failingSince: undefined, edge: false, isSinceAtEdge: false });
  });
});

describe('the span of a cause', () => {
  const NO_EVENTS = { events: 0, failed: 0 };
  const marksOf = (...lengths: number[]) =>
    lengths.map((length, place) => (place % 2 ? 'x' : '.').repeat(length)).join('');
  const ofSpan = (from: number | undefined, to: number | undefined, lnCandidates = 0) =>
    causeOf([], { span: spanOf(from, to), lnCandidates, lnCandidatesWithoutSpan: 99 });

  test('has its first and its last failure of all events, not only of the sample', () => {
    const events = eventsOf(marksOf(30, 20, 50));
    const cause = onlyOf({ events, causes: [ofSpan(320, 450, Math.log(5))], beside: NO_EVENTS });
    expect(textsOf(cause.conditions)).toEqual([`createdOn >= ${timeOf(300)}`, `createdOn <= ${timeOf(490)}`]);
    expect(cause).toMatchObject({ failed: 20, events: 20, failedWithout: 0, eventsWithout: 80 });
    expect([cause.after?.text, cause.before?.text]).toEqual([timeOf(299), timeOf(491)]);
    const chance = lnChance({ events: 20, failed: 20 }, { events: 100, failed: 20 });
    expect(cause.p).toBe(Math.exp(chance + Math.log(5)));
    expect(timesOf(cause)).toEqual({
      firstFailed: timeOf(300),
      lastFailed: timeOf(490),
      lastSuccess: undefined,
      failingSince: undefined,
      edge: false,
      isSinceAtEdge: false,
    });
  });

  test('without a start may have begun before the first event', () => {
    const events = eventsOf(marksOf(0, 20, 80));
    const cause = onlyOf({ events, causes: [ofSpan(undefined, 150)], beside: NO_EVENTS });
    expect(textsOf(cause.conditions)).toEqual([`createdOn <= ${timeOf(190)}`]);
    expect([cause.after, cause.before?.text]).toEqual([undefined, timeOf(191)]);
    expect(timesOf(cause)).toMatchObject({ failingSince: undefined, edge: true, isSinceAtEdge: true });
  });

  test('without an end still fails, and is kept where it is all that is known', () => {
    const events = eventsOf(marksOf(80, 20));
    const cause = onlyOf({
      events,
      causes: [causeOf([], { span: spanOf(850, undefined) })],
      beside: NO_EVENTS,
    });
    expect(textsOf(cause.conditions)).toEqual([`createdOn >= ${timeOf(800)}`]);
    expect([cause.after?.text, cause.before]).toEqual([timeOf(799), undefined]);
    expect(timesOf(cause)).toMatchObject({
      failingSince: timeOf(800),
      edge: false,
      isSinceAtEdge: false,
    });
  });

  test('that only says when the current failures began is omitted', () => {
    const events = eventsOf(marksOf(20, 20));
    const cause = causeOf(['eventType = late'], {
      span: spanOf(250, undefined),
      lnCandidates: 99,
      lnCandidatesWithoutSpan: Math.log(7),
    });
    const counted = onlyOf({ events, causes: [cause] });
    expect(textsOf(counted.conditions)).toEqual(['eventType = late']);
    expect(counted).toMatchObject({ failed: 20, events: 40, after: undefined, before: undefined });
    expect(counted.p).toBe(
      Math.exp(lnChance({ events: 40, failed: 20 }, { events: 1040, failed: 20 }) + Math.log(7)),
    );
    expect(timesOf(counted)).toMatchObject({ lastSuccess: timeOf(190), failingSince: timeOf(200) });
  });

  test.each([
    ['without it chance explains the cause', marksOf(20, 20), 99, [`createdOn >= ${timeOf(200)}`]],
    [
      'the failures are over',
      marksOf(10, 20, 10),
      0,
      [`createdOn >= ${timeOf(100)}`, `createdOn <= ${timeOf(290)}`],
    ],
  ])('is kept where %s', (_, marks, lnCandidatesWithoutSpan, expected) => {
    const cause = causeOf(['eventType = late'], { span: spanOf(210, undefined), lnCandidatesWithoutSpan });
    const counted = onlyOf({ events: eventsOf(marks), causes: [cause] });
    expect(textsOf(counted.conditions)).toEqual(['eventType = late', ...expected]);
    expect(counted).toMatchObject({ failed: 20, events: 20 });
  });

  test('that all events refute is omitted, and one that was not found in the sample is not looked for', () => {
    const ended = marksOf(10, 20, 10);
    const untimed = eventsOf(ended, () => ({ createdOn: undefined }));
    const cause = causeOf(['eventType = late'], { span: spanOf(110, 280), lnCandidates: 99 });
    for (const [events, one] of [
      [untimed, cause],
      [eventsOf(ended), { ...cause, span: undefined }],
    ] as const) {
      const counted = onlyOf({ events, causes: [one] });
      expect(textsOf(counted.conditions)).toEqual(['eventType = late']);
      expect(counted).toMatchObject({ failed: 20, events: 40, after: undefined, before: undefined });
    }
  });

  test('leaves its events outside it to the causes after it', () => {
    const region = (index: number) => (index % 4 === 0 ? 'eu' : 'us');
    const late = eventsOf(marksOf(40, 20, 40), (index) => ({ region: region(index) }));
    const others = eventsOf('x'.repeat(30), () => ({ eventType: 'other', region: 'eu' }));
    const causes = [causeOf(['eventType = late'], { span: spanOf(450, 550) }), causeOf(['region = eu'])];
    expect(shown(countsOf({ events: [...late, ...others], causes }))).toEqual({
      causes: [
        [`eventType = late and createdOn >= ${timeOf(400)} and createdOn <= ${timeOf(590)}`, 20, 20],
        ['region = eu', 30, 50],
      ],
      unexplained: 0,
    });
  });

  describe('has bounds that enclose no other event', () => {
    const [first, last] = ['2026-11-20T10:00:10', '2026-11-20T10:20:20'];
    /** Failures between these times, other events long before and after, and these successes beside them. */
    const bounds = (from: string, to: string, ...others: string[]) => {
      const early = eventsOf('.'.repeat(30));
      const late = eventsOf('.'.repeat(30), (index) => ({ createdOn: timeOf(90_000 + index) }));
      const failed = eventsOf('x'.repeat(20), (index) => ({
        createdOn:
          index === 0 ? from : index === 19 ? to : `2026-11-20T10:${index < 10 ? '0' : ''}${index}:30Z`,
      }));
      const besideSpan = others.map((createdOn) => ({
        ...eventsOf('.')[0],
        createdOn,
        eventType: 'other',
      }));
      const span = causeOf(['eventType = late'], {
        span: { from: parseInstant(from), to: parseInstant(to) },
      });
      const causes = [span, causeOf(['eventType = none'])];
      return boundsOf(countsOf({ events: [...early, ...besideSpan, ...late, ...failed], causes }));
    };

    test.each([
      ['on a full second', `${first}Z`, `${last}Z`, [], '10:00:09Z', '10:20:21Z'],
      ['of fractions, on a full second', `${first}.5Z`, `${last}.5Z`, [], '10:00:10Z', '10:20:21Z'],
      [
        'at an event on that second, as that is written shortest',
        `${first}.5Z`,
        `${last}.5Z`,
        [`${first}.000Z`, '2026-11-20T10:20:21.000Z'],
        '10:00:10Z',
        '10:20:21Z',
      ],
      [
        'at the next event, if that is nearer',
        `${first}.5Z`,
        `${last}.5Z`,
        [`${first}.1Z`, `${first}.25Z`, `${last}.75Z`, `${last}.8Z`],
        '10:00:10.25Z',
        '10:20:20.75Z',
      ],
      [
        'at the next event before a full second, if that is nearer',
        `${first}Z`,
        `${last}Z`,
        ['2026-11-20T10:00:09.5Z', `${last}.5Z`],
        '10:00:09.5Z',
        '10:20:20.5Z',
      ],
    ])('%s', (_, from, to, others, after, before) => {
      expect(bounds(from, to, ...others)).toEqual([`2026-11-20T${after}`, `2026-11-20T${before}`]);
    });

    test('at the next event where the years end', () => {
      const marks = `${'.'.repeat(20)}${'x'.repeat(20)}${'.'.repeat(20)}`;
      const events = eventsOf(marks, (index) =>
        index < 39 ? {} : { createdOn: `9999-12-31T23:59:59${index === 39 ? '' : `.${index}`}Z` },
      );
      const cause = causeOf(['eventType = late'], { span: spanOf(200, 390) });
      expect(boundsOf(countsOf({ events, causes: [cause] }))).toEqual([
        timeOf(199),
        '9999-12-31T23:59:59.40Z',
      ]);
    });
  });
});

describe('equivalent conditions', () => {
  const MEMBERS = 70;
  const members = Object.fromEntries(Array.from({ length: MEMBERS }, (_, index) => [`m${index}`, 1]));
  const sample = itemsOf([
    ...eventsOf('x.x', (index) => ({ region: 'eu', data: { id: index, ...members }, tags: ['a'] })),
    ...eventsOf('.', () => ({ region: 'us', data: 'none', tags: ['b'] })),
  ]);
  const search = new CauseSearch(tableOfItems(sample));
  const testOn = (path: string, op: FieldOp, json?: string) => testIn(search, path, op, json);
  const exists = (path: string) => testOn(path, '!=');
  const missing = (path: string) => testOn(path, '=');
  const sameAs = (test: FieldTest, ...as: string[]): SameToCount => ({
    test,
    as: as.map((text) => conditionOf(text).condition),
  });
  const inEurope = sameAs(testOn('region', '=', '"eu"'), 'eventType = late');
  const late = (...same: SameToCount[]) => causeOf(['eventType = late'], { same });

  /** Those of a cause of five failures, of which the given events are counted too. */
  const sameIn = (same: readonly SameToCount[], events: readonly Fields[], isSampleWhole = false) => {
    const failures = eventsOf('xxxxx', () => ({ region: 'eu', data: { id: 1, ...members } }));
    const cause = onlyOf({ events: [...events, ...failures], causes: [late(...same)], isSampleWhole });
    return textsOf(cause.same);
  };
  const elsewhere = eventsOf('.', () => ({ region: 'us' }));
  const ofOther = eventsOf('.', () => ({ eventType: 'other', region: 'eu' }));

  test('are those that hold of exactly the same events', () => {
    expect(sameIn([inEurope], [])).toEqual(['region = eu']);
    expect(sameIn([inEurope], elsewhere)).toEqual([]);
    expect(sameIn([inEurope], ofOther)).toEqual([]);
    const neither = eventsOf('.', () => ({ eventType: 'other', region: 'us' }));
    expect(sameIn([inEurope], neither)).toEqual(['region = eu']);
  });

  test('may stand for some of the conditions of a cause', () => {
    const retried = { eventType: 'late', region: 'us', retries: 1 };
    const both = sameAs(inEurope.test, 'eventType = late', 'retries = 0');
    const events = eventsOf('xxxxx', () => ({ region: 'eu', retries: 0 }));
    const cause = causeOf(['eventType = late', 'retries = 0'], { same: [both, inEurope] });
    const { same } = onlyOf({ events: [...events, ...eventsOf('.', () => retried)], causes: [cause] });
    expect(textsOf(same)).toEqual(['region = eu']);
  });

  test('of a sample that has all events are taken as they are', () => {
    expect(sameIn([inEurope], [...elsewhere, ...ofOther], true)).toEqual(['region = eu']);
  });

  test('of a further cause are counted in the events that the earlier ones leave', () => {
    const first = causeOf(['plan = free']);
    const further = causeOf(['eventType = late'], { same: [inEurope] });
    const free = (fields: Fields) => eventsOf('xxxxxxxx', () => ({ plan: 'free', region: 'us', ...fields }));
    const own = eventsOf('xxxxx', () => ({ region: 'eu' }));
    const sameOf = (events: readonly Fields[], one: CauseToCount) =>
      textsOf(countsOf({ events: [...events, ...own], causes: [one, further] }).causes[1]?.same ?? []);
    expect(sameOf(free({}), first)).toEqual(['region = eu']);
    // Those outside the span of the first cause are left too.
    const spans = { ...first, span: spanOf(1000, undefined) };
    expect(sameOf(free({ createdOn: timeOf(2000) }), spans)).toEqual(['region = eu']);
    expect(sameOf(free({ createdOn: timeOf(500) }), spans)).toEqual([]);
  });

  test('are not the members of what exists or is missing as a whole', () => {
    const [data, id] = [exists('data'), exists('data.id')];
    const listed = (...tests: FieldTest[]) =>
      sameIn(
        tests.map((one) => sameAs(one, 'eventType = late')),
        [],
        true,
      );
    expect(listed(id, data)).toEqual(['data']);
    expect(listed(missing('data.id'), missing('data'))).toEqual(['!data']);
    expect(listed(id, missing('data'))).toEqual(['data.id', '!data']);
    expect(listed(testOn('data.id', '!=', '1'), data)).toEqual(['data.id != 1', 'data']);
    expect(listed(id, testOn('data', '!=', '"none"'))).toEqual(['data.id', 'data != none']);
    expect(listed(exists('tags[]'), testOn('tags[]', '!=', '"a"'))).toEqual(['tags[]', 'tags[] != a']);
    expect(listed(id, exists('region'))).toEqual(['data.id', 'region']);
  });

  test('are no more than 20, and of a part of the events the first 60 are counted', () => {
    const names = Object.keys(members);
    const ofMembers = names.map((name) => sameAs(exists(`data.${name}`), 'eventType = late'));
    const texts = names.map((name) => `data.${name}`);
    expect(sameIn(ofMembers, [])).toEqual(texts.slice(0, 20));
    const withoutFirst = Object.fromEntries(names.slice(50).map((name) => [name, 1]));
    const fewer = eventsOf('.', () => ({ region: 'eu', data: withoutFirst }));
    expect(sameIn(ofMembers, fewer)).toEqual(texts.slice(50, 60));
    const last = sameAs(exists('data'), 'eventType = late');
    expect(sameIn([...ofMembers, last], [])).toEqual(texts.slice(0, 20));
    expect(sameIn([...ofMembers, last], [], true)).toEqual(['data']);
  });
});

describe('effects', () => {
  const field = (path: string) => ({ path: parseFieldPath(path, '--field'), only: undefined });
  const effectOn = (text: string, path: string): EffectToCount => ({
    condition: conditionOf(text),
    values: { own: field(path), except: undefined, members: [] },
  });

  test('are counted in failures and deliveries, with the values of the failures', () => {
    const errors = ['busy', 'gone', 'busy', 'busy', undefined];
    const events = eventsOf('xxx.x', (index) => ({
      error: errors[index],
      state: index % 2 ? 'parked' : 'new',
    }));
    const [error, state] = [effectOn('error', 'error'), effectOn('state = new', 'state')];
    const { effects, causes, unexplained } = countsOf({ events, effects: [error, state] });
    expect({ causes, unexplained }).toEqual({ causes: [], unexplained: 4 });
    expect(effects).toEqual([
      {
        ...error.condition,
        failed: 3,
        delivered: 1,
        values: [
          { value: 'busy', failed: 2 },
          { value: 'gone', failed: 1 },
        ],
      },
      {
        ...state.condition,
        failed: 3,
        delivered: 0,
        values: [
          { value: 'new', failed: 3 },
          { value: 'parked', failed: 1 },
        ],
      },
    ]);
  });

  test.each([
    ['their status', undefined, 1, 2],
    ['what is known of all', true, 6, 0],
    ['what is known of all', false, 0, 6],
  ])('fail by %s', (_, haveFailed, failed, delivered) => {
    const statuses = ['FAILED', 'SUCCESS', undefined, null, 'PENDING', 'SUCCESS'];
    const events = eventsOf('......', (index) => ({ publishStatus: statuses[index], error: 1 }));
    const options = { zone: UTC, isSampleWhole: true };
    const counts = new ExactCounts({ events: 6, failed }, [], [effectOn('!answer', 'error')], options);
    // Pages follow each other.
    counts.add(itemsOf(events.slice(0, 2)), haveFailed);
    counts.add(itemsOf(events.slice(2)), haveFailed);
    expect(counts.result().effects).toMatchObject([{ failed, delivered }]);
  });
});
