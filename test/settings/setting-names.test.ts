import { expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import {
  isLoopback,
  parseSetting,
  type SettingName,
  settingOfKey,
  urlText,
  withoutCredentials,
  withoutQuotes,
  withScheme,
} from '../../src/settings/setting-names.ts';
import { advising } from '../support/advice.ts';

/** The value of a text, or the message and the next step of its error. */
function read(name: SettingName, text: string): unknown {
  try {
    const value = parseSetting(name, text, '--x');
    return value instanceof URL ? value.href : value;
  } catch (error) {
    const { message, next } = error as UsageError;
    expect(error).toBeInstanceOf(UsageError);
    return next === undefined ? message : [message, next];
  }
}
const BELOW_LOCALHOST = 'a URL of localhost itself: a name below it may lead to another machine';
const invalid = (text: string, wanted: string) => `--x: invalid value '${text}': must be ${wanted}`;

test.each<[string, unknown]>([
  ['https://a.example/v1/', 'https://a.example/v1'],
  ['https://a.example/v1//', 'https://a.example/v1'],
  ['https://a.example', 'https://a.example/'],
  [' "https://a.example/v1" ', 'https://a.example/v1'],
  ['http://localhost:1/v1', 'http://localhost:1/v1'],
  ['http://127.9.8.7/', 'http://127.9.8.7/'],
  ['http://[::1]:8080', 'http://[::1]:8080/'],
  ['ftp://a.example', invalid('ftp://a.example', 'an https: URL (http: only for loopback hosts)')],
  ['ftp://localhost', invalid('ftp://localhost', 'an https: URL (http: only for loopback hosts)')],
  ['http://a.example', invalid('http://a.example', 'an https: URL (http: only for loopback hosts)')],
  ...['http://a.localhost', 'https://a.localhost', 'https://localhost.'].map((text): [string, unknown] => [
    text,
    invalid(text, BELOW_LOCALHOST),
  ]),
  ['https://me@a.example', invalid('https://[redacted]@a.example', 'a URL without user name and password')],
  ['https://:pw@a.example', invalid('https://[redacted]@a.example', 'a URL without user name and password')],
  ['https://a.example?key=1', invalid('https://a.example?[redacted]', 'a URL without query and fragment')],
  ['https://a.example#x', invalid('https://a.example#x', 'a URL without query and fragment')],
  ['a.example/v1', [invalid('a.example/v1', 'an https: URL'), 'did you mean https://a.example/v1?']],
  [
    'localhost:80/x',
    [
      invalid('localhost:80/x', 'an https: URL (http: only for loopback hosts)'),
      'did you mean http://localhost:80/x?',
    ],
  ],
  ['nonsense', invalid('nonsense', 'an https: URL')],
  ...[
    'integrator-events',
    'event-types/',
    'connect/token',
    'connect/authorize?x=1',
    'connect/userinfo',
    '.well-known/openid-configuration',
  ].map((path): [string, unknown] => [
    `https://a.example/v1/${path}`,
    [
      invalid(
        `https://a.example/v1/${path.replace('x=1', '[redacted]')}`,
        'an address without the path of an endpoint',
      ),
      'did you mean https://a.example/v1?',
    ],
  ]),
  ['https://a.example/event-types-old', 'https://a.example/event-types-old'],
])('the address of a service: %s', (text, expected) => {
  expect(read('baseUrl', text)).toEqual(expected);
});

test.each<[SettingName, string, unknown]>([
  ['clientId', 'my client~!', 'my client~!'],
  ['clientId', 'mé', invalid('mé', 'printable ASCII characters')],
  ['clientId', 'a\nb', invalid('a\nb', 'printable ASCII characters')],
  ['clientId', '', invalid('', 'printable ASCII characters')],
  ['vendor', 'acme', 'acme'],
  ['vendor', '1a!#$&^_.-', '1a!#$&^_.-'],
  ['vendor', 'APPLICATION/vnd.acme.v12+JSON', 'acme'],
  ['vendor', 'vnd.acme.inc.v1+json', 'acme.inc'],
  [
    'vendor',
    'x vnd.acme.v1+json',
    invalid('x vnd.acme.v1+json', 'made of letters, digits and ! # $ & ^ _ . -'),
  ],
  [
    'vendor',
    'vnd.acme.v1+jsonx',
    invalid('vnd.acme.v1+jsonx', 'made of letters, digits and ! # $ & ^ _ . -'),
  ],
  [
    'vendor',
    'xvnd.acme.v1+json',
    invalid('xvnd.acme.v1+json', 'made of letters, digits and ! # $ & ^ _ . -'),
  ],
  ['vendor', '-a', invalid('-a', 'made of letters, digits and ! # $ & ^ _ . -')],
  ['vendor', 'a b', invalid('a b', 'made of letters, digits and ! # $ & ^ _ . -')],
  ['scope', '  event_api \t offline_access ', 'event_api offline_access'],
  ['scope', 'a', 'a'],
  ['scope', 'a b c', 'a b c'],
  ['scope', 'a"b', invalid('a"b', 'one or more scopes, separated by spaces')],
  ['scope', 'a b\\', invalid('a b\\', 'one or more scopes, separated by spaces')],
  ['scope', '', invalid('', 'one or more scopes, separated by spaces')],
  ['issuer', 'none', 'none'],
  ['issuer', 'https://id.example/a', 'https://id.example/a'],
  ['issuer', 'id.example', [invalid('id.example', "a URL, or 'none'"), 'did you mean https://id.example?']],
  ['timezone', 'europe/berlin', 'Europe/Berlin'],
  [
    'timezone',
    'Berlin',
    [
      invalid('Berlin', 'UTC, local or a name of the IANA database such as Europe/Berlin'),
      'did you mean Europe/Berlin?',
    ],
  ],
  [
    'timezone',
    ' new york ',
    [
      invalid(' new york ', 'UTC, local or a name of the IANA database such as Europe/Berlin'),
      'did you mean America/New_York?',
    ],
  ],
  ['errorFormat', 'json', 'json'],
  ['errorFormat', ' JSON ', 'json'],
  ['store', 'File', 'file'],
  ['issuer', 'None', 'none'],
  ['errorFormat', 'jsn', [invalid('jsn', 'text or json'), 'did you mean json?']],
  ['store', 'keychain', 'keychain'],
  ['store', 'Keyring', [invalid('Keyring', 'keychain or file'), 'did you mean keychain?']],
  ['store', 'encrypted', [invalid('encrypted', 'keychain or file'), 'did you mean file?']],
  ['store', 'disk', [invalid('disk', 'keychain or file'), 'did you mean file?']],
  ['store', 'memory', invalid('memory', 'keychain or file')],
  [
    'redirectUri',
    'http://127.0.0.1:8976',
    { text: 'http://127.0.0.1:8976', url: new URL('http://127.0.0.1:8976') },
  ],
  [
    'redirectUri',
    'http://localhost/x?y',
    { text: 'http://localhost/x?y', url: new URL('http://localhost/x?y') },
  ],
  ['redirectUri', 'http://a.localhost/x', invalid('http://a.localhost/x', BELOW_LOCALHOST)],
  ['redirectUri', 'http://127.0.0.1/#a', invalid('http://127.0.0.1/#a', 'a URL without fragment')],
  ['redirectUri', 'nonsense', invalid('nonsense', 'a URL such as http://127.0.0.1:8976/callback')],
])('the setting %s %j', (name, text, expected) => {
  expect(read(name, text)).toEqual(expected);
});

test.each([
  [' a ', 'a'],
  ['"a"', 'a'],
  ["'a b'", 'a b'],
  ['<a>', 'a'],
  ['“a”', 'a'],
  ['‘a’', 'a'],
  ['"a\nb"', 'a\nb'],
  ['a"', 'a"'],
  ['"a', '"a'],
  ['x"a"', 'x"a"'],
  ['"a"x', '"a"x'],
])('of %j without its quotes %j is left', (text, expected) => {
  expect(withoutQuotes(text)).toBe(expected);
});

test.each([
  ['a.example', 'https://a.example'],
  ['a:80', 'https://a:80'],
  ['localhost', 'http://localhost'],
  ['localhost/x.y', 'http://localhost/x.y'],
  ['127.0.0.1:1/x', 'http://127.0.0.1:1/x'],
  ['https://a.example', undefined],
  ['HTTP://a.example', undefined],
  ['x+y.z-1://a', undefined],
  ['name', undefined],
  ['name/a.b', undefined],
  ['localhosts', undefined],
  ['me@a.example', undefined],
  [':pw@a.example', undefined],
  ['a.example?x', undefined],
  ['a.example:x', undefined],
])('the address %s with its scheme is %s', (text, expected) => {
  expect(withScheme(text)).toBe(expected);
});

test.each([
  ['localhost', true],
  ['a.b.localhost', false],
  ['localhost.', false],
  ['[::ffff:127.0.0.1]', false],
  ['127.0.0.1', true],
  ['127.255.34.45', true],
  ['[::1]', true],
  ['localhost.example', false],
  ['xlocalhost', false],
  ['128.0.0.1', false],
  ['127.0.0.1.example', false],
  ['[::2]', false],
])('%s is this machine: %s', (host, expected) => {
  expect(isLoopback(new URL(`http://${host}/`))).toBe(expected);
});

test.each([
  ['https://me:pw@a.example/x', 'https://[redacted]@a.example/x'],
  ['me:p@w@a.example', '[redacted]@a.example'],
  ['https://me:\npw@a.example', 'https://[redacted]@a.example'],
  ['https://a.example?a=1&b=2#c', 'https://a.example?[redacted]#c'],
  ['https://a.example/x', 'https://a.example/x'],
])('of %j a message has %j', (text, expected) => {
  expect(withoutCredentials(text)).toBe(expected);
});

test('a URL is written without the slash behind a bare origin', () => {
  expect(['https://a.example', 'https://a.example/b/c'].map((text) => urlText(new URL(text)))).toEqual([
    'https://a.example',
    'https://a.example/b/c',
  ]);
});

test('a setting is found by its key, and what was meant is named where there is none', () => {
  const failure = (key: string) => {
    try {
      return settingOfKey(key);
    } catch (error) {
      const { message, details, next } = error as UsageError;
      return { message, details, next };
    }
  };
  const details = [
    'settings: auth-url, base-url, client-id, vendor, scope, redirect-uri, issuer, timezone, fields, name-field, marketplace, error-format, store, passphrase-file',
  ];
  expect([failure('base-url'), failure('name-field')]).toEqual(['baseUrl', 'nameField']);
  for (const [key, meant] of [
    ['vendr', 'vendor'],
    ['columns', 'fields'],
    ['tz', 'timezone'],
    ['url', 'base-url'],
  ])
    expect(failure(key as string)).toEqual({
      message: `there is no setting '${key}'`,
      details,
      next: `did you mean ${meant}?`,
    });
  for (const [key, next] of [
    ['client-secret', '`hooktrail login` puts them where secrets live'],
    ['TOKEN', '`hooktrail login` puts them where secrets live'],
    ['password', '`hooktrail login` puts them where secrets live'],
    ['passphrase', '`hooktrail config set passphrase-file PATH` saves which file has it'],
  ] as const)
    expect(failure(key)).toEqual({
      message: `'${key}' is not saved in the settings: secrets never are`,
      details: [],
      next: advising(next),
    });
});
