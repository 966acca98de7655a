import { describe, expect, test } from 'vitest';
import { CauseSearch } from '../../src/explain/cause-search.ts';
import { Items } from '../../src/items/items.ts';
import { sampleOf } from '../support/seed.ts';
import { explainItems } from './explained.ts';
import { tableOf } from './made-tables.ts';
import { drawOf, randomOf } from './planted-causes.ts';

/** Numbers without order, the same in each run. */
const mixed = (index: number, of: number) => Math.floor(((index * 0.618_033_988_75) % 1) * of);

describe('limits of a number', () => {
  type Member = (index: number) => object;
  type Minute = (index: number) => number | undefined;
  const limitsOf = (count: number, member: Member, minute?: Minute) => {
    const table = tableOf(count, (index) => index % 5 === 0, member, minute);
    const search = new CauseSearch(table);
    const ofMember = search.features.filter(({ field }) => field.steps[0] === 'v' && !field.derivation);
    return Math.max(...ofMember.map(({ order }) => order.length));
  };
  /** Each subscription has its own sequence, of which one begins far above the others. */
  const ofSubscription = (index: number) => ({
    subscriptionId: `s${index % 7}`,
    v: (index % 7 === 3 ? 50_000 : 0) + Math.floor(index / 7),
  });
  /** With noise of so much of all numbers in either direction. */
  const noisy = (part: number) => (index: number) => ({ v: index + (mixed(index, 1000) - 500) * part * 2 });

  test.each<[string, Member, number]>([
    ['each subscription counts', ofSubscription, 0],
    ['each type counts', (i) => ({ eventType: 'abcde'[i % 5], v: (i % 5) * 900 + Math.floor(i / 5) }), 0],
    [
      'each type of a subscription counts down',
      (i) => ({ subscriptionId: `s${i % 6}`, eventType: 'ab'[i % 2], v: 9000 * (i % 6) - Math.floor(i / 6) }),
      0,
    ],
    ['what is neither counts', (i) => ({ v: ofSubscription(i).v * 7919 * (1 + (i % 7)) }), 655],
    ['20 numbers, of which each lasts long', (i) => ({ v: Math.floor(i / 50) }), 20],
    ['21 of them', (i) => ({ v: Math.floor(i / 49) }), 0],
    ['noise of a quarter', noisy(0.2), 0],
    ['noise of a half', noisy(0.5), 322],
    ['a sequence in a list', (i) => ({ v: [{ n: 3 * i }, { n: 3 * i - mixed(i, 50) }] }), 0],
    ['any numbers in a list', (i) => ({ v: [{ n: mixed(i, 700) }] }), 700],
    ['any numbers of a subscription', (i) => ({ subscriptionId: `s${i % 7}`, v: mixed(i, 700) }), 700],
  ])('are none where it stands for time: %s', (_, member, expected) =>
    expect(limitsOf(1000, member)).toBe(expected),
  );

  const FIRST_OF_BOTH = [0, 4000, 2000, 1000, 3000, 5000];
  /** Each type of a subscription counts from a number of its own on. Some events have no subscription. */
  const ofBoth = (index: number) => ({
    subscriptionId: ['s', 't', undefined][index % 3],
    eventType: 'ab'[index % 2],
    v: (FIRST_OF_BOTH[index % 6] as number) + Math.floor(index / 6),
  });

  test('are none where each type of each subscription, or of none, counts', () =>
    expect(limitsOf(600, ofBoth)).toBe(0));

  test('are there where only two numbers of each subscription go up, which may be chance', () => {
    const subscriptions = 15;
    const pairs = (index: number) => {
      const subscription = index % subscriptions;
      const isSecond = Number(index >= subscriptions);
      return { subscriptionId: `s${subscription}`, v: 100 * mixed(subscription, 97) + isSecond };
    };
    expect(limitsOf(2 * subscriptions, pairs)).toBe(2 * subscriptions);
  });

  test('are none of 21 numbers that go up in disorder, and there of 20', () => {
    const swapped = (index: number) => ({ v: index % 2 ? index - 1 : index + 1 });
    expect([21, 20].map((count) => limitsOf(count, swapped))).toEqual([0, 20]);
  });

  describe('of which most are the same', () => {
    const SAME = 300;
    const STEPS = 50;
    const ALL = SAME + 1 + STEPS;
    /** How many events of other numbers there are up to this one. */
    const step = (index: number) => Math.max(0, index - SAME);
    const isBack = (index: number) => index === SAME + 20;
    const hasLimits = (member: Member, minute?: Minute) => limitsOf(ALL, member, minute) > 0;

    test.each<[string, Member, boolean]>([
      ['up', (i) => ({ v: 1000 + step(i) }), false],
      ['down', (i) => ({ v: 1000 - step(i) }), false],
      ['up, but for one of 50 steps', (i) => ({ v: isBack(i) ? 1 : 1000 + step(i) }), true],
      ['down, but for one of 50 steps', (i) => ({ v: isBack(i) ? 9999 : 1000 - step(i) }), true],
      ['up, between texts', (i) => ({ v: i % 3 ? 1000 + step(i) : 'none' }), false],
      [
        'up, of each event two, the greater first',
        (i) => ({ v: [{ n: 2 * step(i) + 1 }, { n: 2 * step(i) }] }),
        false,
      ],
    ])('are none where the others go %s, unless too many do not', (_, member, expected) =>
      expect(hasLimits(member)).toBe(expected),
    );

    test('are none where the others go up with time, in whatever order the events are', () => {
      const minute = (index: number) => (index * 7) % ALL;
      expect(hasLimits((i) => ({ v: [{ n: step(minute(i)) }] }), minute)).toBe(false);
    });

    test('are none where those of a known time go up', () => {
      const isTimed = (index: number) => index < ALL - 10;
      const member = (index: number) => ({ v: isTimed(index) ? step(index) : 9000 + mixed(index, 90) });
      expect(hasLimits(member, (index) => (isTimed(index) ? index : undefined))).toBe(false);
    });
  });

  test('are none of numbers with noise that stand beside texts, or beside others of no known time', () => {
    const low = (index: number) => ({ v: index + mixed(index, 200) });
    expect(limitsOf(1000, (i) => (i % 3 ? low(i) : { v: 'none' }))).toBe(0);
    const isTimed = (index: number) => index < 800;
    const minute = (index: number) => (isTimed(index) ? index : undefined);
    expect(limitsOf(1000, (i) => (isTimed(i) ? low(i) : { v: 5000 + mixed(i, 900) }), minute)).toBe(0);
  });
});

describe('a running number stands in for no time', () => {
  const EVENTS = 2400;
  type Event = { [name: string]: unknown };

  /** Two days in which several numbers run along: of all events, of a subscription or a type, with noise. */
  const historyOf = (seed: number, isBad: (event: Event, index: number) => boolean) => {
    const { random, below, pick } = drawOf(randomOf(seed));
    const counts = new Map<string, number>();
    const next = (name: string) => {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return counts.get(name) as number;
    };
    return Array.from({ length: EVENTS }, (_, index) => {
      const [subscriptionId, eventType] = [`s${Math.floor(6 * random() ** 1.6)}`, pick(['a.b', 'a.c', 'd'])];
      const event: Event = {
        eventId: `e${index}`,
        createdOn: new Date(Date.parse('2026-11-21T00:00:00Z') + index * 72_000).toISOString(),
        subscriptionId,
        eventType,
        region: pick(['eu', 'us', 'ap']),
        amount: below(5000),
        sequence: 1_000_000 + index + below(400),
        ofSubscription: next(subscriptionId),
        ofType: 9000 - next(eventType),
        ofBoth: 500 * below(1) + next(`${subscriptionId} ${eventType}`),
        queue: { offset: Math.floor(index / 3) * 4 + below(900) },
        lines: [{ id: 5 * index + below(90) }, { id: 5 * index + below(90) }],
      };
      event['publishStatus'] = random() < (isBad(event, index) ? 0.9 : 0.02) ? 'FAILED' : 'SUCCESS';
      return event;
    });
  };
  const isLate = (index: number) => index > 1500 && index < 1900;

  test.each<[string, string[], (event: Event, index: number) => boolean]>([
    ['a time of all', [], (_, index) => isLate(index)],
    ['a region in a time', ['region'], ({ region }, index) => region === 'eu' && isLate(index)],
    [
      'a subscription until a time',
      ['subscriptionId'],
      ({ subscriptionId }, index) => subscriptionId === 's1' && index < 1148,
    ],
    ['a type since a time', ['eventType'], ({ eventType }, index) => eventType === 'd' && index > 1500],
    [
      'two values until a time',
      ['subscriptionId', 'region'],
      ({ subscriptionId, region }, index) => subscriptionId === 's0' && region === 'eu' && index < 1148,
    ],
  ])('%s', (name, fields, isBad) => {
    for (const seed of sampleOf(name, 1, [1, 2, 3])) {
      const items = Items.of(historyOf(seed, isBad).map((event) => Buffer.from(JSON.stringify(event))));
      const causes = explainItems(items).causes.map(({ conditions, same }) => ({
        named: [...new Set(conditions.map(({ field }) => field))].filter((name) => name !== 'createdOn'),
        same: same.map(({ text }) => text),
      }));
      expect({ seed, causes }).toEqual({ seed, causes: [{ named: fields, same: [] }] });
    }
  });
});

test('that a time of the payload is none of the first ones is no cause: the time itself is', () => {
  const START = Date.parse('2026-11-20T12:00:00Z');
  const items = Array.from({ length: 260 }, (_, index) => {
    const isOut = index % 5 === 0;
    const time = new Date(START + 500 * index).toISOString();
    return {
      eventId: `e${index}`,
      subscriptionId: isOut ? 'gone' : `s${index % 5}`,
      // The endpoint has taken the first deliveries, which came in one second.
      publishStatus: isOut && index > 10 ? 'FAILED' : 'SUCCESS',
      createdOn: time,
      timeStamp: isOut && index <= 10 ? '2026-11-20T12:00:00Z' : `${time.slice(0, 19)}Z`,
    };
  });
  const page = Items.of(items.map((item) => Buffer.from(JSON.stringify(item))));
  const fields = explainItems(page).causes.flatMap(({ conditions }) => conditions.map(({ field }) => field));
  expect(fields).not.toContain('timeStamp');
  expect(fields).toContain('subscriptionId');
});
