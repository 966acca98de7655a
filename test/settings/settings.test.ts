import { expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import type { SavedConfig } from '../../src/settings/settings.ts';
import { resolveSettings } from '../../src/settings/settings.ts';
import { advising } from '../support/advice.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

const config: SavedConfig = {
  version: 1,
  profile: 'production',
  profiles: {
    production: { 'base-url': 'https://saved.example', 'client-id': 'saved', vendor: 'saved' },
  },
};

function failureOf(work: () => unknown): Pick<UsageError, 'message' | 'details' | 'next'> {
  try {
    work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { message: error.message, details: error.details, next: error.next };
  }
  throw new Error('nothing failed');
}

test('a flag overrides the environment, which overrides the profile, which overrides the default', () => {
  const environment = {
    HOOKTRAIL_BASE_URL: 'https://environment.example',
    HOOKTRAIL_CLIENT_ID: 'environment',
  };
  const settings = resolveSettings({ baseUrl: 'https://flag.example' }, environment, config, ['baseUrl']);
  expect(settings.baseUrl.href).toBe('https://flag.example/');
  expect(settings.clientId).toBe('environment');
  expect(settings.vendor).toBe('saved');
  expect(settings.scope).toBe('event_api offline_access');
  expect(settings.authUrl).toBeUndefined();
  const sources = Object.entries(settings.given).map(([name, { source }]) => [name, source]);
  expect(Object.fromEntries(sources)).toEqual({
    baseUrl: '--base-url',
    clientId: 'HOOKTRAIL_CLIENT_ID',
    vendor: "the profile 'production' (vendor)",
    scope: 'the default',
    redirectUri: 'the default',
    store: 'the default',
    timezone: 'the default',
    errorFormat: 'the default',
  });
});

test('all settings that are needed and missing are named at once, in one order', () => {
  const empty: SavedConfig = { version: 1, profiles: {} };
  expect(failureOf(() => resolveSettings({}, {}, empty, ['vendor', 'authUrl']))).toEqual({
    message: 'settings are missing',
    details: [
      '--auth-url or HOOKTRAIL_AUTH_URL: identity provider',
      '--vendor or HOOKTRAIL_VENDOR: vendor of the media type',
    ],
    next: advising('give them as flags or variables, or run `hooktrail login` once to save them'),
  });
});

test('an empty HOOKTRAIL_ACCESS_TOKEN is named where settings are missing: the command that gave it may have failed', () => {
  const empty: SavedConfig = { version: 1, profiles: {} };
  const resolve = (environment: Record<string, string>) =>
    resolveSettings({}, environment, empty, ['authUrl'], '/c.json');
  const looked = "looked in the profile 'default' of /c.json";
  expect(failureOf(() => resolve({})).details.at(-1)).toBe(looked);
  expect(failureOf(() => resolve({ HOOKTRAIL_ACCESS_TOKEN: '' })).details.at(-1)).toBe(
    `${looked}; HOOKTRAIL_ACCESS_TOKEN is empty`,
  );
});

test('a whole media type is taken for its vendor', () => {
  const flags = { vendor: 'application/vnd.acme.v1+json' };
  expect(resolveSettings(flags, {}, config, ['vendor']).vendor).toBe('acme');
});

test.each([
  ['"', '"'],
  ["'", "'"],
  ['“', '”'],
  ['<', '> '],
])('a value that was pasted in %s…%s is taken without them', (before, after) => {
  const flags = {
    baseUrl: `${before}https://events.example.com/v1/${after}`,
    clientId: `${before}me${after}`,
  };
  const settings = resolveSettings(flags, {}, config, ['baseUrl', 'clientId']);
  expect([settings.baseUrl.href, settings.clientId]).toEqual(['https://events.example.com/v1', 'me']);
});

test('an invalid value is reported before missing ones', () => {
  const { message } = failureOf(() => resolveSettings({ vendor: 'a b' }, {}, config, ['authUrl']));
  expect(message).toMatch(/^--vendor: /);
});

test('if the named profile does not exist, the error says that, not what is missing in it', () => {
  const unknown = {
    message: "there is no profile 'prodution'",
    details: ['profiles: production'],
    next: 'did you mean production?',
  };
  expect(failureOf(() => resolveSettings({ profile: 'prodution' }, {}, config, ['baseUrl']))).toEqual(
    unknown,
  );
  const environment = { HOOKTRAIL_PROFILE: 'prodution' };
  expect(failureOf(() => resolveSettings({}, environment, config, ['baseUrl']))).toEqual(unknown);
  expect(resolveSettings({ profile: 'new' }, {}, config)).toMatchObject({
    profile: 'new',
    profileExists: false,
  });
});

test('profile names ignore case, since names that differ only in case would share files', () => {
  for (const [flags, environment] of [
    [{ profile: 'PRODUCTION' }, {}],
    [{}, { HOOKTRAIL_PROFILE: 'Production' }],
  ] as const) {
    expect(resolveSettings(flags, environment, config)).toMatchObject({
      profile: 'production',
      profileExists: true,
      vendor: 'saved',
    });
  }
  // A person may have written both.
  const both = { ...config, profiles: { ...config.profiles, Production: { vendor: 'other' } } };
  expect(resolveSettings({ profile: 'Production' }, {}, both)).toMatchObject({ vendor: 'other' });
});

test.each(['JSON', '"json"', ' Json\n'])('HOOKTRAIL_ERROR_FORMAT may be %j', async (form) => {
  await using home = await createHome();
  const { stderr } = await hooktrail(['token'], { env: { ...home.env, HOOKTRAIL_ERROR_FORMAT: form } });
  expect(JSON.parse(stderr)).toMatchObject({ level: 'error', kind: 'usage' });
});
