import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { adviceText } from '../../src/advice.ts';
import type { Context, Keychain } from '../../src/context.ts';
import { HooktrailError } from '../../src/errors.ts';
import { takeLock } from '../../src/lock/lock.ts';
import { KeychainError } from '../../src/secrets/keychain-error.ts';
import { openVault } from '../../src/secrets/stored-sign-ins.ts';
import type { Secrets } from '../../src/secrets/vault.ts';
import { readConfig, type SavedProfile } from '../../src/settings/settings.ts';
import { bindingOf, savedSettings } from '../../src/sign-in/session.ts';
import { signInLock } from '../../src/sign-in/sign-in-lock.ts';
import { deleteProfile, logout, type SignOutFlags } from '../../src/sign-in/sign-out.ts';
import type { Reporter } from '../../src/terminal/reporter.ts';
import { clock } from '../support/clock.ts';
import { createContext, fakeOutput, memoryKeychain, thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeReporter } from '../support/outputs.ts';
import { onLoopback } from '../support/server.ts';

const WHOLE: Secrets = {
  refreshToken: 'a refresh token',
  clientSecret: 'a secret',
  access: { token: 'an access token' },
};
const { refreshToken: _, ...WITHOUT_REFRESH_TOKEN } = WHOLE;
const OUT = "signed out of the profile 'default' on this machine";
const UNREVOKED = "the tokens of 'default' could not be revoked: ";
const UNREACHED = 'the OS keychain cannot be reached: the npm package keytar is not installed';
const BEYOND_REACH = () => Promise.reject(new Error('dlopen failed'));

/** A home, a keychain, and an identity provider that answers as the test says and notes what it is asked. */
async function start() {
  const home = await createHome();
  const provider = {
    answers: [] as { readonly status: number; readonly error?: string }[],
    offersRevocation: true,
    forms: [] as Record<string, string>[],
    asked: 0,
  };
  const server = createServer(async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    provider.asked++;
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/.well-known/openid-configuration') {
      const endpoint = { revocation_endpoint: `${loopback.origin}/revoke` };
      return send(200, { issuer: loopback.origin, ...(provider.offersRevocation ? endpoint : {}) });
    }
    if (request.url !== '/revoke') return send(404, {});
    provider.forms.push(form);
    const { status, ...body } = provider.answers.shift() ?? { status: 200 };
    return send(status, body);
  });
  const loopback = await onLoopback(server);
  const keychain = memoryKeychain();
  const machine = { ...thisMachine(), platform: 'darwin' as const };
  const folder = path.join(home.folder, 'config');
  const profile: SavedProfile = {
    'auth-url': loopback.origin,
    'base-url': 'https://events.example/v1',
    'client-id': 'me',
    vendor: 'acme',
    store: 'file',
  };
  await mkdir(folder);
  const contextWith = (parts: Partial<Context> = {}) =>
    createContext({ environment: home.env, machine, loadKeychain: async () => keychain, ...parts });
  const settingsOf = async (name: string) => {
    const settings = savedSettings(name, await readConfig(contextWith()));
    if (!settings) throw new Error(`nothing is saved for ${name}`);
    return settings;
  };
  const vaultOf = async (name: string, parts?: Partial<Context>) => {
    const settings = await settingsOf(name);
    return openVault(settings.store, bindingOf(settings), contextWith(parts));
  };
  const save = async (profiles: Record<string, SavedProfile>, chosen?: string) => {
    const config = { version: 1, ...(chosen === undefined ? {} : { profile: chosen }), profiles };
    await writeFile(path.join(folder, 'config.json'), JSON.stringify(config));
  };
  const secretFiles = async () => (await readdir(path.join(folder, 'secrets')).catch(() => [])).sort();
  return {
    ...{ home, provider, keychain, folder, profile, contextWith, settingsOf, vaultOf, save, secretFiles },
    origin: loopback.origin,
    /** Saves the profile and signs in with it. */
    signIn: async (secrets: Secrets = WHOLE, name = 'default', changes: SavedProfile = {}) => {
      const { profiles } = await readConfig(contextWith());
      await save({ ...profiles, [name]: { ...profile, ...changes } });
      await (await vaultOf(name)).write(secrets);
    },
    /** Everything secret that this machine still has. */
    left: async () => [...(await secretFiles()), ...keychain.entries.keys()],
    async [Symbol.asyncDispose]() {
      await loopback[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const at = forEachTest(start);

/** What was said, and the error that it ended with. */
async function told(work: (reporter: Reporter) => Promise<void>) {
  const reporter = fakeReporter();
  const warning: Reporter['warning'] = (words, { kind }) =>
    void reporter.said.push(`warning (${kind}): ${words}`);
  const error = await work({ ...reporter, warning }).then(
    () => undefined,
    (thrown) => thrown,
  );
  const { said } = reporter;
  if (error === undefined) return { said };
  if (!(error instanceof HooktrailError)) throw error;
  const { name, message, details, next } = error;
  return { said, error: { name, message, details, next: next && adviceText(next, {}) } };
}

const signOut = (flags: SignOutFlags = {}, parts?: Partial<Context>) =>
  told((reporter) => logout(flags, at.contextWith(parts), reporter));
const remove = (name: string, parts?: Partial<Context>) =>
  told((reporter) => deleteProfile(name, at.contextWith(parts), reporter));

const environmentWith = (changes: Record<string, string | undefined>) => ({
  environment: { ...at.home.env, ...changes },
});

/** A person at a terminal, who types this. */
function terminalWith(typed: string) {
  const stream = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stream });
  stream.write(typed);
  const { stdin } = createContext();
  const stderr = fakeOutput(80);
  return { stdin: { ...stdin, isTerminal: true, stream: () => stream }, stderr };
}

const inKeychain = { store: 'keychain' };
const CLIENT = { client_id: 'me', client_secret: 'a secret' };
const REFRESH = { token: 'a refresh token', token_type_hint: 'refresh_token' };
const ACCESS = { token: 'an access token', token_type_hint: 'access_token' };

describe('signing out', () => {
  test.each(['file', 'keychain'])('revokes both tokens and deletes them from the %s', async (store) => {
    await at.signIn(WHOLE, 'default', { store });
    const before = await readConfig(at.contextWith());
    expect(await signOut()).toEqual({ said: [`notice: ${OUT}; its tokens are revoked`] });
    expect(at.provider.forms).toEqual([
      { ...CLIENT, ...REFRESH },
      { ...CLIENT, ...ACCESS },
    ]);
    expect(await at.left()).toEqual([]);
    expect(await readConfig(at.contextWith())).toEqual(before);
  });

  test.each<[Secrets, object[], string]>([
    [{ ...WHOLE, access: undefined }, [REFRESH], '; its tokens are revoked'],
    [WITHOUT_REFRESH_TOKEN, [ACCESS], '; its tokens are revoked'],
    [{ clientSecret: 'a secret' }, [], ''],
  ])('with %j revokes what there is', async (secrets, forms, said) => {
    await at.signIn(secrets);
    expect(await signOut()).toEqual({ said: [`notice: ${OUT}${said}`] });
    expect(at.provider.forms).toEqual(forms.map((form) => ({ ...CLIENT, ...form })));
    expect([await at.left(), at.provider.asked > 0]).toEqual([[], forms.length > 0]);
  });

  test('of a public client proves nothing', async () => {
    await at.signIn({ ...WHOLE, clientSecret: undefined, client: 'none' });
    await signOut({}, environmentWith({ HOOKTRAIL_CLIENT_SECRET: 'of another' }));
    expect(at.provider.forms).toEqual([
      { client_id: 'me', ...REFRESH },
      { client_id: 'me', ...ACCESS },
    ]);
  });

  const unsupported = { status: 400, error: 'unsupported_token_type' };
  const failed = 'the revocation failed: the identity provider answered 503';
  test.each<[string, Secrets, object[], number, string]>([
    ['revokes no access tokens', WHOLE, [{ status: 200 }, unsupported], 2, 'its refresh token is revoked'],
    [
      'revokes no access tokens, and there is only one',
      WITHOUT_REFRESH_TOKEN,
      [unsupported],
      1,
      'the identity provider revokes no access tokens, so its token lasts to its end',
    ],
  ])('at a provider that %s says what remains valid', async (_name, secrets, answers, asked, said) => {
    await at.signIn(secrets);
    Object.assign(at.provider, { answers });
    expect(await signOut()).toEqual({ said: [`notice: ${OUT}; ${said}`] });
    expect([at.provider.forms.length, await at.left()]).toEqual([asked, []]);
  });

  test.each<[string, object[], number, string]>([
    ['the refresh token', [{ status: 503 }], 1, failed],
    ['the access token', [{ status: 200 }, { status: 503 }], 2, failed],
    [
      'the client',
      [{ status: 401, error: 'invalid_client' }],
      1,
      'the revocation was refused by the identity provider',
    ],
    [
      'the refresh token as a type',
      [unsupported],
      1,
      'the revocation was refused by the identity provider (400)',
    ],
    [
      'the access token as a request',
      [{ status: 200 }, { status: 400, error: 'invalid_request' }],
      2,
      'the revocation was refused by the identity provider (400)',
    ],
  ])(
    'where the provider does not take %s deletes all the same, and warns',
    async (_name, answers, asked, why) => {
      await at.signIn();
      Object.assign(at.provider, { answers });
      expect(await signOut()).toEqual({ said: [`notice: ${OUT}`, `warning (sign-in): ${UNREVOKED}${why}`] });
      expect([at.provider.forms.length, await at.left()]).toEqual([asked, []]);
    },
  );

  test('at a provider without revocation says so', async () => {
    await at.signIn();
    at.provider.offersRevocation = false;
    const said = [`notice: ${OUT}; the identity provider offers no way to revoke tokens`];
    expect(await signOut()).toEqual({ said });
    expect([at.provider.forms, await at.left()]).toEqual([[], []]);
  });

  test('without the credential of the client deletes all the same, and warns', async () => {
    await at.signIn({ ...WHOLE, clientSecret: undefined, client: 'key' });
    expect(await signOut()).toEqual({
      said: [
        `notice: ${OUT}`,
        `warning (sign-in): ${UNREVOKED}the private key of the client is needed, and no variable gives it`,
      ],
    });
    expect([at.provider.forms, await at.left()]).toEqual([[], []]);
  });

  test('waits for a refresh, so that the tokens that it stores are revoked and deleted', async () => {
    await at.signIn();
    const { name, place } = signInLock(await at.settingsOf('default'), at.contextWith());
    const held = await takeLock(name, at.contextWith(), place);
    const leaving = signOut();
    await clock.slept(3);
    expect([at.provider.asked, (await at.left()).length]).toEqual([0, 1]);
    await (await at.vaultOf('default')).write({ ...WHOLE, refreshToken: 'its successor' });
    await held.release();
    await leaving;
    expect(at.provider.forms[0]).toEqual({ ...CLIENT, ...REFRESH, token: 'its successor' });
    expect(await at.left()).toEqual([]);
  });

  test('of a sign-in that was made twice says that the older tokens are not revoked', async () => {
    await at.signIn(WHOLE, 'default', { 'base-url': 'https://older.example' });
    await at.signIn();
    expect(await signOut()).toEqual({
      said: [
        `notice: ${OUT}; its tokens are revoked`,
        "warning (sign-in): tokens of earlier sign-ins of 'default' at other addresses were deleted, but not revoked",
      ],
    });
    expect([at.provider.forms.length, await at.left()]).toEqual([2, []]);
  });

  test.each([{}, { HOOKTRAIL_PASSPHRASE: undefined }])(
    'of a sign-in at other addresses alone says that its tokens are not revoked: with %j',
    async (changes) => {
      await at.signIn(WHOLE, 'default', { 'base-url': 'https://older.example' });
      await at.save({ default: at.profile });
      expect(await signOut({}, environmentWith(changes))).toEqual({
        said: [
          `notice: ${OUT}`,
          "warning (sign-in): tokens of earlier sign-ins of 'default' at other addresses were deleted, but not revoked",
        ],
      });
      expect([await at.left(), at.provider.asked]).toEqual([[], 0]);
    },
  );

  test('of a sign-in that was made twice says only once that nothing was revoked', async () => {
    await at.signIn(WHOLE, 'default', { 'base-url': 'https://older.example' });
    await at.signIn();
    at.provider.answers = [{ status: 503 }];
    expect((await signOut()).said).toEqual([`notice: ${OUT}`, `warning (sign-in): ${UNREVOKED}${failed}`]);
  });

  test('warns of a token that stays in the environment', async () => {
    const { said } = await signOut({}, environmentWith({ HOOKTRAIL_ACCESS_TOKEN: 'abc' }));
    expect(said).toEqual([
      "notice: nothing was stored for the profile 'default'",
      'warning (usage): HOOKTRAIL_ACCESS_TOKEN is still set, and commands still use it',
    ]);
  });
});

describe('tokens that cannot be read', () => {
  const unread = `warning (sign-in): ${UNREVOKED}they could not be read`;

  test('without a passphrase, or anybody to type it, are deleted, and nobody is asked', async () => {
    await at.signIn();
    const parts = environmentWith({ HOOKTRAIL_PASSPHRASE: undefined });
    expect(await signOut({}, parts)).toEqual({ said: [`notice: ${OUT}`, unread] });
    expect([await at.left(), at.provider.asked]).toEqual([[], 0]);
  });

  test('because they are damaged are deleted', async () => {
    await at.signIn();
    const [name = ''] = await at.secretFiles();
    await writeFile(path.join(at.folder, 'secrets', name), 'damaged');
    expect(await signOut()).toEqual({ said: [`notice: ${OUT}`, unread] });
    expect([await at.left(), at.provider.asked]).toEqual([[], 0]);
  });

  test('with another passphrase are deleted', async () => {
    await at.signIn();
    const other = environmentWith({ HOOKTRAIL_PASSPHRASE: `htk1-${'0th'.repeat(14)}0` });
    expect(await signOut({}, other)).toEqual({ said: [`notice: ${OUT}`, unread] });
    expect(await at.left()).toEqual([]);
  });

  test.each(['the passphrase is given', 'it is missing'])(
    'because of a fault that may pass stay, where %s',
    async (given) => {
      await at.signIn();
      const [name = ''] = await at.secretFiles();
      const file = path.join(at.folder, 'secrets', name);
      await rm(file);
      await mkdir(file);
      const untyped = environmentWith({ HOOKTRAIL_PASSPHRASE: undefined });
      const { said, error } = await signOut({}, given.startsWith('the') ? {} : untyped);
      expect([said, error?.name, error?.message]).toEqual([
        [],
        'UsageError',
        expect.stringContaining(`the secrets in ${file} cannot be read: `),
      ]);
      expect(await at.left()).toEqual([name]);
    },
  );

  test('need no passphrase if they are in the keychain, or a file has it', async () => {
    await at.signIn(WHOLE, 'default', inKeychain);
    const parts = environmentWith({ HOOKTRAIL_PASSPHRASE: undefined });
    expect((await signOut({}, parts)).said).toEqual([`notice: ${OUT}; its tokens are revoked`]);
    const file = path.join(at.home.folder, 'key');
    await writeFile(file, at.home.env['HOOKTRAIL_PASSPHRASE'] ?? '', { mode: 0o600 });
    await at.signIn(WHOLE, 'default', { 'passphrase-file': file });
    expect((await signOut({}, parts)).said).toEqual([`notice: ${OUT}; its tokens are revoked`]);
  });
});

describe('a keychain', () => {
  const unasked = `warning (sign-in): ${UNREVOKED}${UNREACHED}; it may still hold them: sign out again where it is reached`;
  const unreached = { loadKeychain: BEYOND_REACH };

  test('that is not reached may still hold the tokens', async () => {
    await at.signIn(WHOLE, 'default', inKeychain);
    const before = await at.left();
    for (const flags of [{}, { all: true, yes: true }] as const)
      expect(await signOut(flags, unreached)).toEqual({ said: [unasked] });
    expect([await at.left(), at.provider.asked]).toEqual([before, 0]);
    expect((await signOut()).said).toEqual([`notice: ${OUT}; its tokens are revoked`]);
  });

  test('that is not reached is said to hold them even without the addresses', async () => {
    await at.save({ default: inKeychain });
    expect(await signOut({}, unreached)).toEqual({ said: [unasked] });
  });

  test.each<[string | undefined, string | undefined, boolean]>([
    [undefined, 'KEYCHAIN', true],
    [undefined, 'keychain', true],
    [undefined, undefined, false],
    [undefined, 'file', false],
    ['file', 'keychain', false],
    ['keychain', 'file', true],
  ])('that is not reached matters with %s saved and %s set: %j', async (store, variable, matters) => {
    await at.save({ default: store === undefined ? {} : { store } });
    const parts = { ...unreached, ...environmentWith({ HOOKTRAIL_STORE: variable }) };
    const nothing = "notice: nothing was stored for the profile 'default'";
    expect(await signOut({}, parts)).toEqual({ said: [matters ? unasked : nothing] });
  });

  test('that is not reached may hold tokens beside those of a file, which are deleted', async () => {
    await at.signIn();
    await at.save({ default: { ...at.profile, ...inKeychain } });
    expect(await signOut({}, unreached)).toEqual({ said: [`notice: ${OUT}`, unasked] });
    expect(await at.left()).toEqual([]);
  });

  const failing = (error: Error): { loadKeychain: () => Promise<Keychain> } => {
    const fail = () => Promise.reject(error);
    return { loadKeychain: async () => ({ get: fail, set: fail, delete: fail, accounts: fail }) };
  };

  test('that is known to hold nothing leaves only what was beside it', async () => {
    await at.signIn(WHOLE, 'default', inKeychain);
    expect(await signOut({}, failing(new KeychainError('no-keyring')))).toEqual({
      said: [
        `notice: ${OUT}`,
        `warning (sign-in): ${UNREVOKED}the OS keychain has no default keyring to store anything in`,
      ],
    });
    expect(await at.secretFiles()).toEqual([]);
  });

  test('that is locked is an error, and what it holds stays', async () => {
    await at.signIn(WHOLE, 'default', inKeychain);
    const before = await at.left();
    const { said, error } = await signOut({}, failing(new Error('User interaction is not allowed.')));
    expect([said, error?.message, error?.details]).toEqual([
      [],
      'the OS keychain is locked',
      ['User interaction is not allowed.', `${UNREVOKED}they could not be read`],
    ]);
    expect([await at.left(), at.provider.asked]).toEqual([before, 0]);
  });
});

describe('secrets that cannot be deleted', () => {
  const PLACE = 'default~0123456789abcdef.vault';
  const obstruct = () => mkdir(path.join(at.folder, 'secrets', PLACE), { recursive: true });
  const failure = (details: string[]) => ({
    said: [],
    error: {
      name: 'UsageError',
      message: expect.stringContaining(`the secrets in ${at.folder}/secrets/${PLACE} cannot be deleted: `),
      details,
      next: 'make its folder writable and run the command again, or delete the file yourself',
    },
  });

  test('are an error, which says that the tokens are revoked', async () => {
    await at.signIn();
    await obstruct();
    const done = "the profile 'default' stays signed in on this machine; its tokens are revoked";
    expect(await signOut()).toEqual(failure([done]));
  });

  test('are an error, which says that the tokens are not revoked', async () => {
    await at.signIn();
    await obstruct();
    at.provider.answers = [{ status: 503 }];
    const why = `${UNREVOKED}the revocation failed: the identity provider answered 503`;
    expect(await signOut()).toEqual(failure([why]));
  });

  test('are an error, which says no more where there was nothing to revoke', async () => {
    await at.save({ default: at.profile });
    await obstruct();
    expect(await signOut()).toEqual(failure([]));
  });

  test('are an error, which says no more where the provider is unknown', async () => {
    await obstruct();
    expect(await signOut()).toEqual(failure([]));
  });

  test('are an error, and the profile that leads to them stays', async () => {
    await at.signIn();
    await obstruct();
    const before = await readConfig(at.contextWith());
    expect((await remove('default')).error?.name).toBe('UsageError');
    expect(await readConfig(at.contextWith())).toEqual(before);
  });
});

describe('a sign-in whose settings are gone', () => {
  const gone = (whose: string) => ({
    name: 'ServiceError',
    message: `the secrets of ${whose} are deleted, but the tokens could not be revoked: no saved settings name their identity provider`,
    details: [],
    next: 'revoke the tokens at the identity provider, or wait until they expire',
  });

  test('is deleted, with an error', async () => {
    await at.signIn();
    await at.save({});
    expect(await signOut()).toEqual({ said: [], error: gone("the profile 'default'") });
    expect([await at.left(), at.provider.asked]).toEqual([[], 0]);
    expect((await signOut()).said).toEqual(["notice: nothing was stored for the profile 'default'"]);
  });

  test('is revoked where the environment has them', async () => {
    await at.signIn();
    await at.save({});
    const parts = environmentWith({
      HOOKTRAIL_AUTH_URL: at.origin,
      HOOKTRAIL_BASE_URL: 'https://events.example/v1',
      HOOKTRAIL_CLIENT_ID: 'me',
    });
    expect((await signOut({}, parts)).said).toEqual([`notice: ${OUT}; its tokens are revoked`]);
    expect(await at.left()).toEqual([]);
  });

  test('is not what the environment says while they are saved', async () => {
    await at.signIn();
    const parts = environmentWith({
      HOOKTRAIL_AUTH_URL: 'https://other.example',
      HOOKTRAIL_CLIENT_ID: 'other',
    });
    expect((await signOut({}, parts)).said).toEqual([`notice: ${OUT}; its tokens are revoked`]);
    expect(at.provider.forms[0]).toEqual({ ...CLIENT, ...REFRESH });
  });

  test('is deleted by signing out of all, with an error', async () => {
    await at.signIn(WHOLE, 'kept');
    await at.signIn(WHOLE, 'gone');
    await at.save({ kept: at.profile });
    expect(await signOut({ all: true })).toEqual({
      said: ["notice: signed out of the profile 'kept' on this machine; its tokens are revoked"],
      error: gone('profiles that are no longer saved'),
    });
    expect(await at.left()).toEqual([]);
  });
});

describe('the profile to sign out of', () => {
  test('is the one that is named, and no other', async () => {
    await at.signIn(WHOLE, 'default');
    await at.signIn(WHOLE, 'night');
    const said = ["notice: signed out of the profile 'night' on this machine; its tokens are revoked"];
    expect(await signOut({ profile: 'NIGHT' })).toEqual({ said });
    expect(await at.left()).toEqual([expect.stringMatching(/^default~/)]);
  });

  test.each<[SignOutFlags, Record<string, string>, string]>([
    [{}, {}, "nothing was stored for the profile 'default'"],
    [{ profile: 'default' }, {}, "nothing was stored for the profile 'default'"],
    [{ profile: 'nigth' }, {}, "nothing was stored: there is no profile 'nigth'"],
    [{}, { HOOKTRAIL_PROFILE: 'nigth' }, "nothing was stored for the profile 'nigth'"],
    [{ all: true }, {}, 'nothing was stored'],
  ])('may have stored nothing: %j with %j', async (flags, variables, said) => {
    await at.save({ default: at.profile });
    expect(await signOut(flags, environmentWith(variables))).toEqual({ said: [`notice: ${said}`] });
    expect(at.provider.asked).toBe(0);
  });
});

describe('signing out of all', () => {
  const signInTwice = async () => {
    await at.signIn(WHOLE, 'default');
    await at.signIn(WHOLE, 'night');
  };
  const ALL_OUT = ['default', 'night'].map(
    (name) => `notice: signed out of the profile '${name}' on this machine; its tokens are revoked`,
  );

  test.each([
    [1, 'deleted 1 saved Api-Token'],
    [2, 'deleted 2 saved Api-Tokens'],
  ])('deletes everything: %i Api-Tokens too', async (count, said) => {
    await signInTwice();
    const folder = path.join(at.folder, 'webhooks');
    await mkdir(folder);
    const names = ['default', 'night~one'].slice(0, count);
    for (const name of names) await writeFile(path.join(folder, `${name}.api-token`), '');
    expect(await signOut({ all: true })).toEqual({ said: [...ALL_OUT, `notice: ${said}`] });
    expect([await at.left(), await readdir(folder)]).toEqual([[], []]);
  });

  test('deletes Api-Tokens that nobody signed in for', async () => {
    const folder = path.join(at.folder, 'webhooks');
    await mkdir(folder);
    await writeFile(path.join(folder, 'default.api-token'), '');
    expect(await signOut({ all: true })).toEqual({ said: ['notice: deleted 1 saved Api-Token'] });
  });

  test.each([
    ['yes\r', true],
    ['no\r', false],
  ])('asks at a terminal first: %j', async (typed, isDone) => {
    await signInTwice();
    const terminal = terminalWith(typed);
    const declined = {
      name: 'UsageError',
      message: 'nothing was changed',
      details: [],
      next: 'sign out of one profile with --profile NAME',
    };
    const done = isDone ? { said: ALL_OUT } : { said: [], error: declined };
    expect(await signOut({ all: true }, terminal)).toEqual(done);
    expect(terminal.stderr.text).toContain('Sign out of every profile (default, night)? (yes or no): ');
    expect((await at.left()).length).toBe(isDone ? 0 : 2);
  });

  test('asks nobody who said yes, who signs out of one, or who has no profile', async () => {
    await signInTwice();
    const terminal = terminalWith('');
    expect((await signOut({}, terminal)).said).toEqual(ALL_OUT.slice(0, 1));
    expect((await signOut({ all: true, yes: true }, terminal)).said).toEqual(ALL_OUT.slice(1));
    await at.save({});
    expect((await signOut({ all: true }, terminal)).said).toEqual(['notice: nothing was stored']);
    expect(terminal.stderr.text).toBe('');
  });
});

describe('deleting a profile', () => {
  const DELETED = "notice: deleted profile 'default' and what was stored for it on this machine";

  test('revokes and deletes all that it had, and no more', async () => {
    await at.signIn(WHOLE, 'default');
    await at.signIn(WHOLE, 'night');
    const folder = path.join(at.folder, 'webhooks');
    await mkdir(folder);
    for (const name of ['default', 'night']) await writeFile(path.join(folder, `${name}.api-token`), '');
    expect(await remove('DEFAULT')).toEqual({
      said: [DELETED, 'notice: next: commands had used it; `hooktrail profiles use night` chooses another'],
    });
    expect(at.provider.forms.map(({ token }) => token)).toEqual(['a refresh token', 'an access token']);
    expect(await readConfig(at.contextWith())).toEqual({ version: 1, profiles: { night: at.profile } });
    expect(await at.left()).toEqual([expect.stringMatching(/^night~/)]);
    expect(await readdir(folder)).toEqual(['night.api-token']);
  });

  test.each<[string[], string | undefined, string | undefined, string | undefined]>([
    [['default'], undefined, undefined, undefined],
    [['default'], 'default', undefined, undefined],
    [['default', 'night'], 'default', undefined, 'night'],
    [['night', 'default'], 'night', 'night', undefined],
    [['default', 'night', 'day'], 'default', undefined, 'night'],
  ])('of %j, with %s in use, leaves %s in use, and advises %s', async (names, chosen, after, advised) => {
    await at.save(Object.fromEntries(names.map((name) => [name, at.profile])), chosen);
    const { said } = await remove('default');
    const step = `notice: next: commands had used it; \`hooktrail profiles use ${advised}\` chooses another`;
    expect(said).toEqual(advised === undefined ? [DELETED] : [DELETED, step]);
    const config = await readConfig(at.contextWith());
    expect([config.profile, Object.keys(config.profiles)]).toEqual([
      after,
      names.filter((name) => name !== 'default'),
    ]);
  });

  test('that is not there is an error, and nothing changes', async () => {
    await at.signIn(WHOLE, 'night');
    expect(await remove('nowhere')).toEqual({
      said: [],
      error: {
        name: 'UsageError',
        message: "there is no profile 'nowhere'",
        details: ['profiles: night'],
        next: '`hooktrail profiles` lists them',
      },
    });
    expect((await at.left()).length).toBe(1);
  });

  test('says that its tokens are not revoked', async () => {
    await at.signIn();
    at.provider.answers = [{ status: 503 }];
    expect(await remove('default')).toEqual({
      said: [
        DELETED,
        `warning (sign-in): ${UNREVOKED}the revocation failed: the identity provider answered 503`,
      ],
    });
  });

  test('that names no provider says that its tokens are not revoked', async () => {
    await at.signIn();
    await at.save({ default: { store: 'file' } });
    expect(await remove('default')).toEqual({
      said: [DELETED, `warning (sign-in): ${UNREVOKED}no saved settings name their provider`],
    });
    expect(await at.left()).toEqual([]);
  });

  test('does not say that it deleted what a keychain may still hold', async () => {
    await at.signIn(WHOLE, 'default', inKeychain);
    expect(await remove('default', { loadKeychain: BEYOND_REACH })).toEqual({
      said: [
        "notice: deleted profile 'default'",
        `warning (sign-in): ${UNREVOKED}${UNREACHED}; it may still hold them: \`hooktrail logout --profile default\` where it is reached deletes them, but cannot revoke them`,
      ],
    });
    expect((await readConfig(at.contextWith())).profiles).toEqual({});
  });
});
