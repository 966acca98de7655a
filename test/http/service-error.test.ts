import { expect, test } from 'vitest';
import { describeBody } from '../../src/http/service-error.ts';

const lines = (body: string, type = 'application/json') =>
  describeBody({ body: Buffer.from(body), headers: { 'content-type': type } });

test.each([
  ['', []],
  [
    '{"code":"event.invalid","message":"Bad","property":null,"properties":{"a":"1","b":"2"}}',
    ['code: event.invalid', 'message: Bad', 'properties:', '  a: 1', '  b: 2'],
  ],
  ['{"title":"Nope","status":403,"detail":"Ask us"}', ['title: Nope', 'status: 403', 'detail: Ask us']],
  [
    '{"error":"invalid_grant","error_description":"spent"}',
    ['error: invalid_grant', 'error_description: spent'],
  ],
  ['{"errors":["one",{"two":2}]}', ['errors:', '  - one', '  - {"two":2}']],
  ['just text', ['just text']],
  ['["a"]', ['["a"]']],
  ['{}', ['{}']],
])('the body %s is told as %j', (body, expected) => expect(lines(body)).toEqual(expected));

test('an HTML page is told by its title', () => {
  expect(lines('<html><head><title>502 Bad Gateway</title></head></html>', 'text/html')).toEqual([
    'an HTML page: 502 Bad Gateway',
  ]);
});

test('a long text is cut', () => {
  const [line] = lines('x'.repeat(5000), 'text/plain');
  expect(line).toBe(`${'x'.repeat(2000)}… (5000 characters)`);
});
