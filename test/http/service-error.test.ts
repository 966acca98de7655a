import { expect, test } from 'vitest';
import { NotSignedInError, ServiceError } from '../../src/errors.ts';
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
  ['{"code":"a","errors":[]}', ['code: a']],
  ['{"code":"outer","errors":[{"code":"inner"}]}', ['code: outer', 'code: inner']],
  ['{"code":"a","empty":{},"none":[],"missing":null}', ['code: a']],
  ['null', ['null']],
  ['7', ['7']],
  ['{"half', ['{"half']],
  ['just text', ['just text']],
  ['["a"]', ['["a"]']],
  ['{}', ['{}']],
])('the body %s is reported as %j', (body, expected) => expect(lines(body)).toEqual(expected));

test('an HTML page is reported by its title', () => {
  expect(lines('<html><head><title>502 Bad Gateway</title></head></html>', 'text/html')).toEqual([
    'an HTML page: 502 Bad Gateway',
  ]);
});

test.each([
  ['<TITLE lang="en">\n  Bad\n</TITLE>', 'an HTML page: Bad'],
  ['<title></title>', 'an HTML page'],
  ['<p>down</p>', 'an HTML page'],
])('the title of %j stands for the page', (body, line) =>
  expect(lines(body, 'text/html; charset=utf-8')).toEqual([line]),
);

test('a body without a media type is text', () => {
  expect(describeBody({ body: Buffer.from(' <p>down</p>\n'), headers: {} })).toEqual(['<p>down</p>']);
});

test('a text of 2000 characters is whole, one more is cut, also in a member', () => {
  const [whole, long] = ['x'.repeat(2000), 'x'.repeat(2001)];
  expect(lines(whole, 'text/plain')).toEqual([whole]);
  expect(lines(long, 'text/plain')).toEqual([`${whole}… (2001 characters)`]);
  expect(lines(JSON.stringify({ message: whole }))).toEqual([`message: ${whole}`]);
  expect(lines(JSON.stringify({ message: long }))).toEqual([`message: ${whole}…`]);
});

test('a long text is cut', () => {
  const [line] = lines('x'.repeat(5000), 'text/plain');
  expect(line).toBe(`${'x'.repeat(2000)}… (5000 characters)`);
});

test.each([
  [429, { 'retry-after': '90' }, 'try again after 90 s'],
  [429, { 'retry-after': 'Sat, 21 Nov 2026 10:30:00 GMT' }, 'try again after Sat, 21 Nov 2026 10:30:00 GMT'],
  [429, {}, 'try again later'],
  [500, {}, 'try again later'],
  [503, { 'retry-after': '999' }, 'try again after 999 s'],
  [503, { 'retry-after': 'x7' }, 'try again after x7'],
  [503, { 'retry-after': '7x' }, 'try again after 7x'],
  [400, {}, undefined],
  [200, {}, 'check --base-url (HOOKTRAIL_BASE_URL); `hooktrail config set base-url URL` saves another'],
  [404, {}, 'check --base-url (HOOKTRAIL_BASE_URL); `hooktrail config set base-url URL` saves another'],
  [
    403,
    {},
    'check that the sign-in has the scope event_api: `hooktrail status`; where HOOKTRAIL_ACCESS_TOKEN is set, that its token has it',
  ],
  [
    406,
    {},
    'check --vendor (HOOKTRAIL_VENDOR), which names the media type that is asked for; `hooktrail config set vendor NAME` saves it',
  ],
  [300, {}, 'redirects are not followed with the token'],
  [299, {}, undefined],
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
  expect(serviceError({ status, headers, body: Buffer.alloc(0) }, 'the search failed').next?.toString()).toBe(
    next,
  );
});

test('after 429 a command that has a flag for fewer requests names it', () => {
  const answer = { status: 429, headers: {}, body: Buffer.alloc(0) };
  const steps = { ifTooMany: 'or with --concurrency 1' };
  expect(serviceError(answer, 'the search failed', steps).next).toBe(
    'try again later, or with --concurrency 1',
  );
});

test.each([
  [500, 'the search failed: the service answered 500 Internal Server Error', true],
  [404, 'the search failed: the service answered 404 Not Found', false],
  [799, 'the search failed: the service answered 799', false],
])('an answer with %i is said, with its body and whether it may pass', (status, message, retryable) => {
  const body = Buffer.from('{"code":"café"}');
  const error = serviceError({ status, headers: {}, body }, 'the search failed', {
    ifNotFound: 'look elsewhere',
  });
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({
    message,
    status,
    retryable,
    details: ['code: café'],
    errorObject: { code: 'café' },
  });
  expect(error.next === 'look elsewhere').toBe(status === 404);
});

test('an answer of 32,768 bytes is given whole to a program, a longer one only to a person', () => {
  const errorOf = (length: number) => {
    const text = '{"code":"a"}';
    return serviceError({ status: 500, headers: {}, body: Buffer.from(text.padEnd(length)) }, 'it failed');
  };
  expect(errorOf(32_768)).toMatchObject({ details: ['code: a'], errorObject: { code: 'a' } });
  expect(errorOf(32_769).details).toEqual(['code: a']);
  expect(errorOf(32_769).errorObject).toBeUndefined();
});

test('an answer loses the secrets that it names, wherever it repeats them', () => {
  const body = Buffer.from('{"token":"opaque-7","message":"no opaque-7 in sid-0123456789abc"}');
  const headers = { 'set-cookie': ['sid=sid-0123456789abc'] };
  expect(serviceError({ status: 400, headers, body }, 'it failed')).toMatchObject({
    details: ['token: [redacted]', 'message: no [redacted] in [redacted]'],
    errorObject: { token: '[redacted]', message: 'no [redacted] in [redacted]' },
  });
});

test('an answer with 401 is a sign-in that was refused, with its body', () => {
  const error = serviceError({ status: 401, headers: {}, body: Buffer.from('{"code":"a"}') }, 'it failed');
  expect(error).toBeInstanceOf(NotSignedInError);
  expect(error).toMatchObject({
    message: 'it failed: the service answered 401 Unauthorized',
    status: 401,
    details: ['code: a'],
    errorObject: { code: 'a' },
  });
});

test.each(['[{"code":"a"}]', 'null', '"text"', '{"half'])('the body %s is no Error object', (body) => {
  const error = serviceError({ status: 500, headers: {}, body: Buffer.from(body) }, 'it failed');
  expect(error.errorObject).toBeUndefined();
  expect(error.details).toEqual([body]);
});

test('a page that repeats the beginning of a title is described in a time that grows with its length', () => {
  expect(lines('<title'.repeat(100_000), 'text/html')).toEqual(['an HTML page']);
});

test('of very many errors the first are shown, with the number of the others', () => {
  const body = JSON.stringify({ errors: Array.from({ length: 20_000 }, (_, code) => ({ code })) });
  const shown = lines(body);
  expect([shown.length, shown.at(-1)]).toEqual([31, 'and 19970 more']);
  const { errorObject } = serviceError({ status: 500, headers: {}, body: Buffer.from(body) }, 'it failed');
  expect(errorObject).toBeUndefined();
});
