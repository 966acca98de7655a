import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  redactHeaders,
  redactJson,
  redactKnown,
  redactSecrets,
  redactUrl,
  secretsInHeaders,
  secretsInJson,
  traced,
} from '../../src/http/redaction.ts';
import type { Transport } from '../../src/http/transport.ts';
import type { Reporter } from '../../src/terminal/reporter.ts';
import { clock } from '../support/clock.ts';

test('secret headers lose their values, others stay', () => {
  expect(
    redactHeaders(
      {
        Authorization: 'Bearer s3cret',
        'api-token': 's3cret',
        'Set-Cookie': ['s3cret'] as never,
        'x-client-secret': 's3cret',
        accept: 'application/json',
      },
      [],
    ),
  ).toEqual([
    'Authorization: Bearer [redacted]',
    'api-token: [redacted]',
    'Set-Cookie: [redacted]',
    'x-client-secret: [redacted]',
    'accept: application/json',
  ]);
});

test('secret query parameters and user information lose their values', () => {
  expect(redactUrl(new URL('https://u:p@id.example.com/cb?code=abc&scope=x&state=def&iss=y'), [])).toBe(
    'https://id.example.com/cb?code=[redacted]&scope=x&state=[redacted]&iss=y',
  );
  const search =
    'https://e.example.com/integrator-events?gt(createdOn,2026-11-01)&eq(eventType,a%26code%3Db)&limit(1,5)';
  expect(redactUrl(new URL(search), [])).toBe(search);
});

test.each([
  ...['code', 'state', 'code_verifier', 'client_secret', 'client_assertion', 'refresh_token'],
  ...['access_token', 'id_token', 'token', 'password'],
])('the query parameter %s of a request loses its value', (name) => {
  expect(redactUrl(new URL(`https://id.example.com/cb?iss=y&${name}=s3cret`), [])).toBe(
    `https://id.example.com/cb?iss=y&${name}=[redacted]`,
  );
});

test.each([
  ...['client_secret', 'access_token', 'tokens', 'password', 'api_key', 'API-Keys', 'apiKey'],
  ...['client_assertion', 'code_verifier', 'device_code'],
])('the value of the JSON member %s is a secret, at any depth', (name) => {
  const value = { name: 'a long enough text', list: [{ [name]: '8-digits', other: 'x'.repeat(8) }] };
  expect(secretsInJson(value)).toEqual(['8-digits']);
  for (const other of ['7-digit', 'with a space', 12345678, null])
    expect(secretsInJson({ [name]: other, [`${name}_type`]: '8-digits' })).toEqual([]);
});

test('tokens repeated in other headers and in redirects lose their values', () => {
  expect(
    redactHeaders(
      {
        'x-echo': 'Bearer s3cret-token',
        'www-authenticate':
          'Bearer error="invalid_token", error_description="bearer eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln is bad"',
        location: '/callback?code=s3cret#access_token=s3cret&x=1',
      },
      [],
    ),
  ).toEqual([
    'x-echo: Bearer [redacted]',
    'www-authenticate: Bearer error="invalid_token", error_description="bearer [redacted] is bad"',
    'location: /callback?code=[redacted]#access_token=[redacted]&x=1',
  ]);
});

/** A reporter that keeps its lines, and a transport that answers or fails. */
function tracing(level: 'none' | 'verbose' | 'debug', outcome: string | Error) {
  const lines: string[] = [];
  const reporter = {
    verbose: level !== 'none',
    debug: level === 'debug',
    trace: (line: string) => void lines.push(line),
  } as Reporter;
  const closed: string[] = [];
  const transport: Transport = {
    async send() {
      if (outcome instanceof Error) throw outcome;
      clock.advance(3);
      return { status: 200, headers: { 'x-echo': outcome }, body: Buffer.alloc(0) };
    },
    close: async () => void closed.push('closed'),
  };
  const traces = traced(transport, reporter, clock);
  const send = (headers?: Record<string, string>) =>
    traces.send({
      method: 'GET',
      url: new URL('https://events.example.com/v1?access_token=s3cret'),
      ...(headers && { headers }),
    });
  return { lines, send, traces, transport, closed };
}

const FIRST = 'GET https://events.example.com/v1?access_token=[redacted]';

test('the token of a request is replaced where the answer repeats it in a header', async () => {
  const { lines, send } = tracing('debug', 'was opaque-7');
  await send({ authorization: 'Bearer opaque-7' });
  expect(lines).toEqual([
    `${FIRST} 200 3 ms`,
    '> authorization: Bearer [redacted]',
    '< x-echo: was [redacted]',
  ]);
});

test('a token with the word Bearer in it is known as a whole', async () => {
  const { lines, send } = tracing('debug', 'was aBearer b, or a, or b');
  await send({ authorization: 'Bearer aBearer b' });
  expect(lines.at(-1)).toBe('< x-echo: was [redacted], or a, or b');
});

test('a request without a token is traced as any other', async () => {
  const { lines, send } = tracing('debug', 'x');
  await send();
  expect(lines).toEqual([`${FIRST} 200 3 ms`, '< x-echo: x']);
});

test('without --debug no header is shown', async () => {
  const { lines, send } = tracing('verbose', 'x');
  await send({ accept: 'a' });
  expect(lines).toEqual([`${FIRST} 200 3 ms`]);
});

test('without --verbose nothing is traced, and the transport is used as it is', () => {
  const { traces, transport } = tracing('none', 'x');
  expect(traces).toBe(transport);
});

test('a failure is traced, with what was sent, and stays what it was', async () => {
  const error = new Error('reset');
  const { lines, send } = tracing('debug', error);
  await expect(send({ accept: 'a' })).rejects.toBe(error);
  expect(lines).toEqual([`${FIRST} failed: reset 0 ms`, '> accept: a']);
});

test('the transport below is closed', async () => {
  const { traces, closed } = tracing('verbose', 'x');
  await traces.close();
  expect(closed).toEqual(['closed']);
});

/** Parameters whose value is a secret wherever they stand (RFC 6749, 7009, 7636, 8628). */
const SECRET_ANYWHERE = [
  'access_token',
  'refresh_token',
  'id_token',
  'client_secret',
  'code_verifier',
  'device_code',
  'password',
  'api_token',
  'api-key',
  'apikey',
];
/**
 * Those that are one in an address. Elsewhere the words mean other things: the code of an error, a state of a
 * country.
 */
const SECRET_IN_ADDRESS = ['code', 'state', 'token', 'client_assertion'];
const SECRET = 's3cret-Value.9~';

describe('the value of a secret parameter is replaced', () => {
  const inAddress = [
    ['first in a query', (name: string) => `https://id.example.com/cb?${name}=${SECRET}&iss=y`],
    ['later in a query', (name: string) => `https://id.example.com/cb?iss=y&${name}=${SECRET}`],
    ['in a fragment', (name: string) => `/cb#${name}=${SECRET}&iss=y`],
    ['in capitals', (name: string) => `/cb?${name.toUpperCase()}=${SECRET}`],
  ] as const;
  const inText = [
    ['in a form', (name: string) => `${name}=${SECRET}&iss=y`],
    ['in JSON', (name: string) => `{"${name}":"${SECRET}","iss":"y"}`],
    ['in indented JSON', (name: string) => `{\n  "${name}" : "${SECRET}"\n}`],
    ['in a sentence', (name: string) => `the ${name}: ${SECRET} is not known`],
    ['in quotes', (name: string) => `${name}='${SECRET}'`],
  ] as const;
  const everywhere = SECRET_ANYWHERE.flatMap((name) =>
    [...inAddress, ...inText].map(([where, write]) => [name, where, write] as const),
  );
  const onlyThere = SECRET_IN_ADDRESS.flatMap((name) =>
    inAddress.map(([where, write]) => [name, where, write] as const),
  );
  test.each([...everywhere, ...onlyThere])('%s %s', (name, _, write) => {
    const text = write(name);
    expect(redactSecrets(text)).toBe(text.replace(SECRET, '[redacted]'));
  });

  test.each([
    ['{"password":"one two","iss":"y"}', '{"password":"[redacted]","iss":"y"}'],
    ['{"client_secret":"a\\"b c"}', '{"client_secret":"[redacted]"}'],
    ["password='one two', iss=y", "password='[redacted]', iss=y"],
    // A text that was cut off.
    ['{"access_token":"abcdef', '{"access_token":[redacted]'],
  ])('whole where it is quoted: %s', (text, safe) => {
    expect(redactSecrets(text)).toBe(safe);
  });

  test.each([
    '{"code":"filter.invalid","state":"active"}',
    'error code: 404',
    'https://e.example.com/x?codec=a&estate=b&page=2',
    'the token endpoint answered 400',
    'password is missing',
  ])('and nothing else: %s', (text) => {
    expect(redactSecrets(text)).toBe(text);
  });
});

test('a known secret is replaced in each form in which a peer may repeat it', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 4, unit: 'binary' }), (secret) => {
      fc.pre(secret.isWellFormed() && !'[redacted]'.includes(secret));
      const json = JSON.stringify(secret).slice(1, -1);
      for (const form of [secret, encodeURIComponent(secret), json])
        expect(redactSecrets(`<<${form}>>`, ['unused', secret])).toBe('<<[redacted]>>');
    }),
  );
  expect(redactSecrets('a short one: abc', ['abc'])).toBe('a short one: abc');
});

/** In base64 it has both characters that an address does not, and padding. */
const TOKEN = `sE>cr?t/To"ken&9<'x`;
const hex = (one: string) => one.charCodeAt(0).toString(16);
const HTML_NAMES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '"': 'quot',
  '<': 'lt',
  '>': 'gt',
  "'": 'apos',
};
/** How a peer may repeat a secret in its answer. */
const FORMS: readonly (readonly [string, string])[] = [
  ['as it is', TOKEN],
  ['in an address', encodeURIComponent(TOKEN)],
  [
    'in an address, in lower case',
    encodeURIComponent(TOKEN).toLowerCase().replace('se', 'sE').replace('%2fto', '%2fTo'),
  ],
  ['in an address twice', encodeURIComponent(encodeURIComponent(TOKEN))],
  ['in an address, each byte', [...Buffer.from(TOKEN)].map((byte) => `%${byte.toString(16)}`).join('')],
  ['in JSON', JSON.stringify(TOKEN).slice(1, -1)],
  ['in JSON with escaped slashes', JSON.stringify(TOKEN).slice(1, -1).replace('/', '\\/')],
  ['in JSON, each character', [...TOKEN].map((one) => `\\u00${hex(one)}`).join('')],
  ['in JSON in JSON', JSON.stringify(JSON.stringify(TOKEN)).slice(3, -3)],
  ['in JSON in JSON, each character', [...TOKEN].map((one) => `\\\\u00${hex(one)}`).join('')],
  ['in HTML', TOKEN.replace(/[&"<>']/g, (one) => `&${HTML_NAMES[one]};`)],
  ['in HTML, by decimal numbers', [...TOKEN].map((one) => `&#${one.charCodeAt(0)};`).join('')],
  ['in HTML, by numbers', [...TOKEN].map((one) => `&#x${hex(one)};`).join('')],
  ['in base64', Buffer.from(TOKEN).toString('base64').replace(/=+$/, '')],
  ['in base64url', Buffer.from(TOKEN).toString('base64url')],
  ['in hexadecimal', Buffer.from(TOKEN).toString('hex')],
  ['in hexadecimal, in capitals', Buffer.from(TOKEN).toString('hex').toUpperCase()],
];

test.each(FORMS)('a known secret %s is replaced', (_, form) => {
  expect(redactSecrets(`a ${form} z`, [TOKEN])).toBe('a [redacted] z');
  expect(redactSecrets(`é ${form}`, [TOKEN])).toBe('é [redacted]');
});

test('base64 with padding is replaced as well as without', () => {
  const encoded = Buffer.from(TOKEN).toString('base64');
  expect(redactSecrets(encoded, [TOKEN])).toBe('[redacted]==');
});

test.each([
  ['1234567', false],
  ['12345678', true],
])('the encodings of %s are replaced: %s; those of shorter ones may be words', (secret, isReplaced) => {
  const encoded = Buffer.from(secret).toString('hex');
  expect(redactKnown(encoded, [secret])).toBe(isReplaced ? '[redacted]' : encoded);
});

test('of two known secrets the longer is replaced whole', () => {
  for (const known of [
    ['opaque', 'opaque-token'],
    ['opaque-token', 'opaque'],
  ])
    expect(redactKnown('opaque-token, opaque', known)).toBe('[redacted], [redacted]');
});

test.each<[string, string | string[] | undefined, string[]]>([
  ['authorization', 'Bearer opaque-7', ['Bearer opaque-7', 'opaque-7']],
  ['Proxy-Authorization', 'basic   dTpw', ['basic   dTpw', 'dTpw']],
  ['authorization', 'aBearer b', ['aBearer b']],
  ['x-api-key', 'first-one, other-one', ['first-one, other-one', 'first-one', 'other-one']],
  ['x-api-key', ['first-one', 'other-one'], ['first-one', 'other-one']],
  ['set-cookie', ['sid=0123456789abcdef; Path=/', 'lang=en'], ['0123456789abcdef']],
  [
    'cookie',
    'a=0123456789abcde; b= fedcba9876543210 ;c=has a space in it;d=0123456789,abcdef',
    ['fedcba9876543210'],
  ],
  ['x-cookie-token', '0123456789abcdef', ['0123456789abcdef']],
  ['x-cookie-policy', '0123456789abcdef', []],
  ['x-api-key', undefined, []],
])('the header %s with %j holds %j', (name, value, secrets) => {
  expect([...new Set(secretsInHeaders({ [name]: value }))]).toEqual(secrets);
});

test('all texts of a JSON value are redacted, and known secrets in names', () => {
  const value = { list: ['was opaque-7', { 'by opaque-7': null }], count: 7, deep: { token: true } };
  expect(redactJson(value, ['opaque-7'])).toEqual({
    list: ['was [redacted]', { 'by [redacted]': null }],
    count: 7,
    deep: { token: true },
  });
});

test('a hostile secret and text are compared in a time that grows with their length', () => {
  const secret = `${'\\'.repeat(50)}x`;
  const text = '\\'.repeat(200_000);
  expect(redactSecrets(text, [secret])).toBe(text);
});

test.each(['eyJhbGciOiJub25lIn0', 'eyJhbGciOiJub25lIn0.eyJhIjoxfQ', 'eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln-_'])(
  'what looks like a JWT is replaced where nothing announces it: %s',
  (token) => {
    expect(redactSecrets(`it said (${token}) to us`)).toBe('it said ([redacted]) to us');
  },
);

test.each([
  ['proxy-authorization', 'Basic dTpw'],
  ['cookie', 'session=1'],
  ['x-refresh-token', 'abcd'],
  ['x-api-key', 'abcd'],
  ['apikey', 'abcd'],
  ['x-password', 'abcd'],
])('the header %s loses its value', (name, value) => {
  expect(redactHeaders({ [name]: value }, [])).toEqual([`${name}: [redacted]`]);
});

test('a token that is known is replaced in headers that repeat it, and in those of a list', () => {
  expect(
    redactHeaders({ 'x-echo': 'got opaque-token', via: ['a', 'opaque-token'] as never }, ['opaque-token']),
  ).toEqual(['x-echo: got [redacted]', 'via: a,[redacted]']);
});

test.each(['x-cookie-policy', 'authorization-hint', 'my-cookie'])('the header %s keeps its value', (name) => {
  expect(redactHeaders({ [name]: 'abcd' }, [])).toEqual([`${name}: abcd`]);
});

test('a header without a value is left out', () => {
  expect(redactHeaders({ a: undefined, b: 'x' } as never, [])).toEqual(['b: x']);
});

test('any number of spaces announces a token', () => {
  expect(redactSecrets('got Bearer   s3cret here')).toBe('got Bearer   [redacted] here');
});
