import { expect, test } from 'vitest';
import { describeBody, serviceError } from '../../src/http/service.ts';

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
  [
    '{"errors":[{"code":"event.invalid","description":"Bad","property":"eventId","properties":{"a":"1"}},{"code":"two"}]}',
    ['code: event.invalid', 'description: Bad', 'property: eventId', 'properties:', '  a: 1', 'code: two'],
  ],
  ['{"errors":[]}', ['{"errors":[]}']],
  ['just text', ['just text']],
  ['["a"]', ['["a"]']],
  ['{}', ['{}']],
])('the body %s is reported as %j', (body, expected) => expect(lines(body)).toEqual(expected));

test('an HTML page is reported by its title', () => {
  expect(lines('<html><head><title>502 Bad Gateway</title></head></html>', 'text/html')).toEqual([
    'an HTML page: 502 Bad Gateway',
  ]);
});

test('a long text is cut', () => {
  const [line] = lines('x'.repeat(5000), 'text/plain');
  expect(line).toBe(`${'x'.repeat(2000)}… (5000 characters)`);
});

test.each([
  [429, { 'retry-after': '90' }, 'try again after 90 s'],
  [429, { 'retry-after': 'Sat, 21 Nov 2026 10:30:00 GMT' }, 'try again after Sat, 21 Nov 2026 10:30:00 GMT'],
  [503, { 'retry-after': '999' }, 'try again after 999 s'],
  [
    302,
    { location: '/sign-in?access_token=secret&to=x' },
    'redirects are not followed with the token; check --base-url: it redirects to /sign-in?access_token=[redacted]&to=x',
  ],
  [
    401,
    {},
    'run `hooktrail login` to sign in again; where HOOKTRAIL_ACCESS_TOKEN is set, put a valid token there',
  ],
])('an answer with %i and %j says what to do', (status, headers, next) => {
  expect(serviceError({ status, headers, body: Buffer.alloc(0) }, 'the search failed').next).toBe(next);
});

test('after 429 a command that has a flag for fewer requests names it', () => {
  const answer = { status: 429, headers: {}, body: Buffer.alloc(0) };
  const steps = { ifTooMany: 'or with --concurrency 1' };
  expect(serviceError(answer, 'the search failed', steps).next).toBe(
    'try again later, or with --concurrency 1',
  );
});
