import { hash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Context } from '../../src/context.ts';
import { HooktrailError } from '../../src/errors.ts';
import { openVault } from '../../src/secrets/stored-sign-ins.ts';
import { bindingHash, type Secrets } from '../../src/secrets/vault.ts';
import {
  loadRunSettings,
  readConfig,
  type SavedProfile,
  type SettingFlags,
} from '../../src/settings/settings.ts';
import { RefusalNote } from '../../src/sign-in/refusal-note.ts';
import { BOUND, bindingOf, savedSettings } from '../../src/sign-in/session.ts';
import {
  checkSignIn,
  readSignInState,
  type SignInState,
  signedInProfiles,
  warnOfOverrides,
} from '../../src/sign-in/sign-in-state.ts';
import { clock, NOON } from '../support/clock.ts';
import { createContext, memoryKeychain, thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeReporter } from '../support/outputs.ts';
import { onLoopback } from '../support/server.ts';

const SAVED = {
  'auth-url': 'https://id.example/tenant/',
  'base-url': 'https://events.example/',
  'client-id': 'me',
  vendor: 'acme',
  store: 'file',
};
const GONE = () => Promise.reject(new Error('dlopen failed'));

/** A home in which a profile is saved. */
async function start() {
  const home = await createHome();
  const folder = path.join(home.folder, 'config');
  await mkdir(folder);
  const machine = { ...thisMachine(), platform: 'darwin' as const };
  const keychain = memoryKeychain();
  const contextWith = (parts: Partial<Context> = {}) =>
    createContext({ environment: home.env, machine, loadKeychain: async () => keychain, ...parts });
  const save = (profiles: Record<string, SavedProfile>) =>
    writeFile(path.join(folder, 'config.json'), JSON.stringify({ version: 1, profiles }));
  await save({ default: SAVED });
  const callWith = async (parts?: Partial<Context>, flags: SettingFlags = {}) => {
    const context = contextWith(parts);
    return { settings: await loadRunSettings(flags, context), context, reporter: fakeReporter() };
  };
  const bindingNow = async (parts?: Partial<Context>) =>
    bindingOf((await callWith(parts)).settings.checked(BOUND));
  const vault = async (parts?: Partial<Context>) => {
    const { settings, context } = await callWith(parts);
    const checked = settings.checked(BOUND);
    return openVault(checked.store, bindingOf(checked), context);
  };
  return {
    ...{ home, folder, contextWith, save, callWith, vault, bindingNow },
    /** What `status` knows, with other parts of the context. */
    state: async (parts?: Partial<Context>, flags?: SettingFlags) => {
      const { settings, context } = await callWith(parts, flags);
      return await readSignInState(settings.checked(), context);
    },
    store: async (secrets: Secrets) => await (await vault()).write(secrets),
    refuse: async (secrets: Secrets, of: 'client' | 'sign-in') =>
      await new RefusalNote(await bindingNow(), contextWith()).write(secrets, { of, at: NOON, details: [] }),
    with: (changes: Record<string, string | undefined>) => ({ environment: { ...home.env, ...changes } }),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

const at = forEachTest(start);

const NOBODY: SignInState = {
  profile: 'default',
  signedIn: false,
  subject: null,
  source: null,
  authUrl: 'https://id.example/tenant',
  baseUrl: 'https://events.example',
  clientId: 'me',
  vendor: 'acme',
  scope: 'event_api offline_access',
  expiresAt: null,
  renewable: false,
  clientAuthentication: null,
  grant: null,
  refusedAt: null,
  refused: null,
  perhapsSpentAt: null,
  store: 'file',
  place: null,
};
const WITHOUT_SETTINGS: SignInState = {
  ...NOBODY,
  ...{ authUrl: null, baseUrl: null, clientId: null, vendor: null, store: null },
};
const REFRESHABLE: Secrets = { refreshToken: 'a refresh token', clientSecret: 'a secret' };
const ENDED = { access: { token: 'ended', expiresAt: NOON } };
const LASTING = { access: { token: 'lasting', expiresAt: NOON + 1 } };
const grant = 'client_credentials' as const;

const tokenOf = (claims: object) =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;

describe('the state of a sign-in', () => {
  test('is all unknown in a new home', async () => {
    await at.save({});
    expect(await at.state()).toEqual(WITHOUT_SETTINGS);
  });

  test('names the settings where nothing is stored', async () => {
    expect(await at.state()).toEqual(NOBODY);
  });

  test.each(['auth-url', 'base-url', 'client-id'])('is that nothing is stored without %s', async (name) => {
    await at.store(REFRESHABLE);
    const { [name]: _, ...others }: SavedProfile = SAVED;
    await at.save({ default: others });
    expect(await at.state()).toMatchObject({ signedIn: false, source: null, store: null, place: null });
  });

  test('has all of a sign-in', async () => {
    const token = tokenOf({ email: 'me@example.com' });
    await at.store({ ...REFRESHABLE, access: { token, expiresAt: NOON + 1, scope: 'granted' } });
    expect(await at.state()).toEqual({
      ...NOBODY,
      signedIn: true,
      subject: 'me@example.com',
      source: 'stored',
      scope: 'granted',
      expiresAt: '2026-11-20T12:00:00.001Z',
      renewable: true,
      clientAuthentication: 'secret',
      grant: 'refresh_token',
      place: (await at.vault()).place,
    });
  });

  test.each<[string, Secrets, Partial<SignInState>]>([
    ['with a token that lasts', LASTING, { signedIn: true, renewable: false, grant: null }],
    ['with a token of unknown end', { access: { token: 'one' } }, { signedIn: true, expiresAt: null }],
    [
      'with a token that has ended',
      ENDED,
      { signedIn: false, source: null, renewable: false, expiresAt: '2026-11-20T12:00:00.000Z' },
    ],
    [
      'with a token that has ended and can be renewed',
      { ...REFRESHABLE, ...ENDED },
      { signedIn: true, source: 'stored', renewable: true },
    ],
    ['that can be renewed', REFRESHABLE, { signedIn: true, expiresAt: null, scope: NOBODY.scope }],
    [
      'of the client itself',
      { ...ENDED, grant },
      { signedIn: true, renewable: true, grant: 'client_credentials', clientAuthentication: 'secret' },
    ],
    ['of a public client', { ...REFRESHABLE, client: 'none' }, { clientAuthentication: 'none' }],
    ['of a client with a key', { ...REFRESHABLE, client: 'key' }, { clientAuthentication: 'key' }],
    [
      'of which only the secret is left',
      { clientSecret: 'a secret' },
      { signedIn: false, renewable: false, clientAuthentication: 'secret', place: null, store: 'file' },
    ],
  ])('%s', async (_, secrets, expected) => {
    await at.store(secrets);
    const { place } = await at.vault();
    expect(await at.state()).toMatchObject({ place, ...expected });
  });

  test.each<['client' | 'sign-in', Secrets, boolean]>([
    ['sign-in', { ...REFRESHABLE, ...ENDED }, false],
    ['client', { ...REFRESHABLE, ...ENDED }, false],
    // The token serves to its end.
    ['sign-in', { ...REFRESHABLE, ...LASTING }, true],
  ])('whose renewal was refused: of the %s, %j', async (of, secrets, signedIn) => {
    await at.store(secrets);
    await at.refuse(secrets, of);
    expect(await at.state()).toMatchObject({
      signedIn,
      source: signedIn ? 'stored' : null,
      renewable: true,
      refused: of,
      refusedAt: '2026-11-20T12:00:00.000Z',
    });
    await at.refuse({ refreshToken: 'another' }, of);
    expect(await at.state()).toMatchObject({ signedIn: true, refused: null, refusedAt: null });
  });

  test.each([
    [ENDED, false],
    [LASTING, true],
  ])('whose refresh token may be spent cannot be renewed: %j', async (access, signedIn) => {
    const vault = await at.vault();
    const holder = { pid: 7, hostname: 'elsewhere', nonce: 'one' };
    const spending = { token: hash('sha256', 'a refresh token'), holder, since: NOON - 150_001 };
    await vault.write({ ...REFRESHABLE, ...access, spending });
    expect(await at.state()).toMatchObject({
      signedIn,
      renewable: false,
      grant: 'refresh_token',
      perhapsSpentAt: '2026-11-20T11:57:29.999Z',
      place: vault.place,
    });
  });

  test('takes how the client proves itself from the environment', async () => {
    await at.store(REFRESHABLE);
    const parts = at.with({ HOOKTRAIL_CLIENT_KEY_FILE: '/nowhere' });
    expect((await at.state(parts)).clientAuthentication).toBe('key');
  });

  test('of one profile is not that of another', async () => {
    await at.store(REFRESHABLE);
    await at.save({ default: SAVED, night: SAVED });
    expect(await at.state({}, { profile: 'night' })).toEqual({ ...NOBODY, profile: 'night' });
  });
});

describe('the state of a sign-in in a keychain', () => {
  const keychain = { HOOKTRAIL_STORE: 'keychain' };

  test('names the keychain', async () => {
    const parts = at.with(keychain);
    const vault = await at.vault(parts);
    await vault.write(REFRESHABLE);
    expect(await at.state(parts)).toMatchObject({
      signedIn: true,
      store: 'keychain',
      place: vault.place,
    });
  });

  test('that is missing is that nothing is stored, where no profile is saved', async () => {
    await at.save({});
    const parts = at.with({
      ...keychain,
      HOOKTRAIL_AUTH_URL: SAVED['auth-url'],
      HOOKTRAIL_BASE_URL: SAVED['base-url'],
      HOOKTRAIL_CLIENT_ID: 'me',
      HOOKTRAIL_VENDOR: 'acme',
    });
    expect(await at.state({ ...parts, loadKeychain: GONE })).toEqual({ ...NOBODY, store: 'keychain' });
  });

  test('that is missing is an error where a profile is saved', async () => {
    const parts = { ...at.with(keychain), loadKeychain: GONE };
    await expect(at.state(parts)).rejects.toThrow(
      'the OS keychain cannot be reached: the npm package keytar is not installed',
    );
  });
});

describe('a token in the environment', () => {
  const given = (token: string) => at.with({ HOOKTRAIL_ACCESS_TOKEN: token, HOOKTRAIL_STORE: 'keychain' });

  test('is the sign-in, whatever is stored, which is not read', async () => {
    const token = tokenOf({ sub: 'the user' });
    expect(await at.state({ ...given(token), loadKeychain: GONE })).toEqual({
      ...NOBODY,
      signedIn: true,
      subject: 'the user',
      source: 'environment',
      scope: null,
      store: null,
    });
  });

  test('that no header can carry is an error', async () => {
    await expect(at.state(given('a b'))).rejects.toThrow('HOOKTRAIL_ACCESS_TOKEN is not a token');
  });

  test.each<[object, string | null]>([
    [{ sub: 's', name: 'n', email: 'e', preferred_username: 'p' }, 'p'],
    [{ sub: 's', name: 'n', email: 'e' }, 'e'],
    [{ sub: 's', name: 'n' }, 'n'],
    [{ sub: 's' }, 's'],
    [{ preferred_username: '', email: 7, name: null, sub: 's' }, 's'],
    [{ email: ['e'] }, null],
    [{}, null],
    [{ sub: 'é'.repeat(200) }, 'é'.repeat(200)],
    [{ sub: 'é'.repeat(201) }, 'é'.repeat(200)],
  ])('with the claims %.80j is of %.20s', async (claims, subject) => {
    expect((await at.state(given(tokenOf(claims)))).subject).toBe(subject);
  });

  test('that is opaque is of nobody that is known', async () => {
    expect((await at.state(given('opaque'))).subject).toBeNull();
  });
});

describe('a profile that is named', () => {
  const warnings = async (variables: Record<string, string>, flags: SettingFlags = {}) => {
    const call = await at.callWith(at.with({ HOOKTRAIL_STORE: undefined, ...variables }), flags);
    const said: string[] = [];
    const warning: typeof call.reporter.warning = (words, { kind }) => void said.push(`${kind}: ${words}`);
    await warnOfOverrides(call.settings.checked(), { ...call, reporter: { ...call.reporter, warning } });
    return said;
  };
  const OTHER = { HOOKTRAIL_CLIENT_ID: 'other' };
  const TWO = { ...OTHER, HOOKTRAIL_BASE_URL: 'https://other.example' };

  test.each<[Record<string, string>, SettingFlags, string[]]>([
    [OTHER, {}, ["usage: HOOKTRAIL_CLIENT_ID overrides what the profile 'default' saves"]],
    [TWO, {}, ["usage: HOOKTRAIL_BASE_URL, HOOKTRAIL_CLIENT_ID override what the profile 'default' saves"]],
    [{ HOOKTRAIL_CLIENT_ID: 'me', HOOKTRAIL_VENDOR: 'acme' }, {}, []],
    // A flag was typed just now, and nothing is saved for a scope.
    [OTHER, { clientId: 'typed' }, []],
    [{ HOOKTRAIL_SCOPE: 'event_api' }, {}, []],
    [{}, {}, []],
    [{}, { profile: 'nigth' }, ["usage: there is no profile 'nigth'"]],
    [OTHER, { profile: 'nigth' }, ["usage: there is no profile 'nigth'"]],
  ])('with the variables %j and the flags %j', async (variables, flags, said) => {
    expect(await warnings(variables, flags)).toEqual(said);
  });
});

describe('the check of a sign-in', () => {
  interface Answer {
    readonly status?: number;
    readonly type?: string;
    readonly body?: string;
  }

  /** An event service and its identity provider, which answer so, in this order, and what they are asked. */
  async function startAnswering(service: Answer[] = [], provider: Answer[] = []) {
    const asked: object[] = [];
    const server = createServer((request, response) => {
      const { url = '', headers } = request.resume();
      const isProvider = url === '/connect/token';
      const { authorization, accept } = headers;
      asked.push(isProvider ? { url } : { url, authorization, accept });
      const answers = isProvider ? provider : service;
      const { status = 200, type = 'application/json', body = '{"items":[]}' } = answers.shift() ?? {};
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    const loopback = await onLoopback(server);
    const { origin } = loopback;
    await at.save({ default: { ...SAVED, 'auth-url': origin, 'base-url': `${origin}/v1` } });
    return { asked, [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose]() };
  }

  const GIVEN = { HOOKTRAIL_ACCESS_TOKEN: 'given' };
  const asks = (token: string) => ({
    url: '/v1/event-types',
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.acme.v1+json',
  });
  const granted = (token: string) => ({
    body: JSON.stringify({ access_token: token, refresh_token: `after ${token}`, expires_in: 1800 }),
  });

  /** The result, and the message of the error. */
  async function checked(parts: Partial<Context> = at.with(GIVEN)) {
    const failure = await checkSignIn(await at.callWith(parts));
    if (failure === undefined) return 'accepted';
    if (!(failure.error instanceof HooktrailError)) throw failure.error;
    return [failure.result, failure.error.message];
  }

  test.each(['{"items":[],"more":1}', '{"count":0}'])('is passed with %s', async (body) => {
    await using answering = await startAnswering([{ body }]);
    expect(await checked()).toBe('accepted');
    expect(answering.asked).toEqual([asks('given')]);
  });

  const none = 'GET event-types is not a collection: the service answered 200 OK';
  test.each<[Answer, string, string]>([
    [{ body: '{"status":"up"}' }, 'failed', none],
    [{ body: '<!doctype html>', type: 'text/html' }, 'failed', none],
    [{ body: '' }, 'failed', none],
    [{ status: 401 }, 'rejected', 'GET event-types: the service answered 401 Unauthorized'],
    [{ status: 404 }, 'failed', 'GET event-types: the service answered 404 Not Found'],
    [{ status: 202 }, 'failed', 'GET event-types: the service answered 202 Accepted'],
  ])('is not passed with %j', async (answer, result, message) => {
    await using _ = await startAnswering([answer]);
    expect(await checked()).toEqual([result, message]);
  });

  test('of a service that is not there says so', async () => {
    await at.save({ default: { ...SAVED, 'base-url': 'http://127.0.0.1:9' } });
    expect(await checked()).toEqual([
      'unreachable',
      expect.stringMatching(/^the service could not be reached: 127\.0\.0\.1:9 /),
    ]);
  });

  test('renews the sign-in', async () => {
    await using answering = await startAnswering([], [granted('new')]);
    await at.store(REFRESHABLE);
    expect(await checked({})).toBe('accepted');
    expect(answering.asked).toEqual([{ url: '/connect/token' }, asks('new')]);
  });

  test.each<[Answer, string, string]>([
    [
      { status: 400, body: '{"error":"invalid_grant"}' },
      'refused',
      'the sign-in has ended: the identity provider does not accept the refresh token',
    ],
    [
      { status: 404, body: '{}' },
      'not-renewed',
      'refreshing the sign-in failed: the identity provider answered 404',
    ],
  ])('does not ask the service if the provider answers %j', async (answer, result, message) => {
    await using answering = await startAnswering([], [answer]);
    await at.store(REFRESHABLE);
    expect(await checked({})).toEqual([result, message]);
    expect(answering.asked).toEqual([{ url: '/connect/token' }]);
  });

  test('of a provider that is not there says that nothing was renewed', async () => {
    await at.save({ default: { ...SAVED, 'auth-url': 'http://127.0.0.1:9' } });
    await at.store(REFRESHABLE);
    expect(await checked({})).toEqual([
      'not-renewed',
      expect.stringMatching(/^the identity provider could not be reached: /),
    ]);
  });

  test('without a sign-in asks nobody', async () => {
    await using answering = await startAnswering();
    expect(await checked({})).toEqual(['refused', 'not signed in']);
    expect(answering.asked).toEqual([]);
  });

  test('says that the service rejects a token that cannot be replaced', async () => {
    const refused = { status: 400, body: '{"error":"invalid_grant"}' };
    await using _ = await startAnswering([{ status: 401 }], [granted('new'), refused]);
    await at.store(REFRESHABLE);
    expect(await checked({})).toEqual([
      'rejected',
      expect.stringMatching(/^the service rejected the access token \(401\); the sign-in has ended/),
    ]);
  });

  test.each(['base-url', 'vendor'])('without %s is an error', async (name) => {
    const { [name]: _, ...others }: SavedProfile = SAVED;
    await at.save({ default: others });
    await expect(checked()).rejects.toThrow('a setting is missing');
  });

  test('that is interrupted is no result', async () => {
    await using _ = await startAnswering();
    const interrupt = new Error('SIGINT');
    const parts = { ...at.with(GIVEN), signal: AbortSignal.abort(interrupt) };
    await expect(checkSignIn(await at.callWith(parts))).rejects.toBe(interrupt);
  });
});

test('the profiles that are signed in are those with secrets of their own, unless their renewal was refused', async () => {
  const keychain = { ...SAVED, store: 'keychain' };
  const { 'client-id': _, ...incomplete } = SAVED;
  await at.save({
    file: SAVED,
    keychain,
    refused: SAVED,
    moved: { ...SAVED, 'base-url': 'https://moved.example' },
    nothing: SAVED,
    incomplete,
    'other-store': SAVED,
    'other-keychain': keychain,
    leftover: SAVED,
  });
  const config = await readConfig(at.contextWith());
  const bindingFor = (profile: string) => {
    const settings = savedSettings(profile, config);
    if (!settings) throw new Error(`nothing is saved for ${profile}`);
    return bindingOf(settings);
  };
  const secrets = path.join(at.folder, 'secrets');
  await mkdir(secrets);
  const put = (name: string) => writeFile(path.join(secrets, name), '');
  for (const [profile, kind] of [
    ['file', 'vault'],
    ['keychain', 'access'],
    ['refused', 'vault'],
    ['other-store', 'access'],
    ['other-keychain', 'vault'],
    ['leftover', 'vault.0123.tmp'],
  ] as const)
    await put(`${profile}~${bindingHash(bindingFor(profile))}.${kind}`);
  await put('moved~0123456789abcdef.vault');
  await put(`nothing~${bindingHash(bindingFor('file'))}.vault`);
  const note = new RefusalNote(bindingFor('refused'), at.contextWith());
  await note.write(REFRESHABLE, { of: 'sign-in', at: clock.now(), details: [] });
  expect(await signedInProfiles(config, at.contextWith())).toEqual(new Set(['file', 'keychain']));
});
