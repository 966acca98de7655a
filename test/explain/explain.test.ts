import { describe, expect, test } from 'vitest';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { itemFilter } from '../../src/items/item-filter.ts';
import { Items } from '../../src/items/items.ts';
import { explainItems } from './explained.ts';

type Json = { [name: string]: unknown };

const itemsOf = (events: readonly unknown[]) =>
  Items.of(events.map((event) => Buffer.from(typeof event === 'string' ? event : JSON.stringify(event))));

/** Events of which the first `failed` failed, one a minute, oldest first. */
const events = (count: number, failed: (index: number) => boolean, members: (index: number) => object) =>
  Array.from({ length: count }, (_, index) => ({
    eventId: `e${index}`,
    createdOn: new Date(Date.parse('2026-11-22T00:00:00Z') + index * 60_000).toISOString(),
    publishStatus: failed(index) ? 'FAILED' : 'SUCCESS',
    ...members(index),
  }));

const texts = (conditions: readonly { text: string }[]) => conditions.map(({ text }) => text);

test('of two subscriptions of which nothing is delivered each is a cause, and not that it is none of the others', () => {
  const subscriptionId = (index: number) => `s${[0, 0, 0, 1, 1, 2, 2, 3, 4, 5][index % 10]}`;
  const history = events(
    1200,
    (index) => /[02]/.test(subscriptionId(index)),
    (index) => ({
      subscriptionId: subscriptionId(index),
      endpoint: `https://${subscriptionId(index)}.example.com`,
    }),
  );
  const { causes } = explainItems(itemsOf(history));
  expect(causes.map(({ conditions }) => texts(conditions))).toEqual([
    ['subscriptionId = s0'],
    ['subscriptionId = s2'],
  ]);
});

test('of two outages that overlap each is a cause, and not that it is none of the largest subscriptions', () => {
  const ids = [9, 8, 8, 1, 6, 1, 1].flatMap((share, index) => Array<string>(share).fill(`s${index}`));
  const subscriptionId = (index: number) => ids[((index * 7919) % 1009) % ids.length];
  const isOut = (index: number, id: string, from: number, to: number) =>
    subscriptionId(index) === id && index >= from && index < to;
  const history = events(
    3000,
    (index) => (index * 6007) % 997 < 50 || isOut(index, 's1', 871, 1122) || isOut(index, 's2', 1063, 1345),
    (index) => ({ subscriptionId: subscriptionId(index) }),
  );
  const { causes } = explainItems(itemsOf(history));
  expect(causes.map(({ conditions, failed, events }) => [texts(conditions)[0], failed, events])).toEqual([
    ['subscriptionId = s2', 65, 65],
    ['subscriptionId = s1', 60, 60],
  ]);
});

test('a further cause explains a part of the failures that matters, or most of its own events fail', () => {
  const type = (index: number) => (index % 20 === 1 ? 'small' : ['large', 'b', 'c', 'd'][index % 4]);
  const found = (failedOfSmall: number) => {
    const isFailed = (index: number) =>
      type(index) === 'large' ||
      (type(index) === 'small' && (Math.floor(index / 20) * 37) % 100 < failedOfSmall);
    const { causes } = explainItems(itemsOf(events(4000, isFailed, (index) => ({ eventType: type(index) }))));
    return causes.map(({ conditions }) => texts(conditions).join(' and '));
  };
  expect(found(20)).toEqual(['eventType = large']);
  expect(found(31)).toEqual(['eventType = large', 'eventType = small']);
});

test('few events are enough to name a subscription, among many other fields', () => {
  const other = (index: number, salt: number) => ((index + 3) * (salt + 7) * 7919) % 1009;
  const history = events(
    41,
    (index) => (index % 3 === 0 ? index !== 6 && index !== 24 : [1, 10, 20, 32].includes(index)),
    (index) => ({
      subscriptionId: index % 3 === 0 ? 'late' : `s${index % 7}`,
      ...Object.fromEntries(
        Array.from({ length: 20 }, (_, salt) => [`field${salt}`, other(index, salt) % 6]),
      ),
    }),
  );
  const { causes } = explainItems(itemsOf(history));
  expect(causes.map(({ conditions }) => texts(conditions))).toEqual([['subscriptionId = late']]);
});

describe('the smallest histories', () => {
  test('no events, none failed, all failed and one event have no cause', () => {
    for (const [count, failed] of [
      [0, 0],
      [1, 0],
      [1, 1],
      [50, 0],
      [50, 50],
    ] as const) {
      const found = explainItems(
        itemsOf(
          events(
            count,
            (index) => index < failed,
            () => ({ region: 'eu' }),
          ),
        ),
      );
      expect(found).toMatchObject({
        events: count,
        failed,
        causes: [],
        unexplained: failed,
        onlyInFailures: [],
      });
    }
  });

  test('events without a status or any field are left out, those without a time are not', () => {
    const [failed, delivered] = [{ publishStatus: 'FAILED' }, { publishStatus: 'SUCCESS' }];
    const timeless = { ...delivered, createdOn: 'yesterday' };
    const found = explainItems(
      itemsOf([{}, failed, { type: 'x' }, timeless, { publishStatus: null }, [], delivered]),
    );
    expect(found).toMatchObject({ events: 3, failed: 1, causes: [], onlyInFailures: [] });
  });
});

describe('what only failures have', () => {
  const failing = (index: number) => index % 5 === 0 || (index % 3 === 0 && index < 90);
  const history = events(300, failing, (index) => ({
    region: index % 3 === 0 ? 'eu' : 'us',
    delivery: failing(index)
      ? {
          attempts: 5,
          lastError: { httpStatus: index % 2 ? 503 : null, message: index % 2 ? 'busy' : 'refused' },
        }
      : { attempts: 1, lastError: null },
  }));

  test('is listed apart with its values, and never a cause', () => {
    const { causes, onlyInFailures } = explainItems(itemsOf(history));
    expect(causes.flatMap(({ conditions }) => texts(conditions)).join()).not.toMatch(/delivery/);
    expect(onlyInFailures.map(({ field, op, value, values }) => ({ field, op, value, values }))).toEqual([
      { field: 'delivery.attempts', op: '=', value: 5, values: [] },
      {
        field: 'delivery.lastError',
        op: 'exists',
        value: null,
        values: [
          { value: 'refused', failed: 42 },
          { value: '503 busy', failed: 42 },
        ],
      },
    ]);
  });

  test('is also that an outcome is null or missing: no answer is no cause', () => {
    for (const none of [null, undefined]) {
      const { causes, onlyInFailures } = explainItems(
        itemsOf(
          events(
            300,
            (index) => index % 3 === 0 && index > 150,
            (index) => {
              const failed = index % 3 === 0 && index > 150;
              const answered = failed ? none : 200 + (index % 2);
              return {
                tenant: index % 3 ? 'a' : 'b',
                answer: { host: 'h', httpStatus: answered, deliveredAt: answered },
              };
            },
          ),
        ),
      );
      expect(causes.map(({ conditions }) => texts(conditions))).toEqual([['tenant = b']]);
      expect(onlyInFailures).toMatchObject([
        { field: 'answer.httpStatus', op: none === null ? '=' : 'missing', value: null, failed: 49 },
        { field: 'answer.deliveredAt', op: none === null ? '=' : 'missing', value: null, failed: 49 },
      ]);
    }
  });

  test('is a cause if nothing else is, unless its name tells that it is an outcome', () => {
    const only = (name: string) =>
      explainItems(
        itemsOf(
          events(
            200,
            (index) => index % 4 === 0,
            (index) => ({ [name]: index % 4 === 0 ? 'x' : 'y' }),
          ),
        ),
      );
    expect(only('flag')).toMatchObject({
      causes: [{ failed: 50, events: 50 }],
      onlyInFailures: [{ field: 'flag' }],
    });
    expect(only('responseCode')).toMatchObject({ causes: [], unexplained: 50 });
  });

  test.each([
    ['apiVersion', 0],
    ['data.currency', 0],
    ['flag', 4],
  ])(
    'is not what was known before the delivery: %s of some subscriptions, with %i other failures',
    (name, others) => {
      const isOld = (index: number) => index % 8 < 3;
      const found = explainItems(
        itemsOf(
          events(
            800,
            (index) => isOld(index) || (others > 0 && index % 200 === 5),
            (index) => ({
              subscriptionId: `s${index % 8}`,
              plan: index % 8 < 4 ? 'pro' : 'free',
              ...(name === 'data.currency' ? { data: { currency: isOld(index) } } : { [name]: isOld(index) }),
            }),
          ),
        ),
      );
      expect(found).toMatchObject({ causes: [{ failed: 300, events: 300 }], onlyInFailures: [] });
      expect(found.causes[0]?.conditions.map(({ field }) => field)).toEqual([name]);
    },
  );
});

test('a text among values that differ in nearly every event is a cause where many events have it', () => {
  const isEmpty = (index: number) => index % 25 === 3;
  for (const count of [1000, 4000]) {
    const found = explainItems(
      itemsOf(
        events(count, isEmpty, (index) => ({
          customer: { phone: isEmpty(index) ? '' : `+49 ${7919 * index}` },
        })),
      ),
    );
    expect(found).toMatchObject({ failed: count / 25, causes: [{ failed: count / 25, events: count / 25 }] });
    expect(texts(found.causes[0]?.conditions ?? [])).toEqual(['customer.phone = ""']);
    expect(found.notCompared).toContain('customer.phone');
  }
});

describe('errors with ids and times in them', () => {
  const listed = (messageOf: (index: number) => string, count = 1000) =>
    explainItems(
      itemsOf(
        events(
          count,
          (index) => index % 5 === 0,
          (index) =>
            index % 5 === 0
              ? { lastError: { code: 429, message: messageOf(index) }, error: messageOf(index) }
              : {},
        ),
      ),
    ).onlyInFailures.map(({ values }) => values);

  test('are one, without what differs', () => {
    const few = listed((index) =>
      index % 25 ? `429 busy, retry after ${index} ms (request req_${index}a)` : 'refused by 10.0.0.7:443',
    );
    const alike = { value: '429 429 busy, retry after … ms (request …)', failed: 160 };
    expect(few[0]).toEqual([alike, { value: '429 refused by 10.0.0.7:443', failed: 40 }]);
    expect(few[1]).toEqual([
      { ...alike, value: alike.value.slice(4) },
      { value: 'refused by 10.0.0.7:443', failed: 40 },
    ]);
    // Of more texts than are kept all are counted.
    expect(listed((index) => `order ${index} refused`, 12_000)[0]).toEqual([
      { value: '429 order … refused', failed: 2400 },
    ]);
  });

  test('stay apart where the same ones come again', () => {
    const hosts = listed((index) => `refused by 10.0.0.${index % 3}`);
    expect(hosts[1]?.map(({ failed }) => failed)).toEqual([67, 67, 66]);
  });
});

describe('fields of a delivery that tell how it ended are listed apart, also where they are not exact', () => {
  const isOurs = (index: number) => index % 4 === 1;
  const fails = (index: number) => (isOurs(index) && index >= 400) || index % 97 === 50;
  const LATE = 'b';
  /** One subscription fails since the 400th event; others now and then. */
  const historyWith = (outcomeOf: (failed: boolean, index: number) => Json) =>
    events(600, fails, (index) => ({
      subscriptionId: isOurs(index) ? LATE : `a${index % 4}`,
      ...outcomeOf(fails(index), index),
    }));
  const delivery = (failed: boolean, members: Json = {}) => ({
    delivery: {
      endpoint: 'https://example.com',
      attempts: failed ? 5 : 1,
      lastError: failed ? { httpStatus: 503, message: 'busy' } : null,
      ...members,
    },
  });

  test.each<readonly [string, (failed: boolean, index: number) => Json]>([
    ['a delivered event keeps its error and attempts', (failed, index) => delivery(failed || index === 60)],
    [
      'a delivered event keeps its error alone',
      (failed, index) =>
        delivery(failed, index === 60 ? { lastError: { httpStatus: 503, message: 'busy' } } : {}),
    ],
    [
      'a fifth of the delivered events keep their error',
      (failed, index) => delivery(failed || index % 13 < 3),
    ],
    ...['tries', 'tryCount', 'deliveryCount', 'redeliveries', 'receive_count', 'failCount'].map(
      (name): [string, (failed: boolean, index: number) => Json] => [
        `the number of tries is called ${name}`,
        (failed, index) => ({
          ...delivery(failed),
          [name]: failed ? 4 + (index % 2) : [0, 0, 0, 0, 2][index % 5],
        }),
      ],
    ),
    [
      'an event that was delivered has the time of that',
      (failed, index) => ({
        ...delivery(failed),
        ...(failed && index < 590 ? {} : { sentAt: `2026-11-22T00:00:${index % 60}Z` }),
      }),
    ],
    ['a new failure has one attempt', (failed, index) => delivery(failed && index < 597)],
    [
      'a fifth of the failures are tried again',
      (failed, index) => delivery(failed, failed && index >= 560 ? { attempts: 1 + (index % 4) } : {}),
    ],
    [
      'one failure is not dead-lettered',
      (failed, index) => delivery(failed, { deadLettered: failed && index < 597 }),
    ],
    [
      'one failure is not given up, under a name that tells nothing',
      (failed, index) => ({
        ...delivery(failed),
        givenUp: failed && index < 597,
      }),
    ],
    [
      'a state has several values',
      (failed, index) => ({
        ...delivery(failed || index === 60),
        state: failed ? ['given up', 'parked'][index % 2] : index === 60 ? 'parked' : 'done',
      }),
    ],
    [
      'nearly all failures took long',
      (failed, index) =>
        delivery(failed, {
          durationMs:
            (failed && index < 590) || index === 60 ? 30_000 + ((index * 7) % 99) : 50 + ((index * 31) % 900),
        }),
    ],
    [
      'some failures took long',
      (failed, index) =>
        delivery(failed, {
          durationMs: failed && index % 3 ? 30_000 + ((index * 7) % 99) : 50 + ((index * 31) % 900),
        }),
    ],
    [
      'failures are tried again',
      (failed, index) =>
        delivery(failed || index === 60, {
          ...(failed && index < 597 ? { nextRetryAt: `2026-11-23T00:00:${index % 60}Z` } : {}),
        }),
    ],
  ])('%s', (_, outcomeOf) => {
    const { causes, onlyInFailures } = explainItems(itemsOf(historyWith(outcomeOf)));
    expect(causes.map(({ conditions }) => texts(conditions))).toEqual([[`subscriptionId = ${LATE}`]]);
    const listed = onlyInFailures.map(({ field }) => field);
    const known = Object.keys(delivery(false).delivery).slice(1);
    expect(listed).toEqual(expect.arrayContaining(known.map((name) => `delivery.${name}`)));
  });

  test('but the endpoint of a subscription of which nothing is delivered says the same as its id', () => {
    const history = events(600, isOurs, (index) => ({
      subscriptionId: isOurs(index) ? LATE : `a${index % 4}`,
      ...delivery(isOurs(index), { endpoint: `https://host${index % 4}.example.com` }),
    }));
    const { causes } = explainItems(itemsOf(history));
    expect(causes.map(({ conditions, same }) => [...texts(conditions), ...texts(same)])).toEqual([
      [`subscriptionId = ${LATE}`, 'delivery.endpoint = https://host1.example.com'],
    ]);
  });

  test.each(['cancelReason', 'responseType', 'videoDuration', 'loginAttempt'])(
    'but %s is the cause where delivered events have other values, and nothing else explains the failures',
    (field) => {
      const history = events(
        600,
        (index) => index % 11 === 0 || index === 7,
        (index) => ({ [field]: ['fraud', 'customer', 'stock'][index % 11 === 0 ? 0 : 1 + (index % 2)] }),
      );
      const { causes } = explainItems(itemsOf(history));
      expect(causes.map(({ conditions }) => texts(conditions))).toEqual([[`${field} = fraud`]]);
    },
  );

  test.each([
    ['but none of them is a cause, whatever a list of attempts calls it', 'ms', []],
    ['unless it tells where an attempt was sent', 'host', [['attempts[].host = 30000']]],
  ])('%s', (_, name, expected) => {
    const { causes, onlyInFailures } = explainItems(
      itemsOf(
        events(
          600,
          (index) => index % 23 === 0,
          (index) => ({
            attempts: Array.from({ length: index % 23 === 0 ? 3 : 1 }, (_, at) => ({
              [name]: index % 46 === 0 ? 30_000 : at + ((index * 7) % 40),
              error: index % 23 === 0 ? `busy ${index}` : null,
            })),
          }),
        ),
      ),
    );
    expect(causes.map(({ conditions }) => texts(conditions))).toEqual(expected);
    expect(onlyInFailures).toContainEqual(expect.objectContaining({ field: 'attempts:length', values: [] }));
  });

  test('and counted as they are', () => {
    const { onlyInFailures } = explainItems(
      itemsOf(historyWith((failed, index) => delivery(failed ? index < 597 : index === 60))),
    );
    expect(onlyInFailures).toMatchObject([
      { field: 'delivery.attempts', op: '=', value: 5, failed: 55, delivered: 1 },
      {
        field: 'delivery.lastError',
        op: 'exists',
        failed: 55,
        delivered: 1,
        values: [{ value: '503 busy', failed: 55 }],
      },
    ]);
  });

  const LIKE_OUTCOMES = ['retryPolicy', 'reason', 'responseFormat', 'failover', 'deliveryDuration'];

  test.each([
    ['exact', 1, 0],
    ['nearly exact', 0.97, 0.01],
    ['frequent', 0.7, 0.02],
    ['all that fails', 0.7, 0],
  ])('a cause that is %s is named, whether or not the fields of the delivery are', (_, rate, background) => {
    for (const noise of [false, true]) {
      for (const field of ['plan', 'eventType', 'subscriptionId', ...(rate < 1 ? LIKE_OUTCOMES : [])]) {
        const share = (index: number, salt: number) => ((index * 7919 + salt) % 1009) / 1009;
        const isCaused = (index: number) => index % 5 === 2;
        const hasFailed = (index: number) => share(index, 11) < (isCaused(index) ? rate : background);
        const history = events(600, hasFailed, (index) => ({
          [field]: isCaused(index) ? 'gold' : 'free',
          ...delivery(noise && share(index, 500) < 0.02 ? !hasFailed(index) : hasFailed(index)),
        }));
        const { causes } = explainItems(itemsOf(history));
        expect(causes.map(({ conditions }) => texts(conditions))).toEqual([[`${field} = gold`]]);
      }
    }
  });
});

describe('values', () => {
  const half = (index: number) => index % 2 === 0 && index % 10 !== 8;
  const named = (members: (index: number) => object) =>
    explainItems(itemsOf(events(200, half, members))).causes.map(({ conditions }) =>
      texts(conditions).join(' and '),
    );

  test('of one number in several forms are one value, and numbers beyond a double are told apart', () => {
    for (const [shown, ...others] of [
      ['1', '1.0', '10e-1', '1.00'],
      ['1e400', '10e399', '0.1e401', '1.0e+400'],
      ['-9007199254740993', '-9007199254740993.0', '-9.007199254740993e15', '-90071992547409930e-1'],
      [
        '1.00000000000000000002',
        '1.000000000000000000020',
        '10.0000000000000000002e-1',
        '0.100000000000000000002e1',
      ],
    ]) {
      const forms = [shown, ...others];
      const history = events(200, half, () => ({})).map((event, index) =>
        JSON.stringify(event).replace('}', `,"code":${index % 2 ? 2 : forms[(index % 8) >> 1]}}`),
      );
      expect(explainItems(itemsOf(history)).causes.map(({ conditions }) => texts(conditions))).toEqual([
        [`code = ${shown}`],
      ]);
    }
    const large = events(200, half, () => ({})).map((event, index) =>
      JSON.stringify(event).replace('}', `,"code":${index % 2 ? '9007199254740993' : '9007199254740992'}}`),
    );
    expect(explainItems(itemsOf(large)).causes[0]?.conditions).toMatchObject([
      { field: 'code', op: '=', value: 9007199254740992 },
    ]);
    const beyond = events(200, half, () => ({})).map((event, index) =>
      JSON.stringify(event).replace('}', `,"code":${index % 2 ? index % 7 : `${1 + (index % 6)}e400`}}`),
    );
    expect(explainItems(itemsOf(beyond)).causes.map(({ conditions }) => texts(conditions))).toEqual([
      ['code >= 1e400'],
    ]);
  });

  test('that differ in case, in kind or in escapes are compared as what they are', () => {
    expect(named((index) => ({ a: index % 2 ? 'X' : 'x' }))).toEqual(['a = x']);
    expect(named((index) => ({ a: index % 2 ? 'null' : null }))).toEqual(['!a']);
    expect(named((index) => ({ a: index % 2 ? 'y' : '1' }))).toEqual(['a = "1"']);
    const escaped = events(200, half, () => ({})).map((event, index) =>
      JSON.stringify(event).replace('}', `,"a":${index % 2 ? '"n"' : index % 4 ? '"\\u0079"' : '"y"'}}`),
    );
    expect(explainItems(itemsOf(escaped)).causes[0]).toMatchObject({ events: 100 });
  });

  test('that --where takes for the same are counted as one: numbers, and texts of them beside them', () => {
    const countsOf = (values: readonly string[], failed: (index: number) => boolean) => {
      const items = itemsOf(
        events(200, failed, () => ({})).map((event, index) =>
          JSON.stringify(event).replace('}', `,"a":${values[index % values.length]}}`),
        ),
      );
      const [cause] = explainItems(items).causes;
      const conditions = texts(cause?.conditions ?? []);
      const keep = itemFilter(
        conditions.map((text) => parseCondition(text, '--where', 0)),
        [],
      );
      const kept = keep(items);
      const isFailed = itemFilter([parseCondition('publishStatus = FAILED', '--where', 0)], []);
      expect([cause?.events, cause?.failed], conditions.join()).toEqual([kept.count, isFailed(kept).count]);
      return conditions;
    };
    expect(countsOf(['1', '2', '"1"', '2'], half)).toEqual(['a = 1']);
    expect(countsOf(['true', '"no"', '"true"', 'false'], half)).toEqual(['a = true']);
    expect(countsOf(['"1"', '"1.0"', '"2"', '"3.5"'], (index) => index % 4 < 2)).toEqual(['a <= 1.0']);
    expect(countsOf(['"8"', '"9"', '"10"', '"11"'], (index) => index % 4 < 2)).toEqual(['a <= 9']);
  });

  test('that are numbers as texts have limits, also where nearly every event has another one', () => {
    const cents = (index: number) => ((index * 7919) % 20_000) / 100;
    const isLarge = (index: number) => cents(index) >= 150;
    const causesOf = (text: (index: number) => string) =>
      explainItems(itemsOf(events(2000, isLarge, (index) => ({ amount: text(index) }))));
    expect(
      causesOf((index) => cents(index).toFixed(2)).causes.map(({ conditions }) => texts(conditions)),
    ).toEqual([['amount >= 150']]);
    // A text with a zero before it is a number to nobody.
    expect(causesOf((index) => `0${cents(index).toFixed(2)}`)).toMatchObject({
      causes: [],
      notCompared: ['amount', 'eventId'],
    });
  });

  test('whose bytes look like another text are told apart', () => {
    expect(named((index) => ({ a: index % 2 ? 'Ã©' : 'é' }))).toEqual(['a = é']);
  });

  test('of names with dots and of elements are written as --where takes them', () => {
    expect(named((index) => ({ 'a.b': { 'c=d': index % 2 ? 1 : 2 } }))).toEqual(['a\\.b.c\\=d = 2']);
    expect(named((index) => ({ list: [{ id: 7 }, { id: index % 2 ? 1 : 2 }] }))).toEqual(['list[].id = 2']);
  });

  test('of the last of several members of one name count', () => {
    const history = events(200, half, () => ({})).map((event, index) =>
      JSON.stringify(event).replace('}', `,"a":{"b":1},"a":${index % 2 ? 1 : 2}}`),
    );
    expect(explainItems(itemsOf(history)).causes.map(({ conditions }) => texts(conditions))).toEqual([
      ['a = 2'],
    ]);
  });
});

describe('the times of a cause', () => {
  const eu = (index: number) => ({ region: index % 3 === 0 ? 'eu' : 'us' });

  test('tell since when it fails, without a span that would say the same', () => {
    const [cause] = explainItems(itemsOf(events(600, (index) => index % 3 === 0 && index >= 300, eu))).causes;
    expect(texts(cause?.conditions ?? [])).toEqual(['region = eu']);
    expect([cause?.failed, cause?.events]).toEqual([100, 200]);
    expect([cause?.failingSince?.text, cause?.lastSuccess?.text]).toEqual([
      '2026-11-22T05:00:00.000Z',
      '2026-11-22T04:57:00.000Z',
    ]);
  });

  test('and its span where the value alone could be chance', () => {
    const failed = (index: number) => (index % 3 === 0 ? index >= 123 : index % 10 === 4);
    const [cause] = explainItems(itemsOf(events(160, failed, eu))).causes;
    expect(texts(cause?.conditions ?? [])).toEqual(['region = eu', 'createdOn >= 2026-11-22T02:03:00.000Z']);
    expect(cause).toMatchObject({ failed: 13, events: 13, failedWithout: 11, eventsWithout: 147 });
  });

  test('and its span, if it is over, with bounds that hold no other event', () => {
    const [cause] = explainItems(
      itemsOf(events(600, (index) => index % 3 === 0 && index >= 300 && index < 400, eu)),
    ).causes;
    expect(texts(cause?.conditions ?? [])).toEqual([
      'region = eu',
      'createdOn >= 2026-11-22T05:00:00.000Z',
      'createdOn <= 2026-11-22T06:39:00.000Z',
    ]);
    expect(cause).toMatchObject({ failed: 34, events: 34, failingSince: undefined });
    expect([cause?.after?.text, cause?.before?.text]).toEqual([
      '2026-11-22T04:59:59Z',
      '2026-11-22T06:39:01Z',
    ]);
  });
});

describe.each([
  ['flat', (envelope: Json, event: Json) => ({ ...envelope, ...event })],
  ['published', (envelope: Json, event: Json) => ({ ...envelope, eventData: event })],
] as const)('the size of an event, %s', (_shape, recordOf) => {
  const mixed = (index: number, salt: number) =>
    (Math.imul(Math.imul(index + 1, 0x9e3779b1) ^ (index >>> 3) ^ (salt * 0x85ebca6b), 0xc2b2ae35) >>> 8) %
    1000;
  const left = (failed: boolean) =>
    failed
      ? { attempts: 5, response: { status: 413, message: 'too large' } }
      : { attempts: 1, response: null };
  /** Records with four texts of several lengths, whose sizes are those given without what failing left. */
  const records = (
    sizeAt: (index: number) => number,
    fails: (index: number) => boolean,
    hasEffects: boolean,
  ) =>
    Array.from({ length: 500 }, (_, index) => {
      const shares = [0, 1, 2, 3].map((salt) => 100 + mixed(index, salt));
      const sum = shares.reduce((all, share) => all + share, 0);
      const data = Object.fromEntries(
        shares.map((share, at) => [`text${at}`, 'x'.repeat(Math.floor((share / sum) * sizeAt(index)))]),
      );
      const createdOn = new Date(Date.parse('2026-11-22T00:00:00Z') + index * 60_000).toISOString();
      const publishStatus = fails(index) ? 'FAILED' : 'SUCCESS';
      const envelope = {
        createdOn,
        publishStatus,
        subscriptionId: `s${index % 7}`,
        ...(hasEffects ? left(fails(index)) : {}),
      };
      return recordOf(envelope, { eventId: `e${index}`, eventType: typeAt(index), data });
    });
  const typeAt = (index: number) => (index % 5 === 0 ? 'report.ready' : `order.${index % 4}`);
  const isLarge = (index: number) => index % 5 === 0 || index % 13 === 0;
  const largeOrSmall = (index: number) =>
    isLarge(index) ? 20_500 + 9 * mixed(index, 5) : 600 + 15 * mixed(index, 5);

  test.each([false, true])(
    'is the cause rather than the type that is always large, with effects: %s',
    (hasEffects) => {
      const { causes } = explainItems(itemsOf(records(largeOrSmall, isLarge, hasEffects)));
      expect(causes.map(({ conditions }) => texts(conditions))).toEqual([['item:size >= 20000']]);
    },
  );

  test('is no cause where failing alone made it larger', () => {
    const fails = (index: number) => mixed(index, 4) < 120;
    const { causes } = explainItems(itemsOf(records((index) => 100 + mixed(index, 5) / 10, fails, true)));
    expect(causes).toEqual([]);
  });
});

test('a field of nearly as many values as events is named as not compared', () => {
  const amount = (index: number) => ({ amount: index * 1.5, note: `n${index}` });
  const found = explainItems(itemsOf(events(300, (index) => index % 7 === 0, amount)));
  expect(found.notCompared).toEqual(['eventId', 'note']);
  expect(found.notLookedAt).toEqual([]);
});

describe('of more fields than there is room for', () => {
  /** Members of one object by name, of which each event has some. */
  const wide = (count: number, members: (index: number) => object) =>
    explainItems(
      itemsOf(
        events(
          count,
          (index) => index % 7 === 0,
          (index) => ({ data: members(index) }),
        ),
      ),
    );
  const named = (count: number, from: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${from + at}`, at % 3]));

  test('2,000 are compared', () => {
    const found = wide(700, (index) => ({
      ...named(200, 200 * (index % 10)),
      ...(index % 7 === 0 ? { k1999: 'broken' } : {}),
    }));
    expect(found.notLookedAt).toEqual([]);
    expect(found.causes.map(({ conditions }) => texts(conditions))).toEqual([['data.k1999 = broken']]);
  });

  test('a list for whose elements there is none is named too', () => {
    const members = () => ({ data: named(4000, 0), list: [1, 2, 3] });
    const found = explainItems(itemsOf(events(20, (index) => index % 7 === 0, members)));
    expect(found.notLookedAt).toEqual(['data', 'list']);
  });

  test('those that failures have stay, and the object whose members were left out is named', () => {
    const found = wide(1150, (index) => ({
      // Names of which hardly any came again at first would be those of a map.
      ...(index % 7 === 0 ? { late: 'yes' } : named(5, index < 100 ? 0 : 5 * index)),
    }));
    expect(found.notLookedAt).toEqual(['data']);
    expect([...found.causes, ...found.onlyInFailures].length).toBeGreaterThan(0);
  });
});

describe('names of fields are read as words', () => {
  const found = (name: string, failed: (index: number) => string | number) => {
    const isFailed = (index: number) => index % 5 === 0;
    const value = (index: number) => (isFailed(index) ? failed(index) : 'abcd'[index % 4]);
    return explainItems(
      itemsOf(events(500, isFailed, (index) => ({ [name]: value(index), region: index % 5 ? 'eu' : 'us' }))),
    );
  };

  test.each(['default_branch', 'tracked', 'packed', 'consent_at', 'presentation', 'failover', 'reasonable'])(
    '%s holds no outcome',
    (name) => {
      const { causes, onlyInFailures } = found(name, () => 'x');
      expect(onlyInFailures).toEqual([]);
      const [{ conditions = [], same = [] } = {}] = causes;
      expect(new Set(texts([...conditions, ...same]))).toEqual(new Set([`${name} = x`, 'region = us']));
    },
  );

  test.each(['lastError', 'last_error', 'HTTPStatus', 'deadLettered', 'ackedAt', 'retry_count'])(
    '%s is one, where delivered events are alike in it',
    (name) => {
      const isFailed = (index: number) => index % 5 === 0;
      const members = (index: number) => ({
        [name]: isFailed(index) ? 'x' : 'none',
        region: isFailed(index) ? 'us' : 'eu',
      });
      const { causes, onlyInFailures } = explainItems(itemsOf(events(500, isFailed, members)));
      expect(causes.map(({ conditions }) => texts(conditions))).toEqual([['region = us']]);
      expect(texts(onlyInFailures)).toEqual([`${name} = x`]);
    },
  );

  test.each(['status', 'ms', 'latency', 'response'])('delivery.%s is one by its place', (name) => {
    const isFailed = (index: number) => index % 5 === 0;
    const members = (index: number) => ({
      delivery: { [name]: isFailed(index) && index % 3 ? 503 : 200 + (index % 2) },
      region: isFailed(index) ? 'us' : 'eu',
    });
    const { causes } = explainItems(itemsOf(events(500, isFailed, members)));
    expect(causes.map(({ conditions }) => texts(conditions))).toEqual([['region = us']]);
    const alone = explainItems(
      itemsOf(events(500, isFailed, (index) => ({ delivery: members(index).delivery }))),
    );
    expect(alone.causes).toEqual([]);
  });
});
