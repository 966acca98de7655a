import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Advice, adviceText } from '../../src/advice.ts';
import {
  addQueries,
  encoded,
  endpoint,
  followed,
  leadsTo,
  otherOrigin,
  pinned,
  queryString,
  searchUrl,
} from '../../src/paging/event-query.ts';
import { parseInstant } from '../../src/time/instant.ts';
import { sampleSize } from '../support/seed.ts';

/**
 * An independent parser for the query keys (service description, part 4): it splits on the literal characters
 * of the grammar first and decodes afterwards, as a server does. It shares no code with the encoder.
 */
function parseKeys(search: string): { operator: string; args: string[] }[] {
  return search.split('&').map((part) => {
    const match = /^([a-z]+)\(([^()]*)\)$/.exec(part);
    if (!match) throw new Error(`not a query key: ${part}`);
    return { operator: match[1] as string, args: (match[2] as string).split(',').map(decodeURIComponent) };
  });
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ unit: 'grapheme', minLength: 1 }),
  fc.constantFrom(
    'a)&eq(publishStatus,SUCCESS',
    '),(',
    '%29',
    '&',
    '=',
    '+',
    ' ',
    'a\r\nHost: x',
    '#?/\\',
    "'*!",
  ),
);

describe('the query keys of a search', () => {
  test('an independent parser reads any event type back as the same text, without extra parameters', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const keys = parseKeys(
          queryString({ publishStatus: 'FAILED', eventType: value }, { start: 1, count: 500 }),
        );
        expect(keys).toEqual([
          { operator: 'eq', args: ['publishStatus', 'FAILED'] },
          { operator: 'eq', args: ['eventType', value] },
          { operator: 'limit', args: ['1', '500'] },
        ]);
      }),
      { numRuns: sampleSize(200, 2000) },
    );
  });

  test('the URL keeps the query exactly as it was encoded', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const url = searchUrl(new URL('https://events.example.com/v'), { eventType: value });
        expect(url.href).toBe(
          `https://events.example.com/v/integrator-events?eq(eventType,${encoded(value)})`,
        );
      }),
    );
  });

  test('only unreserved characters and the colon stay literal', () => {
    const literal = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter(
      (character) => encoded(character) === character,
    );
    expect(literal.join('')).toBe('-.0123456789:ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~');
  });

  test('keys are in the order of the service description, whichever are absent', () => {
    const instant = (text: string) => parseInstant(text);
    const query = {
      eventType: 'a.b',
      publishStatus: 'FAILED' as const,
      eventId: 'E',
      subscriptionId: 'S',
      before: instant('2026-11-02'),
      after: instant('2026-11-01T00:00:00Z'),
    };
    expect(queryString(query, { start: 501, count: 500 })).toBe(
      'gt(createdOn,2026-11-01T00:00:00Z)&lt(createdOn,2026-11-02)&eq(subscriptionId,S)&eq(eventId,E)' +
        '&eq(publishStatus,FAILED)&eq(eventType,a.b)&limit(501,500)',
    );
    expect(queryString({}, { start: 1, count: 1 })).toBe('limit(1,1)');
    expect(queryString({})).toBe('');
  });
});

describe('a link to the next page', () => {
  const page = new URL('https://events.example.com/v1/integrator-events?limit(1,10)');
  const next = 'https://events.example.com/v1/integrator-events?limit(11,10)';

  test.each([next, '/v1/integrator-events?limit(11,10)', '?limit(11,10)', `${next}#top`])(
    'is followed on the service itself: %s',
    (link) => {
      expect(followed(link, page).href).toBe(next);
      expect([leadsTo(11, link, page), leadsTo(21, link, page)]).toEqual([true, false]);
    },
  );

  test.each([
    ['http://[', 'is not an address'],
    ['https://user:password@events.example.com/?limit(11,10)', 'holds a user name or password'],
    ['https://user@events.example.com/?limit(11,10)', 'holds a user name or password'],
    ['https://:password@events.example.com/?limit(11,10)', 'holds a user name or password'],
    [
      'https://other.example.com/?limit(11,10)',
      'leads away from https://events.example.com',
      'if that is the same service, sign in there: `hooktrail login --base-url https://other.example.com/v1`',
    ],
    ['http://events.example.com/?limit(11,10)', 'leads away from https://events.example.com'],
  ])('is refused before any request, with a count and without: %s', (link, why, next?: string) => {
    const error = expect.objectContaining({
      message: `the service's link to the next page ${why}`,
      details: [`link: ${link}`],
    });
    for (const follow of [() => followed(link, page), () => leadsTo(11, link, page)]) {
      expect(follow).toThrow(error);
      expect(follow).toThrow(expect.toSatisfy(({ next: said }) => (said && adviceText(said, {})) === next));
    }
  });
});

describe('where a link leads', () => {
  const page = new URL('https://events.example.com/integrator-events/v1/integrator-events?limit(1,10)');

  test.each([
    ['?limit(11,10)', true],
    ['?a=1&limit(11,10)', true],
    ['?limit%2811%2C10%29', true],
    ['?limit%2811%2c10)', true],
    ['?nolimit(11,10)', false],
    ['?limit(11)', false],
    ['?page=2', false],
    ['', true],
    [null, true],
    [undefined, true],
  ])('%s leads to the eleventh item, or is none: %s', (link, expected) => {
    expect(leadsTo(11, link, page)).toBe(expected);
  });

  test('to another service names its base URL, whatever the path before it', () => {
    const saysBase = ({ next }: { next: Advice }) =>
      adviceText(next, {}).includes('https://other.example.com/integrator-events/v1`');
    expect(() => followed('https://other.example.com/?limit(11,10)', page)).toThrow(
      expect.toSatisfy(saysBase),
    );
  });

  test.each([
    ['http://events.example.com/?limit(11,10)', 'http://events.example.com'],
    ['//other.example.com/', 'https://other.example.com'],
    ['https://events.example.com/other', undefined],
    ['?limit(11,10)', undefined],
    ['http://[', undefined],
  ])('%s leads to the origin %s', (link, origin) => {
    expect(otherOrigin(link, page)).toBe(origin);
  });
});

test('searches are added, without those that are there but for their times', () => {
  const [early, late] = [parseInstant('2026-11-01'), parseInstant('2026-11-02')];
  const known = { eventType: 'a', after: early };
  const others = [{ eventType: 'a', after: late, before: late }, { eventType: 'b' }, { eventId: 'a' }];
  expect(addQueries([known], others)).toEqual([known, ...others.slice(1)]);
});

test('a path without a query has no question mark', () => {
  const base = new URL('https://events.example.com/v1/');
  expect(endpoint(base, 'x').href).toBe('https://events.example.com/v1/x');
  expect(endpoint(base, 'x', 'a=1').href).toBe('https://events.example.com/v1/x?a=1');
});

describe('an address is limited to events before a time', () => {
  const pin = parseInstant('2026-11-20T12:00:00Z');
  const KEY = 'lt(createdOn,2026-11-20T12:00:00Z)';
  test.each([
    ['', `?${KEY}`],
    ['?eq(eventId,a)', `?eq(eventId,a)&${KEY}`],
    ['?limit(1,5)', `?${KEY}&limit(1,5)`],
    ['?eq(eventId,a)&limit%281,5)', `?eq(eventId,a)&${KEY}&limit%281,5)`],
    ['?eq(eventId,nolimit(a)', `?eq(eventId,nolimit(a)&${KEY}`],
    ['?gt(createdOn,2026-11-01)&LIMIT(1,5)&x', `?gt(createdOn,2026-11-01)&${KEY}&LIMIT(1,5)&x`],
    ['?eq(eventId,alt(createdOn)', `?eq(eventId,alt(createdOn)&${KEY}`],
  ])('%s becomes %s', (search, expected) => {
    const url = new URL(`https://events.example.com/v1${search}`);
    expect(pinned(url, pin).search).toBe(expected);
    expect(url.search).toBe(search);
  });

  test.each(['?lt(createdOn,2026-11-01)', '?a&lt%28createdOn,2026-11-01)', '?LT(CREATEDON,2026-11-01)'])(
    'which has such a limit already stays: %s',
    (search) => {
      const url = new URL(`https://events.example.com/v1${search}`);
      expect(pinned(url, pin).search).toBe(search);
    },
  );

  test('which nothing limits stays', () => {
    const url = new URL('https://events.example.com/v1?limit(1,5)');
    expect(pinned(url, undefined)).toBe(url);
  });
});
