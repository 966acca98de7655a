import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuery } from '../../src/sandbox/service/query-keys.ts';
import { ServiceFailure } from '../../src/sandbox/service/service-failure.ts';

const guid = '0f8fad5b-d9cb-469f-a165-70867728950e';

function failure(query: string): string {
  try {
    parseQuery(query);
  } catch (error) {
    if (error instanceof ServiceFailure) return `${error.status} ${error.issues[0]?.code}`;
  }
  return 'accepted';
}

describe('query keys', () => {
  test('reads every key of the service description', () => {
    const query = [
      'gt(createdOn,2026-11-01)',
      'lt(createdOn,2026-11-02T03:04:05.1234567Z)',
      `eq(subscriptionId,${guid.toUpperCase()})`,
      `eq(eventId,${guid})`,
      'eq(publishStatus,FAILED)',
      'eq(eventType,document.signed)',
      'limit(501,250)',
    ].join('&');
    expect(parseQuery(query)).toEqual({
      filter: {
        after: '2026-11-01T00:00:00.0000000',
        before: '2026-11-02T03:04:05.1234567',
        subscriptionId: guid,
        eventId: guid,
        publishStatus: 'FAILED',
        eventType: 'document.signed',
      },
      start: 501,
      size: 250,
      filterKeys: query.split('&').slice(0, 6),
    });
  });

  test('uses the defaults if there is no query', () => {
    expect(parseQuery('')).toEqual({ filter: {}, start: 1, size: 500, filterKeys: [] });
  });

  test.each([
    ['publishStatus=FAILED', '400 event.malformed_parameter'],
    ['eq(publishStatus,FAILED)=', '400 event.malformed_parameter'],
    ['eq(publishStatus,FAILED)=1', '400 event.malformed_parameter'],
    ['eq(publishStatus,FAILED)&', '400 event.malformed_parameter'],
    ['&eq(publishStatus,FAILED)', '400 event.malformed_parameter'],
    ['eq%28publishStatus,FAILED%29', '400 event.malformed_parameter'],
    ['eq(publishStatus%2CFAILED)', '400 event.malformed_parameter'],
    ['eq(publishStatus,FAILED,FAILED)', '400 event.malformed_parameter'],
    ['eq(publishStatus,FAILED))', '400 event.malformed_parameter'],
    ['eq(publishStatus, FAILED)', '400 event.malformed_parameter'],
    ['eq(eventType,a=b)', '400 event.malformed_parameter'],
    ['eq(eventType,a(b)', '400 event.malformed_parameter'],
    ['eq(eventType,%)', '400 event.malformed_parameter'],
    ['eq(eventType,%zz)', '400 event.malformed_parameter'],
    ['eq(eventType,%C3)', '400 event.malformed_parameter'],
    ['eq(eventType,%ED%A0%80)', '400 event.malformed_parameter'],
    ['eq(eventType,\u00fc)', '400 event.malformed_parameter'],
    ['eq(createdOn,2026-11-01)', '400 event.unknown_parameter'],
    ['gt(eventId,1)', '400 event.unknown_parameter'],
    ['ge(createdOn,2026-11-01)', '400 event.unknown_parameter'],
    ['eq(constructor,1)', '400 event.unknown_parameter'],
    ['toString(a,1)', '400 event.malformed_parameter'],
    ['eq(publishStatus,failed)', '400 event.invalid_value'],
    ['eq(publishStatus,)', '400 event.invalid_value'],
    ['eq(eventId,1)', '400 event.invalid_value'],
    [`eq(subscriptionId,{${guid}})`, '400 event.malformed_parameter'],
    ['gt(createdOn,2026-02-30)', '400 event.invalid_value'],
    ['gt(createdOn,2026-11-01T24:00:00Z)', '400 event.invalid_value'],
    ['gt(createdOn,2026-11-01T00:00:00)', '400 event.invalid_value'],
    ['gt(createdOn,2026-11-01T00:00:00%2B01:00)', '400 event.invalid_value'],
    ['gt(createdOn,now)', '400 event.invalid_value'],
    ['gt(createdOn,2026-11-01)&gt(createdOn,2026-11-02)', '400 event.duplicate_parameter'],
    ['eq(eventType,a)&eq(eventType,b)', '400 event.duplicate_parameter'],
    ['limit(1,5)&limit(1,5)', '400 event.duplicate_parameter'],
    ['limit(0,5)', '400 event.invalid_limit'],
    ['limit(1,0)', '400 event.invalid_limit'],
    ['limit(a,5)', '400 event.invalid_limit'],
    ['limit(1,%35)', '400 event.invalid_limit'],
    ['limit(99999999999,5)', '400 event.invalid_limit'],
    ['limit(1,501)', '400 event.limit_exceeded'],
    ['limit(5)', '400 event.malformed_parameter'],
    ['limit(-1,5)', '400 event.malformed_parameter'],
  ])('refuses %s with %s', (query, expected) => {
    expect(failure(query)).toBe(expected);
  });

  test('accepts any text as a value, whatever it contains', () => {
    const encode = (text: string) =>
      [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const { filter, filterKeys } = parseQuery(`eq(eventType,${encode(value)})&limit(2,3)`);
        expect(filter).toEqual({ eventType: value });
        expect(filterKeys).toHaveLength(1);
      }),
    );
  });

  test('answers any query with its content or a 400, never with a defect', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'eq(',
        'gt(',
        'lt(',
        'limit(',
        'createdOn',
        'eventType',
        ',',
        ')',
        '&',
        '=',
        '%',
        '%28',
        '1',
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        expect(failure(pieces.join(''))).toMatch(/^(accepted|400 event\.\w+)$/);
      }),
    );
  });
});
