import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/context.ts';
import type { OnRetry, Service, ServiceRequest } from '../../src/http/service.ts';
import type { HttpResponse } from '../../src/http/transport.ts';
import { Items } from '../../src/items/items.ts';
import { JsonSyntaxError } from '../../src/items/json-scanner.ts';
import {
  adaptiveClient,
  askCount,
  DOUBTFUL_EVENT,
  type FetchPage,
  identified,
  keepPages,
  observed,
  pageClient,
  readPage,
} from '../../src/paging/page.ts';
import { advising } from '../support/advice.ts';
import { clock, clockWith } from '../support/clock.ts';
import { sampleSize } from '../support/seed.ts';

const TRY_AGAIN = advising(
  'try again later, or check --base-url (HOOKTRAIL_BASE_URL); `hooktrail config set base-url URL` saves another',
);

const texts = (body: string | Buffer) => {
  const items = readPage(Buffer.from(body)).items;
  return items.texts().map(String);
};

const anyJson = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });

describe('the items of a page', () => {
  test('keep their exact bytes: big integers, decimals, huge exponents, duplicate keys, order, escapes', () => {
    const items = [
      '{"n":9007199254740993,"d":1.10,"e":1e400,"neg":-0,"E":1E+2}',
      '{"b":1,"a":2,"b":3}',
      '{"text":"\\u00e9\\/\\n\\"}{][,:\\\\","\\ud800":"é😀"}',
      '[]',
      '"a string, {not} an object"',
      'null',
      'true',
      '-12.5e-3',
    ];
    expect(texts(`{"items":[${items.join(',')}],"count":8}`)).toEqual(items);
  });

  test('lose white space between tokens, but not inside strings; with none there, they are bytes of the answer', () => {
    const page =
      '\ufeff \n{ "items" : [ \t{ "a b" : " c\\" d " ,\r\n "e" : [ 1 , 2 ] } , { } ] , "next" : null }\n';
    expect(texts(page)).toEqual(['{"a b":" c\\" d ","e":[1,2]}', '{}']);
    const body = Buffer.from('{"items":[{"a":1}]}');
    expect(readPage(body).items.bytes).toBe(body);
  });

  test('are the same values whether the page is pretty-printed or not', () => {
    fc.assert(
      fc.property(
        fc.array(anyJson, { maxLength: 5 }),
        fc.constantFrom(undefined, 1, '\t'),
        (items, indent) => {
          const page = JSON.stringify({ href: 'x', items, count: items.length }, null, indent);
          expect(texts(page)).toEqual(items.map((item) => JSON.stringify(item)));
        },
      ),
      { numRuns: sampleSize(100, 1000) },
    );
  });

  test('may nest to any depth', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(texts(`{"items":[${deep}]}`)).toEqual([deep]);
  });

  test('is a collection by its members: an error with status 200 is not', () => {
    const isCollection = (text: string) => readPage(Buffer.from(text)).isCollection;
    expect(isCollection('{"code":"x.y","message":"m"}')).toBe(false);
    for (const items of ['{"0":{}}', '"x"', '1', 'false'])
      expect(isCollection(`{"href":"x","count":1,"items":${items}}`)).toBe(false);
    for (const text of ['{}', '{"items":[]}', '{"items":null}', '{"count":0,"message":"m"}']) {
      expect(isCollection(text)).toBe(true);
    }
  });

  test.each(['{}', '{"items":[]}', '{"items":null}', '{"count":3}'])('%s has no items', (page) =>
    expect(texts(page)).toEqual([]),
  );
});

describe('the rest of a page', () => {
  test('count and next are read wherever they are', () => {
    expect(
      readPage(Buffer.from('{"next":"/a?limit(2,1)","items":[1],"first":null,"count":7}')),
    ).toMatchObject({
      count: 7,
      next: '/a?limit(2,1)',
    });
  });

  test.each([
    ['{"items":[]}', undefined, undefined],
    ['{"count":"12","next":""}', 12, null],
    ['{"count":1.5,"next":5}', undefined, null],
    ['{"count":-1,"next":null}', undefined, null],
    ['{"count":null}', undefined, undefined],
  ])('%s is accepted without them', (page, count, next) => {
    expect(readPage(Buffer.from(page))).toMatchObject({ count, next });
  });
});

describe('invalid JSON', () => {
  test('a page cut at any byte is refused', () => {
    const page = Buffer.from('{"count":2,"items":[{"a":"é\\n","b":[1.5e3,true]},{"c":null}],"next":null}');
    for (let length = 0; length < page.length; length++) {
      expect(() => readPage(page.subarray(0, length)), `cut at ${length}`).toThrow(JsonSyntaxError);
    }
    expect(readPage(page).items.count).toBe(2);
  });

  test('bytes that are not UTF-8 are refused', () => {
    expect(() => readPage(Buffer.from([...Buffer.from('{"items":["'), 0xff, ...Buffer.from('"]}')]))).toThrow(
      /UTF-8/,
    );
  });
});

test.each([
  ['', 'an object', 0],
  ['[]', 'an object', 0],
  ['\ufeff[]', 'an object', 3],
  ['{"items":[1 2]}', "',' or ']'", 12],
  ['{"items":[1} ', "',' or ']'", 11],
  ['{"count":1 "limit":2}', "',' or '}'", 11],
  ['{"count":1] ', "',' or '}'", 10],
  ['{} x', 'the end', 3],
])('%j is refused: %s belongs at byte %i', (page, wanted, at) => {
  expect(() => readPage(Buffer.from(page))).toThrow(
    at >= Buffer.byteLength(page)
      ? `the text ends where ${wanted} belongs at byte ${at}`
      : `${wanted} expected at byte ${at}`,
  );
});

test('the last of several lists of items counts, no other list does, and each member of a collection makes one', () => {
  expect(texts('{"items":[1],"errors":[2]}')).toEqual(['1']);
  expect(texts('{"items":[1,2],"items":[3]}')).toEqual(['3']);
  expect(texts('{"items":[1,2],"items":null}')).toEqual([]);
  for (const member of ['items', 'href', 'previous', 'first', 'next', 'count', 'limit'])
    expect([member, readPage(Buffer.from(`{"${member}":null,"code":1}`)).isCollection]).toEqual([
      member,
      true,
    ]);
  expect(readPage(Buffer.from('{"item":null}')).isCollection).toBe(false);
});

test.each([
  ['0', 0],
  ['"0"', 0],
  ['500', 500],
  ['"5x"', undefined],
  ['"+5"', undefined],
  ['"5 "', undefined],
  ['[5]', undefined],
  ['""', undefined],
  ['9007199254740993', undefined],
  ['true', undefined],
])('a limit of %s is %s', (text, limit) =>
  expect(readPage(Buffer.from(`{"limit":${text}}`)).limit).toBe(limit),
);

describe('the keys of items', () => {
  const keysOf = (...items: readonly string[]) => {
    const { items: found, byEventId } = readPage(Buffer.from(`{"items":[${items.join(', ')}]}`));
    return { keys: [...found.keys], byEventId };
  };
  const event = (id: string, status = 'FAILED') => `{"eventId":"${id}","publishStatus":"${status}"}`;

  test('are those of their ids, whatever else has changed or stands after them', () => {
    const last = '{"publishStatus":"SUCCESS","eventId":"a"}';
    const { keys, byEventId } = keysOf(event('a'), event('b'), last);
    expect([keys[0] === keys[2], keys[0] === keys[1], byEventId]).toEqual([true, false, true]);
    const same = identified(
      Items.of([event('a'), event('b', 'SUCCESS'), last].map((text) => Buffer.from(text))),
    );
    expect([...same.keys]).toEqual(keys);
    expect(keysOf().byEventId).toBe(true);
    expect(readPage(Buffer.from('{}')).byEventId).toBe(true);
  });

  test.each(['', '"eventId":null,', '"eventId":"",'])('of items with {%s} are those of their text', (id) => {
    const [one, other] = [`{${id}"a":1}`, `{${id}"a":2}`];
    const { keys, byEventId } = keysOf(one, other, one, event('a'));
    expect([keys[0] === keys[2], keys[0] === keys[1], byEventId]).toEqual([true, false, false]);
  });

  test('are those of the subscription too, at the top or in the event', () => {
    const of = (subscription: string) => `{"eventId":"a","subscriptionId":"${subscription}"}`;
    const nested = '{"subscriptionId":"s","event":{"eventId":"a"}}';
    const { keys } = keysOf(of('s'), of('t'), nested, event('a'));
    expect(keys[0]).toBe(keys[2]);
    expect(new Set(keys).size).toBe(3);
  });

  test('are doubtful where an item has an eventId in two members', () => {
    const doubtful = '{"one":{"eventId":"a"},"two":{"eventId":"b"}}';
    for (const [items, hasDoubtful] of [
      [[event('a'), event('b')], false],
      [[doubtful, event('a')], true],
      [[event('a'), doubtful], true],
    ] as const) {
      expect(readPage(Buffer.from(`{"items":[${items.join(',')}]}`)).items.hasDoubtful).toBe(hasDoubtful);
      const found = identified(Items.of(items.map((text) => Buffer.from(text))));
      expect(found.hasDoubtful).toBe(hasDoubtful);
    }
    expect(DOUBTFUL_EVENT).toBe(
      'some items have an eventId in several members: ambiguous, so ignored; select one with --fields and its full path',
    );
  });

  test('differ for thousands of ids, and keep what is new apart', () => {
    const ids = Array.from({ length: 4000 }, (_, index) => event(`0f8fad5b-d9cb-469f-a165-${index}`));
    const { items } = readPage(Buffer.from(`{"items":[${ids.join(',')}]}`));
    expect(new Set(items.keys).size).toBe(4000);
    const parts = [...items.keys].map((key) => [Math.floor(key / 2 ** 32), key % 2 ** 32] as const);
    expect(parts.every(([high, low]) => high >= 0 && high < 2 ** 21 && low >= 0)).toBe(true);
    expect(new Set(parts.map(([high]) => high)).size).toBeGreaterThan(3900);
    expect(new Set(parts.map(([, low]) => low)).size).toBe(4000);
    const few = items.first(3);
    const rest = few.without(new Set([few.keys[1] as number]));
    expect(rest.texts().map(String)).toEqual([ids[0], ids[2]]);
    expect([...rest.keys]).toEqual([few.keys[0], few.keys[2]]);
    expect(few.without(new Set())).toBe(few);
  });
});

describe('pages that are asked for', () => {
  const url = new URL('https://events.example.com/v1/integrator-events');
  const answer = (body: string, parts: Partial<HttpResponse> = {}): HttpResponse => ({
    status: 200,
    headers: { date: 'Fri, 20 Nov 2026 12:00:00 GMT', 'content-type': 'application/json' },
    body: Buffer.from(body),
    ...parts,
  });

  function asking(...answers: readonly HttpResponse[]) {
    const left = [...answers];
    const retries: unknown[] = [];
    const slept: unknown[] = [];
    const sent: ServiceRequest[] = [];
    const { signal } = new AbortController();
    const sleep: Clock['sleep'] = async (milliseconds, until) =>
      void slept.push(until === signal ? milliseconds : until);
    const service = {
      baseUrl: url,
      clock: clockWith({ now: clock.now, sleep }),
      send: async (request: ServiceRequest) => {
        sent.push(request);
        return left.shift() as HttpResponse;
      },
    };
    const onRetry: OnRetry = (retry) => retries.push(retry);
    const client = pageClient(service, onRetry);
    const { baseUrl, fetchPage } = client;
    return {
      client,
      ask: () => fetchPage(baseUrl, signal),
      retries,
      slept,
      left,
      sent,
      request: { url, signal, onRetry },
    };
  }

  test('come with the time of the service, if it says it', async () => {
    const { ask, sent, request } = asking(answer('{"items":[1]}'), answer('{}', { headers: {} }));
    expect((await ask()).serviceTime).toBe(Date.parse('2026-11-20T12:00:00Z'));
    expect((await ask()).serviceTime).toBeUndefined();
    expect(sent).toEqual([request, request]);
  });

  test('are seen before they are returned', async () => {
    const { client } = asking(answer('{"items":[1]}'));
    const seen: unknown[] = [];
    const asked = observed(client, (page) => seen.push(page));
    expect(seen).toEqual([]);
    expect(seen).toEqual([await asked.fetchPage(asked.baseUrl)]);
  });

  test('that come together are read one in each turn of the event loop, so that others can be asked for', async () => {
    const { ask } = asking(answer('{"items":[1]}'), answer('{"items":[2]}'));
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    setImmediate(() => setImmediate(note('others')));
    await Promise.all([ask().then(note('first')), ask().then(note('second'))]);
    expect(order).toEqual(['first', 'others', 'second']);
  });

  test('are asked for three times if they are not JSON', async () => {
    const good = asking(answer('{"items":['), answer('<p>busy</p>'), answer('{"items":[1]}'));
    expect((await good.ask()).page.items.count).toBe(1);
    expect(good.slept).toEqual([500, 1000]);
    expect(good.retries).toEqual([
      { reason: 'an answer that is not JSON', delay: 500 },
      { reason: 'an answer that is not JSON', delay: 1000 },
    ]);
    for (const [last, details] of [
      [' [1,', ['an object expected at byte 1']],
      ['[1,', ['an object expected at byte 0']],
      [' the {proxy} is tired', ['an object expected at byte 1', 'the {proxy} is tired']],
    ] as const) {
      const bad = asking(...['{"items":[', '{', last].map((body) => answer(body)), answer('{}'));
      await expect(bad.ask()).rejects.toMatchObject({
        message: 'the service answered with something that is not a collection in JSON',
        details,
        next: TRY_AGAIN,
      });
      expect([bad.left.length, bad.slept]).toEqual([1, [500, 1000]]);
    }
  });

  test('leave the signal to the service, and need nobody who is told of retries', async () => {
    const asked: string[][] = [];
    const send: Service['send'] = async (request) => {
      asked.push(Object.keys(request));
      return answer('{');
    };
    const { fetchPage } = pageClient({ baseUrl: url, clock: clockWith({ now: clock.now }), send });
    await expect(fetchPage(url)).rejects.toThrow('not a collection in JSON');
    expect(asked[0]).toEqual(['url', 'onRetry']);
  });

  test('are asked for half as many at once after each 429, down to one, and after no other fault', async () => {
    const statuses = [503, 429, undefined, 429, 429];
    const retries: unknown[] = [];
    const send: Service['send'] = async ({ onRetry }) => {
      const status = statuses[retries.length];
      onRetry?.({ reason: '', delay: 0, ...(status ? { status } : {}) });
      return answer('{}');
    };
    const service = { baseUrl: url, clock: clockWith({ now: clock.now }), send };
    const { client, width } = adaptiveClient(service, 5, (retry) => retries.push(retry));
    const widths: number[] = [];
    for (const _ of statuses) {
      await client.fetchPage(url);
      widths.push(width());
    }
    expect(widths).toEqual([5, 2, 2, 1, 1]);
    retries.length = 1;
    const unnoticed = adaptiveClient(service, 4);
    await unnoticed.client.fetchPage(url);
    expect(unnoticed.width()).toBe(2);
  });

  test('are not blamed for a fault of the program', async () => {
    const fault = new TypeError('a fault of the program');
    const body = Buffer.from('{}');
    Object.defineProperty(body, 'length', {
      get: () => {
        Reflect.deleteProperty(body, 'length');
        throw fault;
      },
      configurable: true,
    });
    const bad = asking({ ...answer('{}'), body }, answer('{}'));
    await expect(bad.ask()).rejects.toBe(fault);
    expect([bad.left.length, bad.slept]).toEqual([1, []]);
  });

  test('are an error at once if they are no collection, or have another status', async () => {
    const none = asking(answer('{"code":"x.y","message":"m"}'), answer('{}'));
    await expect(none.ask()).rejects.toMatchObject({
      message: 'the service answered with something that is not a collection',
      details: ['code: x.y', 'message: m'],
      errorObject: { code: 'x.y', message: 'm' },
      next: TRY_AGAIN,
    });
    const failed = asking(answer('{}', { status: 400 }), answer('{}'));
    await expect(failed.ask()).rejects.toThrow('the search failed');
    expect([none.left.length, failed.left.length, none.slept, failed.slept]).toEqual([1, 1, [], []]);
    await expect(asking(answer('{}', { status: 429 })).ask()).rejects.toMatchObject({
      next: 'try again later, or with --concurrency 1',
    });
  });

  test('have a count of the whole collection, unless it is that of the page alone', async () => {
    const asked: string[] = [];
    const countOf = async (body: string) => {
      const fetchPage: FetchPage = async (at) => {
        asked.push(at.href);
        return { page: readPage(Buffer.from(body)), serviceTime: undefined };
      };
      return await askCount(
        { baseUrl: new URL('https://events.example.com'), fetchPage },
        {},
        new AbortController().signal,
      );
    };
    expect(await countOf('{"items":[1],"count":7,"next":"/a"}')).toBe(7);
    expect(await countOf('{"items":[1],"count":1,"next":"/a"}')).toBeUndefined();
    expect(await countOf('{"items":[1],"count":1}')).toBe(1);
    expect(await countOf('{"items":[1],"count":0}')).toBeUndefined();
    expect(await countOf('{"items":[]}')).toBeUndefined();
    expect(asked[0]).toBe('https://events.example.com/integrator-events?limit(1,1)');
  });

  test('are filtered up to a limit, and a filter has no total', async () => {
    const pages = async function* () {
      for (const numbers of [['1', '2'], ['3'], ['4', '5']])
        yield { items: Items.of(numbers.map((text) => Buffer.from(text))), total: 5 };
    };
    const kept = async (limit: number, keep?: (items: Items) => Items) => {
      const found: unknown[] = [];
      for await (const { items, total } of keepPages(pages(), keep, limit))
        found.push([items.texts().map(String).join(), total]);
      return found;
    };
    expect(await kept(4)).toEqual([
      ['1,2', 5],
      ['3', 5],
      ['4', 5],
    ]);
    expect(await kept(3)).toEqual([
      ['1,2', 5],
      ['3', 5],
    ]);
    expect(await kept(2, (items) => items.pick(items.count > 1 ? [1] : []))).toEqual([
      ['2', undefined],
      ['', undefined],
      ['5', undefined],
    ]);
  });
});
