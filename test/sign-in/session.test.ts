import path from 'node:path';
import { expect, test } from 'vitest';
import { adviceText } from '../../src/advice.ts';
import type { Context } from '../../src/context.ts';
import type { NotSignedInError, UsageError } from '../../src/errors.ts';
import { loadRunSettings } from '../../src/settings/settings.ts';
import {
  BOUND,
  bindingOf,
  notSignedIn,
  openSession,
  savedSettings,
  withoutSignIn,
  withService,
} from '../../src/sign-in/session.ts';
import { clock } from '../support/clock.ts';
import { createContext, thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { fakeReporter } from '../support/outputs.ts';
import { keychainOf } from '../support/program.ts';
import { startRefreshing } from '../support/signing-in.ts';

const at = forEachTest(startRefreshing);

async function callIn(environment: Context['environment'], parts: Partial<Context> = {}) {
  const context = createContext({ environment, ...parts });
  return { settings: await loadRunSettings({}, context), context, reporter: fakeReporter() };
}

/** The environment of a user who has set and saved nothing. */
const withoutSettings = () => ({
  ...at.home.env,
  HOOKTRAIL_CONFIG_DIR: path.join(at.home.folder, 'new'),
});

/** The access tokens of one run of a command. */
async function startRun() {
  const { tokens } = await openSession(await callIn(at.env));
  return tokens;
}

/** A run whose tokens live so many seconds from when it asks for them. */
async function startRunWith(lifetimeSeconds: number) {
  at.control.behaviour.tokenLifetimeSeconds = lifetimeSeconds;
  const tokens = await startRun();
  const first = await tokens.accessToken();
  const began = clock.now();
  return {
    /** True if the first token still serves so many milliseconds after it was given. */
    servesAt: async (milliseconds: number) => {
      clock.set(began + milliseconds);
      return (await tokens.accessToken()) === first;
    },
  };
}

test.each([
  [1800, 1_740_000],
  [121, 61_000],
  // Of two minutes and less, half: not every request may ask for another.
  [120, 60_000],
  [30, 15_000],
  [12, 6_000],
  [8, 5_000],
])('in one run a token of %i s serves for %i ms', async (seconds, milliseconds) => {
  const run = await startRunWith(seconds);
  expect(await run.servesAt(milliseconds - 1)).toBe(true);
  expect(at.refreshes()).toEqual(['ok']);
  expect(await run.servesAt(milliseconds)).toBe(false);
  expect(at.refreshes()).toEqual(['ok', 'ok']);
});

test('a stored token serves another run until a minute before its end', async () => {
  const first = await (await startRun()).accessToken();
  const end = clock.now() + 1_800_000;
  clock.set(end - 60_001);
  expect(await (await startRun()).accessToken()).toBe(first);
  clock.set(end - 60_000);
  expect(await (await startRun()).accessToken()).not.toBe(first);
  expect(at.refreshes()).toEqual(['ok', 'ok']);
});

/** Signs in with a keychain whose reads are counted, each of which may be a question to the user. */
async function startWithKeychain() {
  const environment = { ...at.env, HOOKTRAIL_STORE: 'keychain' };
  const machine = { ...thisMachine(), platform: 'darwin' as const };
  at.control.behaviour.tokenLifetimeSeconds = 30;
  await at.run(['login'], { env: environment, context: { machine } });
  at.control.behaviour.tokenLifetimeSeconds = 1800;
  const keychain = keychainOf(environment);
  let reads = 0;
  const get = (account: string) => {
    reads++;
    return keychain.get(account);
  };
  const loadKeychain = async () => ({ ...keychain, get });
  return {
    startRun: async () => {
      return (await openSession(await callIn(environment, { machine, loadKeychain }))).tokens;
    },
    /** The reads that some work needs. */
    readsOf: async (work: () => Promise<unknown>) => {
      const before = reads;
      await work();
      return reads - before;
    },
  };
}

test('requests that need a token together read the keychain and ask the provider as one does', async () => {
  const { startRun, readsOf } = await startWithKeychain();
  const tokens = await startRun();
  const ofThree = await readsOf(async () => {
    const together = await Promise.all([1, 2, 3].map(() => tokens.accessToken()));
    expect(new Set(together).size).toBe(1);
  });
  expect(at.refreshes()).toEqual(['ok']);
  clock.advance(1_790_000);
  const alone = await startRun();
  expect(await readsOf(() => alone.accessToken())).toBe(ofThree);
});

test('requests that are rejected together read the keychain and ask the provider as one does', async () => {
  const { startRun, readsOf } = await startWithKeychain();
  const tokens = await startRun();
  const first = await tokens.accessToken();
  const ofThree = await readsOf(async () => {
    const replaced = await Promise.all([1, 2, 3].map(() => tokens.replace(first)));
    expect(new Set(replaced).size).toBe(1);
  });
  expect(at.refreshes()).toEqual(['ok', 'ok']);
  const second = tokens.latest()?.token as string;
  expect(second).not.toBe(first);
  // A late answer rejects a token that is past.
  const late = await readsOf(async () => expect(await tokens.replace(first)).toBe(second));
  expect(late).toBe(0);
  expect(await readsOf(() => tokens.replace(second))).toBe(ofThree);
  expect(at.refreshes()).toEqual(['ok', 'ok', 'ok']);
});

test('a token that is rejected while it is read again is replaced all the same', async () => {
  const first = await (await startRun()).accessToken();
  const tokens = await startRun();
  const [read, replaced] = await Promise.all([tokens.accessToken(), tokens.replace(first)]);
  expect(read).toBe(first);
  expect(replaced).not.toBe(first);
  expect(at.refreshes()).toEqual(['ok', 'ok']);
});

test.each([
  [1800, true],
  [6, true],
  [5, false],
])(
  'a rejected token is replaced by one of %i s that another run has got since: %j',
  async (seconds, serves) => {
    const [one, other] = [await startRun(), await startRun()];
    const first = await one.accessToken();
    at.control.behaviour.tokenLifetimeSeconds = seconds;
    const second = await other.replace(first);
    expect((await one.replace(first)) === second).toBe(serves);
    expect(at.refreshes()).toHaveLength(serves ? 2 : 3);
  },
);

test('a token that cannot be renewed serves to its end, unless it is rejected', async () => {
  at.control.behaviour.tokenLifetimeSeconds = 30;
  const began = clock.now();
  await at.run(['login'], { env: { ...at.env, HOOKTRAIL_SCOPE: 'event_api' } });
  const first = await (await startRun()).accessToken();
  clock.set(began + 29_999);
  const tokens = await startRun();
  expect(await tokens.accessToken()).toBe(first);
  const ended = {
    name: 'NotSignedInError',
    message: 'the sign-in has ended, and it came without a refresh token',
  };
  await expect(tokens.replace(first)).rejects.toMatchObject(ended);
  clock.set(began + 30_000);
  await expect((await startRun()).accessToken()).rejects.toMatchObject(ended);
});

test('a token from the environment is never replaced', async () => {
  const environment = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: 'given' };
  const { tokens } = await openSession(await callIn(environment));
  expect(await tokens.accessToken()).toBe('given');
  expect(await tokens.replace('given')).toBeUndefined();
  expect(tokens.latest()).toBeUndefined();
  expect(at.refreshes()).toEqual([]);
});

const HALF_AN_HOUR_MS = 1_800_000;
const HUNDRED_YEARS_MS = 3_155_760_000_000;

test.each<[unknown, number]>([
  [90, 90_000],
  ['90', 90_000],
  ['90 s', 90_000],
  [90.5, 90_500],
  [0, 0],
  [-5, 0],
  [1e12, HUNDRED_YEARS_MS],
  // The service description states it.
  [undefined, HALF_AN_HOUR_MS],
  [null, HALF_AN_HOUR_MS],
  ['soon', HALF_AN_HOUR_MS],
])('a lifetime of %j ends %i ms after the request', async (expires_in, milliseconds) => {
  const body = JSON.stringify({ access_token: 'granted', refresh_token: 'next', expires_in });
  at.control.fault('token', { kind: 'status', status: 200, body });
  const tokens = await startRun();
  expect(await tokens.accessToken()).toBe('granted');
  expect(tokens.latest()?.expiresAt).toBe(clock.now() + milliseconds);
});

/** Returns the fields of the error that the first token of a run ends with. */
async function failureOf(environment: Context['environment'], parts: Partial<Context> = {}) {
  const open = callIn(environment, parts).then((call) => openSession(call));
  const error = await open.then(({ tokens }) => tokens.accessToken()).catch((thrown) => thrown);
  const { name, message, details, next } = error;
  return { name, message, details, next: adviceText(next, {}) };
}

test.each(['a b', 'a\nb', 'ü'])(
  'a token from the environment that no header can carry is refused: %j',
  async (token) => {
    expect(await failureOf({ ...at.env, HOOKTRAIL_ACCESS_TOKEN: token })).toEqual({
      name: 'UsageError',
      message: 'HOOKTRAIL_ACCESS_TOKEN is not a token: it holds spaces, line ends or other characters',
      details: [],
      next: 'put a valid token there, or unset the variable to use the stored sign-in',
    });
  },
);

test('two credentials of the client are refused even while the stored token serves', async () => {
  await (await startRun()).accessToken();
  const environment = { ...at.env, HOOKTRAIL_CLIENT_SECRET: 'one', HOOKTRAIL_CLIENT_KEY_FILE: 'two' };
  expect(await failureOf(environment)).toMatchObject({
    name: 'UsageError',
    message: expect.stringContaining('HOOKTRAIL_CLIENT_SECRET and HOOKTRAIL_CLIENT_KEY_FILE are both given'),
  });
});

/** The variables that the error of some work names as missing settings. */
async function missingIn(work: Promise<unknown>) {
  const { message, details }: Partial<UsageError> = await work.then(Object, (thrown) => thrown);
  expect(message).toBe('settings are missing');
  return details?.join().match(/HOOKTRAIL_\w+/g);
}

test('an error names the missing settings: those of a sign-in too, but not for a token from the environment', async () => {
  const OF_SIGN_IN = ['HOOKTRAIL_AUTH_URL', 'HOOKTRAIL_BASE_URL', 'HOOKTRAIL_CLIENT_ID'];
  const OF_SERVICE = ['HOOKTRAIL_BASE_URL', 'HOOKTRAIL_VENDOR'];
  const call = await callIn(withoutSettings());
  expect(await missingIn(openSession(call))).toEqual(OF_SIGN_IN);
  expect(await missingIn(openSession(call, ['vendor']))).toEqual([...OF_SIGN_IN, 'HOOKTRAIL_VENDOR']);
  const given = await callIn({ ...withoutSettings(), HOOKTRAIL_ACCESS_TOKEN: 'given' });
  expect(await missingIn(withService(given, async () => undefined))).toEqual(OF_SERVICE);
});

test('without the settings that identify a sign-in the error names no address', async () => {
  const { context, ...call } = await callIn(at.env);
  const settings = call.settings.checked();
  for (const name of BOUND) {
    const { message, details } = await notSignedIn({ ...settings, [name]: undefined }, context);
    expect({ message, details }).toEqual({ message: 'not signed in', details: [] });
  }
});

test('a keychain that is missing is named by the error', async () => {
  const loadKeychain = () => Promise.reject(new Error('libsecret is missing'));
  const environment = { ...at.env, HOOKTRAIL_STORE: 'keychain', HOOKTRAIL_PROFILE: 'night' };
  expect(await failureOf(environment, { loadKeychain })).toMatchObject({
    name: 'NotSignedInError',
    details: ['the OS keychain cannot be reached: its native library could not be loaded'],
  });
});

test('the service of a command has connections until the command has ended', async () => {
  const call = await callIn(at.env);
  const url = new URL(`${at.sandbox.settings.baseUrl}/event-types`);
  const service = await withService(call, async (open, { vendor }) => {
    expect(vendor).toBe(at.sandbox.settings.vendor);
    expect((await open.send({ url })).status).toBe(200);
    return open;
  });
  await expect(service.send({ url })).rejects.toMatchObject({
    name: 'UnreachableError',
    message: expect.stringContaining('The client is destroyed'),
  });
});

test('a sign-in for other addresses is not used, and the error names the addresses and their sources', async () => {
  const environment = { ...at.env, HOOKTRAIL_BASE_URL: 'https://other.example/v1' };
  expect(await failureOf(environment)).toEqual({
    name: 'NotSignedInError',
    message: 'not signed in to these addresses',
    details: [
      expect.stringMatching(/^[^:]+: http:\/\/\S+ \(from .+\)$/),
      expect.stringMatching(/^[^:]+: https:\/\/other\.example\/v1 \(from HOOKTRAIL_BASE_URL\)$/),
      expect.stringMatching(/^[^:]+: \S+ \(from .+\)$/),
      'the stored sign-in is for other addresses, and its tokens are not sent to these',
    ],
    next: 'restore the address that was changed, or run `hooktrail login` to sign in to these',
  });
  expect(at.refreshes()).toEqual([]);
});

test('a profile without a sign-in is not signed in', async () => {
  const { authUrl, baseUrl, clientId } = at.sandbox.settings;
  const environment = {
    ...at.env,
    HOOKTRAIL_PROFILE: 'night',
    HOOKTRAIL_AUTH_URL: authUrl,
    HOOKTRAIL_BASE_URL: baseUrl,
    HOOKTRAIL_CLIENT_ID: clientId,
  };
  expect(await failureOf(environment)).toEqual({
    name: 'NotSignedInError',
    message: "not signed in with the profile 'night'",
    details: [],
    next: 'run `hooktrail login`',
  });
});

test('a keychain that is missing holds no sign-in, unless a profile is saved', () => {
  const error = Object.assign(new Error('no keychain here'), { holdsNothing: true });
  const settings = (profileExists: boolean) => ({ profileExists }) as Parameters<typeof withoutSignIn>[1];
  expect(withoutSignIn(error, settings(true))).toBe(error);
  const other = new Error('locked');
  expect(withoutSignIn(other, settings(false))).toBe(other);
  const { name, message, details, next } = withoutSignIn(error, settings(false)) as NotSignedInError;
  expect({ name, message, details, next: adviceText(next ?? '', {}) }).toEqual({
    name: 'NotSignedInError',
    message: 'not signed in',
    details: ['no keychain here'],
    next: 'run `hooktrail login`, or `hooktrail login --store file` where there is no keychain',
  });
});

test('saved settings identify a sign-in if they name provider, service and client', () => {
  const saved = {
    'auth-url': 'https://id.example',
    'base-url': 'https://events.example/v1',
    'client-id': 'me',
  };
  const found = savedSettings('night', { version: 1, profiles: { night: saved } });
  expect(found && bindingOf(found)).toEqual({
    profile: 'night',
    authUrl: 'https://id.example/',
    clientId: 'me',
    serviceOrigin: 'https://events.example',
  });
  const { 'client-id': _, ...partly } = saved;
  const config = { version: 1, profiles: { night: partly } } as const;
  expect(savedSettings('night', config)).toBeUndefined();
  expect(savedSettings('night', config, { HOOKTRAIL_CLIENT_ID: 'other' })?.clientId).toBe('other');
});
