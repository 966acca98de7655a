import { describe, expect, test } from 'vitest';
import { eventKey } from '../../src/ids/event-keys.ts';
import { BodyError, objectLine, readDelivery, readObject, shownId } from '../../src/webhooks/delivery.ts';

const HEADERS = { contentType: 'application/json', apiToken: 'token' };

describe('a delivery', () => {
  test('has the id and type of its event, its body byte for byte, and its headers', () => {
    const body = Buffer.from(' {"eventId":"a", "eventType":"b.c"} ');
    expect(readDelivery(body, HEADERS)).toEqual({
      eventId: 'a',
      key: eventKey('a'),
      body,
      ...HEADERS,
      type: 'b.c',
    });
  });

  test('has the id and type of an event inside', () => {
    const body = Buffer.from('{"subscriptionId":"s","eventData":{"eventId":"a","eventType":"b.c"}}');
    expect(readDelivery(body, HEADERS)).toMatchObject({ eventId: 'a', type: 'b.c' });
  });

  test.each(['{"eventId":"a"}', '{"eventId":"a","eventType":7}', '{"eventId":"a","eventType":null}'])(
    'may be without a type: %s',
    (body) => {
      expect(readDelivery(Buffer.from(body), HEADERS).type).toBe('-');
    },
  );

  test.each([
    ['{}', "the body has no 'eventId'"],
    ['{"eventId":7}', "the 'eventId' is not a string"],
    ['{"eventId":""}', "the 'eventId' is empty"],
    ['[]', 'the body is not a JSON object'],
    ['null', 'the body is not a JSON object'],
    ['"text"', 'the body is not a JSON object'],
    ['{"half', 'the body is not JSON'],
    ['', 'the body is not JSON'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'the body is not UTF-8'],
  ])('that is %j is refused', (body, message) => {
    expect(() => readDelivery(Buffer.from(body as string), HEADERS)).toThrow(new BodyError(message));
  });

  test('may begin with a byte order mark, which its line does not have', () => {
    const body = Buffer.from('\ufeff {"a": 1,\n "b": [ "x y" ] }\n');
    expect(readObject(body)).toEqual({ a: 1, b: ['x y'] });
    expect(String(objectLine(body))).toBe('{"a":1,"b":["x y"]}');
  });
});

test.each([
  ['a', 'a'],
  ['x'.repeat(100), 'x'.repeat(100)],
  ['x'.repeat(101), `${'x'.repeat(100)}… (101 characters)`],
  ['x'.repeat(1234), `${'x'.repeat(100)}… (1,234 characters)`],
])('the id %s is shown as %s', (id, shown) => {
  expect(shownId(id)).toBe(shown);
});

test.each(['a\u001b[31mb', `\u001b${'x'.repeat(200)}`])('an id moves nothing on a terminal: %j', (id) => {
  expect(shownId(id)).not.toContain('\u001b');
});
