import { describe, expect, test } from 'vitest';
import { CauseSearch, type FoundCause } from '../../src/explain/cause-search.ts';
import type { FieldOp } from '../../src/explain/conditions.ts';
import { bytesOfEffects, causesAmong, findEffects, valuesToCount } from '../../src/explain/effects.ts';
import { tableOf, testOn, textOf } from './made-tables.ts';

/** `place` counts the failed events, or the delivered ones. */
type MembersOf = (hasFailed: boolean, place: number) => object;

const FAILED = 100;
const DELIVERED = 300;

const searchIn = (membersOf: MembersOf, failed = FAILED, delivered = DELIVERED) =>
  new CauseSearch(
    tableOf(
      failed + delivered,
      (index) => index < failed,
      (index) => membersOf(index < failed, index < failed ? index : index - failed),
      // At no known time.
      () => undefined,
    ),
  );

const effectsIn = (search: CauseSearch) => {
  const { tests, fields, certain } = findEffects(search);
  return {
    tests: tests.map(textOf),
    fields: [...fields].map(({ path }) => path),
    certain: [...certain].map(({ path }) => path),
  };
};
const effectsOf = (membersOf: MembersOf) => effectsIn(searchIn(membersOf));
const NONE = { tests: [], fields: [], certain: [] };
const having = (isSo: boolean, members: object) => (isSo ? members : {});
/** One of many values. */
const several = (place: number, count = 8) => `${'abcdefghijklmnopqrstuvwxyz'[place % count]}`;

describe('an effect', () => {
  test.each<[string, MembersOf, ReturnType<typeof effectsOf>]>([
    [
      'a member that only failures have',
      (failed) => having(failed, { weird: 'x' }),
      { tests: ['weird exists'], fields: ['weird'], certain: [] },
    ],
    [
      'one value of failures, where the delivered ones agree on another',
      (failed) => ({ stage: failed ? 'parked' : 'done' }),
      { tests: ['stage = "parked"'], fields: ['stage'], certain: [] },
    ],
    [
      'a member that failures lack, with those inside it',
      (failed) => having(!failed, { receipt: { by: 'x' } }),
      { tests: ['receipt missing'], fields: ['receipt', 'receipt.by'], certain: [] },
    ],
    [
      'a member with the name of an outcome',
      (failed) => having(failed, { lastError: 'busy' }),
      { tests: ['lastError exists'], fields: ['lastError'], certain: ['lastError'] },
    ],
    [
      'an object, with its members',
      (failed) => having(failed, { lastError: { text: 'busy' } }),
      {
        tests: ['lastError exists'],
        fields: ['lastError', 'lastError.text'],
        certain: ['lastError', 'lastError.text'],
      },
    ],
    [
      'an object of no clear name, with its members',
      (failed) => having(failed, { weird: { word: 'x' } }),
      { tests: ['weird exists'], fields: ['weird', 'weird.word'], certain: [] },
    ],
    [
      'a value, without the members of another value',
      (failed, at) => ({ stage: failed ? 'parked' : at < 2 ? { x: 'y' } : 'done' }),
      { tests: ['stage = "parked"'], fields: ['stage'], certain: [] },
    ],
    [
      'a member of a delivery',
      (failed) => ({ delivery: { ms: failed ? 10_000 : 80 } }),
      { tests: ['delivery.ms = 10000'], fields: ['delivery.ms'], certain: ['delivery.ms'] },
    ],
  ])('is %s', (_, membersOf, expected) => {
    expect(effectsOf(membersOf)).toEqual(expected);
  });

  test.each<[string, MembersOf]>([
    ['a value that both kinds of events have', (_, at) => ({ v: several(at) })],
    ['a filter of the service', (failed) => ({ subscriptionId: failed ? 'a' : 'b' })],
    ['known before the delivery by its name', (failed) => ({ country: failed ? 'us' : 'de' })],
    ['one of several values of a text', (failed, at) => ({ errorKind: failed ? 'a' : `b${several(at)}` })],
  ])('is not what is %s', (_, membersOf) => {
    expect(effectsOf(membersOf)).toEqual(NONE);
  });

  test.each<[string, MembersOf, string[]]>([
    ['two delivered events may have it', (f, at) => having(f || at < 2, { weird: 'x' }), ['weird exists']],
    ['three may not', (f, at) => having(f || at < 3, { weird: 'x' }), []],
    ['two failures may lack it', (f, at) => having(f ? at > 1 : at === 0, { weird: 'x' }), ['weird exists']],
    ['three may not if a delivered one has it', (f, at) => having(f ? at > 2 : at === 0, { weird: 'x' }), []],
    ['any number may if none has', (f, at) => having(f && at < 50, { weird: 'x' }), ['weird exists']],
    ['unless it may be chance', (f, at) => having(f && at < 3, { weird: 'x' }), []],
    [
      'two failures may have another value',
      (f, at) => ({ stage: f && at > 1 ? 'parked' : 'done' }),
      ['stage = "parked"'],
    ],
    ['three may not', (f, at) => ({ stage: f && at > 2 ? 'parked' : 'done' }), []],
    ['the delivered ones have to agree', (f, at) => ({ stage: f ? 'parked' : several(at) }), []],
    [
      'objects are no value that they agree on',
      (f) => ({ stage: f ? 'parked' : { x: 'y' } }),
      ['stage.x missing'],
    ],
    ['half of the failures may not lack it', (f, at) => having(!f || at < 50, { receipt: 'x' }), []],
  ])('of no clear name: %s', (_, membersOf, expected) => {
    expect(effectsOf(membersOf).tests).toEqual(expected);
  });

  test.each<[string, MembersOf, string[]]>([
    [
      'an error may be in a quarter of the delivered events',
      (f, at) => having(f || at < 75, { error: 'x' }),
      ['error exists'],
    ],
    ['not in more', (f, at) => having(f || at < 76, { error: 'x' }), []],
    [
      'also if only half of the failures have it',
      (f, at) => having(f ? at < 60 : at < 75, { error: 'x' }),
      ['error exists'],
    ],
    [
      'a reason may be in a quarter of the delivered events if nearly all failures have one',
      (f, at) => having(f ? at > 1 : at < 75, { reason: 'x' }),
      ['reason exists'],
    ],
    ['otherwise in two of them', (f, at) => having(f ? at > 2 : at < 2, { reason: 'x' }), ['reason exists']],
    ['and not in three', (f, at) => having(f ? at > 2 : at < 3, { reason: 'x' }), []],
    [
      'a number of nearly all failures, whatever those of the others',
      (f, at) => ({ tries: f && at > 1 ? 5 : at % 4 }),
      ['tries = 5'],
    ],
    ['not of fewer', (f, at) => ({ tries: f && at > 2 ? 5 : at % 4 }), []],
    [
      'a text which one event lacks',
      (f, at) => (f ? { errorKind: 'a' } : having(at > 0, { errorKind: `b${several(at)}` })),
      ['errorKind = "a"'],
    ],
    [
      'a null where the others have many values',
      (f, at) => ({ errorKind: f ? null : several(at) }),
      ['errorKind missing'],
    ],
    [
      'also if three failures have others',
      (f, at) => ({ errorKind: f && at > 2 ? null : several(at) }),
      ['errorKind missing'],
    ],
    [
      'a day since which all failed',
      (f, at) => ({ errorDay: `2026-${f ? 12 : 11}-${10 + (at % 20)}` }),
      ['errorDay >= "2026-12-01"'],
    ],
  ])('named like an outcome: %s', (_, membersOf, expected) => {
    expect(effectsOf(membersOf).tests).toEqual(expected);
  });

  test('of a single failure is what it has, and a value of at least three', () => {
    const testsOf = (membersOf: MembersOf, failed: number) =>
      effectsIn(searchIn(membersOf, failed, DELIVERED)).tests;
    expect(testsOf((failed) => having(failed, { weird: 'x' }), 1)).toEqual(['weird exists']);
    expect(testsOf((failed) => ({ stage: failed ? 'parked' : 'done' }), 2)).toEqual([]);
    expect(testsOf((failed) => ({ stage: failed ? 'parked' : 'done' }), 3)).toEqual(['stage = "parked"']);
    expect(testsOf((failed, at) => having(failed || at === 0, { weird: 'x' }), 1)).toEqual([]);
    // At most one failure may lack it, which would be more than two of a hundred.
    expect(testsOf((failed, at) => ({ stage: failed && at > 0 ? 'parked' : 'done' }), 10)).toHaveLength(1);
    expect(testsOf((failed, at) => ({ stage: failed && at > 1 ? 'parked' : 'done' }), 10)).toEqual([]);
  });

  test('is known by its name alone if nothing was delivered', () => {
    const members = { weird: 'x', lastError: 'busy', delivery: { ms: 5 } };
    const { tests, fields } = effectsIn(searchIn(() => members, FAILED, 0));
    expect(tests).toEqual(['lastError exists', 'delivery.ms exists']);
    expect(fields).toEqual(['lastError', 'delivery.ms']);
    expect(effectsIn(searchIn((_, at) => having(at === 5, members), FAILED, 0)).tests).toEqual(tests);
    expect(effectsIn(searchIn(() => ({ lastError: null }), FAILED, 0)).tests).toEqual([]);
  });

  describe('is not what each subscription has a single value of', () => {
    const bySubscription = (place: number) => `s${place % 5}`;
    /** All but one of the failures are of one subscription, and so are the first of the delivered events. */
    const membersOf =
      (own: number, other: (subscriptionId: string) => object): MembersOf =>
      (failed, at) => {
        const isOwn = failed ? at > 0 : at < own;
        const subscriptionId = isOwn ? 'own' : bySubscription(at);
        return { subscriptionId, ...having(isOwn, { weird: 'x' }), ...other(subscriptionId) };
      };
    const testsOf = (members: MembersOf) => effectsOf(members).tests;
    const none = () => ({});

    test('if one has failed and delivered events', () => {
      expect(testsOf(membersOf(2, none))).toEqual([]);
    });

    test('and is if each has events of one kind', () => {
      expect(
        testsOf((failed, at) => ({
          subscriptionId: failed ? 'own' : bySubscription(at),
          ...having(failed, { weird: 'x' }),
        })),
      ).toEqual(['weird exists']);
    });

    test('and is if one event differs', () => {
      const members = membersOf(2, none);
      const another: MembersOf = (failed, at) =>
        failed && at === 50 ? { subscriptionId: 'own' } : members(failed, at);
      expect(testsOf(another)).toEqual(['weird exists']);
    });

    test('and is if it is in a list, or named like an outcome', () => {
      const members = membersOf(2, (id) => having(id === 'own', { error: 'x', odd: [{ word: 'x' }] }));
      expect(testsOf(members)).toEqual(['error exists', 'odd[] exists']);
    });
  });

  describe('is not of a payload that has a delivery', () => {
    const certainOf = (membersOf: MembersOf) => effectsOf(membersOf).certain;
    /** Failed and delivered events have some of these in turn. */
    const ofDelivery =
      (name: string, ...values: unknown[]): MembersOf =>
      (_, at) => ({ delivery: { [name]: values[at % values.length] } });
    const sure = (name: string) => [`delivery.${name}`];
    const texts = (count: number) => Array.from({ length: count }, (_, at) => `t${at}`);

    test.each<[string, MembersOf, string[]]>([
      ['texts in every event, few of them', ofDelivery('status', 'shipped', 'packed'), []],
      ['20 of them', ofDelivery('status', ...texts(20)), []],
      ['21', ofDelivery('status', ...texts(21)), sure('status')],
      ['one of them, and null', ofDelivery('status', 'shipped', null), sure('status')],
      ['two of them, and null', ofDelivery('status', 'shipped', 'packed', null), []],
      ['texts of any name', ofDelivery('ms', 'fast', 'slow'), []],
      ['texts and numbers', ofDelivery('ms', 'fast', 80, 90), sure('ms')],
      ['numbers', ofDelivery('ms', 70, 80, 90), sure('ms')],
      ['numbers of a state', ofDelivery('state', 1, 2, 3), []],
      ['numbers of a state further in', (_, at) => ({ delivery: { last: { state: at % 3 } } }), []],
      ['numbers of a code', ofDelivery('lastCode', 1, 2, 3), []],
      ['numbers of a result', ofDelivery('result', 1, 2, 3), []],
      ['numbers of its body', ofDelivery('statusBody', 1, 2, 3), sure('statusBody')],
      ['successes of HTTP', ofDelivery('status', 200, 201, 204), sure('status')],
      ['successes and other numbers', ofDelivery('status', 200, 201, 404), []],
      ['longer numbers', ofDelivery('status', 2000, 201, 204), []],
      ['other numbers that end so', ofDelivery('status', 1200, 201, 204), []],
      [
        'successes of the delivered events',
        (failed, at) => ({ delivery: { status: failed ? 500 + (at % 3) : 200 + (at % 3) } }),
        sure('status'),
      ],
      [
        'texts that one event lacks',
        (failed, at) => having(!failed || at > 0, { delivery: { status: several(at) } }),
        sure('status'),
      ],
      [
        'a text on which most of the delivered events agree',
        (_, at) => ({ delivery: { status: at % 100 < 70 ? 'shipped' : 'packed' } }),
        sure('status'),
      ],
      [
        'a text on which fewer agree',
        (_, at) => ({ delivery: { status: at % 100 < 69 ? 'shipped' : 'packed' } }),
        [],
      ],
    ])('%s', (_, membersOf, expected) => {
      expect(certainOf(membersOf)).toEqual(expected);
    });
  });
});

describe('the fields of effects', () => {
  const half = (failed: boolean, at: number) => failed && at < 50;

  test.each<[string, MembersOf, string[]]>([
    ['are of nearly all failures', (f, at) => having(f && at > 1, { weird: 'x' }), ['weird']],
    ['and not of fewer', (f, at) => having(f && at > 2, { weird: 'x' }), []],
    ['unless the name is that of an outcome', (f, at) => having(half(f, at), { reason: 'x' }), ['reason']],
    ['or of a delivery', (f, at) => having(half(f, at), { redeliveryNote: 'x' }), ['redeliveryNote']],
    [
      'or in such an object',
      (f, at) => having(half(f, at), { deliverer: { note: 'x' } }),
      ['deliverer', 'deliverer.note'],
    ],
    ['or inside an effect', (f, at) => having(half(f, at), { weird: { word: 'x' } }), ['weird.word']],
  ])('%s', (_, membersOf, expected) => {
    expect(effectsOf(membersOf).fields).toEqual(expected);
  });

  test.each<[string, MembersOf, string[]]>([
    [
      'an outcome on which most of the delivered events agree',
      (f, at) => ({ loginAttempts: f ? 5 : at % 100 < 70 ? 1 : 2 + (at % 3) }),
      ['loginAttempts'],
    ],
    [
      'not on which fewer agree',
      (f, at) => ({ loginAttempts: f ? 5 : at % 100 < 69 ? 1 : 2 + (at % 3) }),
      [],
    ],
    [
      'and of a delivery in any case',
      (f, at) => ({ deliveryAttempts: f ? 5 : at % 4 }),
      ['deliveryAttempts'],
    ],
    [
      'what may be an outcome only if nearly all agree',
      (f, at) => ({ outcome: f ? 'late' : at % 100 < 90 ? 'done' : several(at) }),
      ['outcome'],
    ],
    ['not fewer', (f, at) => ({ outcome: f ? 'late' : at % 100 < 89 ? 'done' : several(at) }), []],
    ['nor if one has it', (f, at) => ({ outcome: f || at === 0 ? 'late' : 'done' }), []],
    ['nor without such a name', (f) => ({ stage: f ? 'late' : 'done' }), []],
    ['what only a delivery can produce, even if no effect', () => ({ delivery: { ms: 5 } }), ['delivery.ms']],
    ['nor what has such a name and is no effect', () => ({ lastError: 'none' }), []],
  ])('%s, certainly', (_, membersOf, expected) => {
    expect(effectsOf(membersOf).certain).toEqual(expected);
  });

  test('are the size too, of events that differ in size', () => {
    const sizes = (at: number) => ({ note: 'x'.repeat(at % 2 === 0 ? 10 : 400) });
    const membersOf =
      (effect: object): MembersOf =>
      (failed, at) => ({ ...sizes(at), ...having(failed, effect) });
    expect(effectsOf(membersOf({ weird: 'x' })).certain).toEqual(['item:size']);
    expect(effectsOf((_, at) => ({ ...sizes(at), delivery: { ms: 5 } })).certain).toEqual([
      'delivery.ms',
      'item:size',
    ]);
    expect(effectsOf(membersOf({})).certain).toEqual([]);
  });
});

describe('the bytes that effects add to an item', () => {
  const bytesOf = (membersOf: MembersOf) => {
    const search = searchIn(membersOf);
    return bytesOfEffects(findEffects(search), search.table);
  };
  const added = (...members: string[]) => members.reduce((sum, member) => sum + member.length + 1, 0);

  test.each<[string, MembersOf, number | undefined]>([
    ['are unknown without one', (_, at) => ({ v: several(at) }), undefined],
    ['are a name and its value', (f) => having(f, { weird: 'x' }), added('"weird":"x"')],
    [
      'of which the longest counts',
      (f, at) => having(f, { weird: 'x'.repeat(at) }),
      99 + added('"weird":""'),
    ],
    ['are those of all', (f) => having(f, { weird: 5, odd: true }), added('"weird":5', '"odd":true')],
    [
      'are those of an object, once',
      (f) => having(f, { lastError: { text: 'busy', code: 5 } }),
      added('"lastError":{"text":"busy","code":5}'),
    ],
    [
      'are those of a whole list',
      (f) => having(f, { failure: { errors: [{ text: 'busy' }, { text: 'late' }] } }),
      added('"failure":{"errors":[{"text":"busy"},{"text":"late"}]}'),
    ],
    [
      'are those of a list of which an element is one',
      (f) => ({ words: [{ a: 'x' }, f ? { b: 'zz' } : { c: 'z' }] }),
      added('"words":[{"a":"x"},{"b":"zz"}]'),
    ],
    ['are those of what a delivery produces', () => ({ delivery: { ms: 80 } }), added('"ms":80')],
    [
      'are not those of the size',
      (f, at) => ({ note: 'x'.repeat(at % 2 === 0 ? 10 : 400), ...having(f, { weird: 'x' }) }),
      added('"weird":"x"'),
    ],
  ])('%s', (_, membersOf, expected) => {
    expect(bytesOf(membersOf)).toBe(expected);
  });
});

describe('a cause after all is an effect', () => {
  type Condition = readonly [path: string, op: FieldOp, json?: string];
  /** Each cause is one or more conditions. */
  const amongCauses = (membersOf: MembersOf, ...causes: readonly (readonly Condition[])[]) => {
    const search = searchIn(membersOf);
    const found: FoundCause[] = causes.map((conditions) => ({
      tests: conditions.map((condition) => testOn(search, ...condition)),
      same: [],
    }));
    return [...causesAmong(findEffects(search), found, search)].map(({ path }) => path);
  };

  describe('of some failures, which no cause explains', () => {
    /** A note of a deliverer is an effect, but not by its name. */
    const noted =
      (count: number, region: (failed: boolean, at: number) => string): MembersOf =>
      (failed, at) => ({
        region: region(failed, at),
        ...having(failed && at < count, { delivererNote: 'x' }),
      });
    const US: readonly Condition[] = [['region', '=', '"us"']];
    const EU: readonly Condition[] = [['region', '=', '"eu"']];
    const ofDelivered = (failed: boolean) => (failed ? 'eu' : 'us');
    const firstIn = (count: number) => (failed: boolean, at: number) => (failed && at < count ? 'us' : 'eu');

    test.each<[string, MembersOf, readonly (readonly Condition[])[], boolean]>([
      ['or none of all', noted(50, firstIn(0)), [], true],
      ['or of a tenth of them', noted(50, firstIn(5)), [US], true],
      ['not of more', noted(50, firstIn(6)), [US], false],
      ['also of several causes', noted(50, firstIn(6)), [US, EU], false],
      [
        'not by one that takes in none of them',
        noted(50, (f, at) => (f && at >= 50 ? 'us' : 'eu')),
        [US],
        true,
      ],
      ['of 97 of a hundred failures', noted(97, ofDelivered), [US], true],
      ['not of 98', noted(98, ofDelivered), [US], false],
    ])('%s', (_, membersOf, causes, isCause) => {
      expect(amongCauses(membersOf, ...causes)).toEqual(isCause ? ['delivererNote'] : []);
    });

    test('unless it is certainly an effect', () => {
      expect(amongCauses((f, at) => having(f && at < 50, { lastError: 'x' }))).toEqual([]);
    });

    test('unless it is none of what its name or the failures show', () => {
      expect(amongCauses((f, at) => having(f && at < 50, { weird: 'x' }))).toEqual([]);
    });
  });

  describe('where a cause only stands in for it', () => {
    /** All failures are weird, and of this kind as some delivered ones. */
    const kinds =
      (ofDelivered: number, ofFailed = FAILED): MembersOf =>
      (failed, at) => ({
        ...having(failed, { weird: 'x' }),
        kind: at < (failed ? ofFailed : ofDelivered) ? 'k' : 'a',
        ...having(at < (failed ? ofFailed : ofDelivered), { lastStatusCode: 5, there: 'y' }),
        ...having(at >= (failed ? ofFailed : ofDelivered), { only: 'z' }),
        number: at < (failed ? ofFailed : ofDelivered) ? 5 : 4,
      });

    test.each<[string, MembersOf, readonly Condition[], boolean]>([
      ['by leaving out others', kinds(12), [['kind', '!=', '"a"']], true],
      ['unless it fails nearly as often', kinds(11), [['kind', '!=', '"a"']], false],
      ['also if it misses two failures of a hundred', kinds(12, 98), [['kind', '!=', '"a"']], true],
      ['and not three', kinds(12, 97), [['kind', '!=', '"a"']], false],
      ['by a value', kinds(12), [['kind', '=', '"k"']], false],
      ['by what it lacks', kinds(12), [['only', '=']], true],
      ['by what it has', kinds(12), [['there', '!=']], false],
      ['by a limit', kinds(12), [['number', '>=', '5']], false],
      ['by the name of an outcome', kinds(12), [['lastStatusCode', '=', '5']], true],
      [
        'by both',
        kinds(12),
        [
          ['only', '='],
          ['kind', '!=', '"a"'],
        ],
        true,
      ],
      [
        'by one of them',
        kinds(12),
        [
          ['only', '='],
          ['kind', '=', '"k"'],
        ],
        false,
      ],
    ])('%s', (_, membersOf, conditions, isCause) => {
      expect(amongCauses(membersOf, conditions)).toEqual(isCause ? ['weird'] : []);
    });

    test('and not if it has other failures', () => {
      const membersOf: MembersOf = (failed, at) => ({
        ...having(failed && at < 50, { delivererNote: 'x' }),
        kind: (failed ? at >= 10 && at < 70 : at < 40) ? 'k' : 'a',
      });
      expect(amongCauses(membersOf, [['kind', '!=', '"a"']])).toEqual([]);
    });

    test('in one of several causes', () => {
      const causes: (readonly Condition[])[] = [[['kind', '=', '"k"']], [['kind', '!=', '"a"']]];
      expect(amongCauses(kinds(12), ...causes)).toEqual(['weird']);
    });

    test('and not by a span of time', () => {
      const search = searchIn(kinds(12));
      const span = {
        filter: (rows: Int32Array) => rows,
        feature: undefined,
      } as unknown as FoundCause['tests'][0];
      expect([...causesAmong(findEffects(search), [{ tests: [span], same: [] }], search)]).toEqual([]);
    });
  });
});

describe('the values of an effect', () => {
  const sourceOf = (membersOf: MembersOf, path: string, op: FieldOp, json?: string) => {
    const search = searchIn(membersOf);
    const { own, except, members } = valuesToCount(search.table, testOn(search, path, op, json));
    const pathOf = (field: typeof own) =>
      field && [field.path.text, ...(field.only ? [[...field.only]] : [])];
    return { own: pathOf(own), except, members: members.map(pathOf) };
  };

  test('are its own', () => {
    expect(sourceOf((f) => having(f, { error: 'x' }), 'error', '!=')).toMatchObject({
      own: ['error'],
      members: [],
    });
  });

  test('are all but the value of the others', () => {
    const membersOf: MembersOf = (failed, at) => ({ stage: failed ? several(at) : 'done' });
    expect(sourceOf(membersOf, 'stage', '!=', '"done"')).toEqual({
      own: ['stage'],
      except: '"done"',
      members: [],
    });
  });

  test.each<[FieldOp, string]>([
    ['=', '5'],
    ['>=', '5'],
    ['<=', '5'],
  ])('are none where the condition (%s) names them', (op, json) => {
    const membersOf: MembersOf = (failed) => ({ tries: failed ? 5 : 6 });
    expect(sourceOf(membersOf, 'tries', op, json)).toEqual({
      own: undefined,
      except: undefined,
      members: [],
    });
  });

  test("are those of an object's members that have some", () => {
    const membersOf: MembersOf = (f) => having(f, { failure: { text: 'x', at: 5, more: { why: 'y' } } });
    expect(sourceOf(membersOf, 'failure', '!=')).toEqual({
      own: undefined,
      except: undefined,
      members: [['failure.text'], ['failure.at']],
    });
  });

  test('are the reasons in a list', () => {
    const words = (at: number) => `${several(at)}${'y'.repeat(at)}`;
    const membersOf: MembersOf = (f, at) =>
      having(f, { failures: [{ message: words(at % 60), at: 'x', code: 5, cause: { reason: 'z' } }] });
    expect(sourceOf(membersOf, 'failures', '!=')).toEqual({
      own: undefined,
      except: undefined,
      members: [['failures[].message'], ['failures[].code'], ['failures[].cause.reason']],
    });
  });

  test('are not numbers of which each event has another', () => {
    const membersOf: MembersOf = (f, at) => having(f, { failure: { ms: 1000 + at, text: 'x' } });
    expect(sourceOf(membersOf, 'failure', '!=').members).toEqual([['failure.text']]);
    expect(sourceOf(membersOf, 'failure.ms', '!=')).toMatchObject({ own: undefined, members: [] });
  });

  test('are sentences, even if each event has another, and of other texts the frequent ones', () => {
    const membersOf: MembersOf = (f, at) =>
      having(f, { sentence: `order ${at} is late`, word: at % 10 === 0 ? 'busy' : `w${at}` });
    expect(sourceOf(membersOf, 'sentence', '!=').own).toEqual(['sentence']);
    expect(sourceOf(membersOf, 'word', '!=').own).toEqual(['word', ['"busy"']]);
  });
});
