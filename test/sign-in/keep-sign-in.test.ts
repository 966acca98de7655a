import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Context } from '../../src/context.ts';
import { takeLock } from '../../src/lock/lock.ts';
import type { Secrets, Vault } from '../../src/secrets/vault.ts';
import { loadRunSettings, readConfig, type SettingFlags } from '../../src/settings/settings.ts';
import type { ClientProof } from '../../src/sign-in/client-authentication.ts';
import { keepGrant, keepSignIn, saveTyped } from '../../src/sign-in/login/keep-sign-in.ts';
import { type Attempt, NEEDED } from '../../src/sign-in/login/login-attempt.ts';
import { RefusalNote } from '../../src/sign-in/refusal-note.ts';
import { bindingOf } from '../../src/sign-in/session.ts';
import { signInLock } from '../../src/sign-in/sign-in-lock.ts';
import type { Grant } from '../../src/sign-in/token-endpoint.ts';
import { clock } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeReporter } from '../support/outputs.ts';

const home = forEachTest(createHome);

const FLAGS = {
  authUrl: 'https://id.example',
  baseUrl: 'https://events.example/v1',
  clientId: 'client',
  vendor: 'acme',
  store: 'file',
};
const SAVED = {
  'auth-url': 'https://id.example',
  'base-url': 'https://events.example/v1',
  'client-id': 'client',
  vendor: 'acme',
  store: 'file',
};
const secretProof: ClientProof = { method: 'secret', secret: 'client secret' };
const granted: Grant = {
  access: { token: 'an access token', expiresAt: clock.now() + 1_800_000, scope: undefined },
  refreshToken: 'a refresh token',
};

interface Parts {
  readonly flags?: SettingFlags & Record<string, string>;
  readonly proof?: ClientProof;
  readonly context?: Partial<Context>;
  readonly typed?: Attempt['typed'];
  /** Replaces parts of a vault that stores everything at once. */
  readonly vault?: Partial<Vault>;
}

/** An attempt whose vault notes what happens in `done`, until which `before` writes nothing. */
async function startAttempt({ flags = {}, proof = secretProof, context, typed = {}, vault }: Parts = {}) {
  const done: string[] = [];
  const stored: Secrets[] = [];
  const whole = createContext({ environment: home.env, ...context });
  const reporter = fakeReporter();
  const run = await loadRunSettings({ ...FLAGS, ...flags }, whole);
  const settings = run.checked(NEEDED);
  const attempt: Attempt = {
    flags: { ...FLAGS, ...flags, browser: true },
    settings: run,
    context: whole,
    reporter,
    lines: { next: async () => undefined } as Attempt['lines'],
    typed,
  };
  const whereStored: Vault = {
    kind: 'file',
    place: '/the/vault',
    probe: async () => {},
    read: async () => stored.at(-1),
    write: async (secrets) => {
      done.push('stored');
      stored.push(secrets);
    },
    rescue: async () => '/rescued/file',
    ...vault,
  };
  const setup = { settings, proof, vault: whereStored };
  return {
    ...{ attempt, context: whole, done, settings, setup, stored },
    said: reporter.said,
    note: new RefusalNote(bindingOf(settings), whole),
    keep: (grant = granted) => keepGrant(grant, setup, attempt),
    config: async () => await readConfig(whole),
  };
}

describe('a sign-in', () => {
  test('is stored whole, with how the client proves itself and to whom', async () => {
    const at = await startAttempt();
    await at.keep();
    expect(at.stored).toEqual([
      {
        refreshToken: 'a refresh token',
        clientSecret: 'client secret',
        access: granted.access,
        issuer: 'https://id.example',
      },
    ]);
  });

  test('is stored under the lock of the sign-in, where a refresh could be spending the old token', async () => {
    const at = await startAttempt();
    const { name, place } = signInLock(at.settings, at.context);
    const held = await takeLock(name, at.context, place);
    const keeping = at.keep();
    await clock.slept(3);
    expect(at.done).toEqual([]);
    await held.release();
    await keeping;
    expect(at.done).toEqual(['stored']);
  });

  test('that an interrupt meets is stored and saved all the same', async () => {
    const run = new AbortController();
    const at = await startAttempt({ context: { signal: run.signal } });
    run.abort(new Error('SIGINT'));
    await at.keep();
    expect(at.done).toEqual(['stored']);
    expect((await at.config()).profiles).toEqual({ default: SAVED });
  });

  test('forgets that an earlier one was refused, once it is stored', async () => {
    let wasNoted: boolean | undefined;
    const at = await startAttempt({
      vault: {
        write: async () => {
          wasNoted = at.note.exists;
        },
      },
    });
    await at.note.write({ refreshToken: 'old' }, { of: 'sign-in', at: 0, details: [] });
    await at.keep();
    expect([wasNoted, at.note.exists]).toEqual([true, false]);
  });

  test('that nothing takes is an error: neither the profile nor the note of a refusal changes', async () => {
    const fail = () => Promise.reject(new Error('no space'));
    const at = await startAttempt({ vault: { write: fail, rescue: fail } });
    await at.note.write({ refreshToken: 'old' }, { of: 'sign-in', at: 0, details: [] });
    await expect(at.keep()).rejects.toThrow('no space');
    expect([at.note.exists, (await at.config()).profiles, at.said]).toEqual([true, {}, []]);
  });

  test('that was rescued says where', async () => {
    const at = await startAttempt({ vault: { write: () => Promise.reject(new Error('no space')) } });
    await at.keep();
    expect(at.said).toContain('notice:   secrets   /rescued/file');
  });
});

test('the lock of a sign-in is with the encrypted file, which other machines may share, and of nothing else', async () => {
  const { settings, context } = await startAttempt();
  const folderOf = (changes: object) => signInLock({ ...settings, ...changes }, context).place.folder;
  const folder = folderOf({});
  expect(folder).toMatch(/^.+\/config\/locks\/[0-9a-f]{32}$/);
  expect(folderOf({ vendor: 'another' })).toBe(folder);
  const others = [{ profile: 'other' }, { clientId: 'other' }, { authUrl: new URL('https://other.example') }];
  expect(new Set([{}, ...others].map(folderOf)).size).toBe(4);
  const inKeychain = signInLock({ ...settings, store: 'keychain' }, context);
  expect(inKeychain).toEqual({ name: signInLock(settings, context).name, place: {} });
});

describe('the profile of a sign-in', () => {
  test('has the settings that somebody gave, and the store always', async () => {
    const more = {
      scope: 'event_api',
      redirectUri: 'http://127.0.0.1:7000/callback',
      issuer: 'https://name.example',
    };
    const at = await startAttempt({ flags: { ...more, timezone: 'UTC' } });
    await at.keep();
    const { scope, redirectUri, issuer } = more;
    expect((await at.config()).profiles).toEqual({
      default: { ...SAVED, scope, 'redirect-uri': redirectUri, issuer },
    });
    expect(at.stored[0]?.issuer).toBe(issuer);
    const { store: _, ...others } = FLAGS;
    const machine = { ...createContext().machine, platform: 'darwin' as const };
    const environment = { ...home.env, HOOKTRAIL_STORE: undefined };
    const unsaid = await startAttempt({
      context: { machine, environment },
      flags: { ...others, store: undefined as never, profile: 'mac' },
    });
    await unsaid.keep();
    expect((await unsaid.config()).profiles['mac']).toEqual({ ...SAVED, store: 'keychain' });
  });

  test('keeps its other settings, and becomes the default if there is none', async () => {
    const first = await startAttempt({ flags: { profile: 'night' } });
    await first.keep();
    expect(first.said[1]).toBe('notice:   profile   night, which commands without --profile use from now on');
    const file = path.join(home.folder, 'config', 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8'));
    config.profiles.night.timezone = 'Europe/Berlin';
    await writeFile(file, JSON.stringify(config));
    const again = await startAttempt({ flags: { profile: 'night', vendor: 'other' } });
    await again.keep();
    const other = await startAttempt({ flags: { profile: 'day' } });
    await other.keep();
    expect([again.said[1], other.said[1]]).toEqual(['notice:   profile   night', 'notice:   profile   day']);
    expect(await other.config()).toEqual({
      version: 1,
      profile: 'night',
      profiles: { night: { ...SAVED, vendor: 'other', timezone: 'Europe/Berlin' }, day: SAVED },
    });
  });

  test('that follows a deleted default becomes the default', async () => {
    const file = path.join(home.folder, 'config', 'config.json');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, '{"version":1,"profile":"gone","profiles":{}}');
    const at = await startAttempt({ flags: { profile: 'night' } });
    await at.keep();
    expect((await at.config()).profile).toBe('night');
  });

  test('does not become the default while there is one of that name', async () => {
    const file = path.join(home.folder, 'config', 'config.json');
    await mkdir(path.dirname(file), { recursive: true });
    // As it is after the profile of commands without --profile was deleted.
    await writeFile(file, '{"version":1,"profiles":{"default":{"vendor":"acme"}}}');
    const at = await startAttempt({ flags: { profile: 'night' } });
    await at.keep();
    expect((await at.config()).profile).toBe(undefined);
  });

  test('has the file of the key that was made for it', async () => {
    const at = await startAttempt();
    at.context.memory.keyFile = '/home/.hooktrail.key';
    await at.keep();
    expect((await at.config()).profiles['default']).toEqual({
      ...SAVED,
      'passphrase-file': '/home/.hooktrail.key',
    });
    expect(at.said.at(-1)).toBe('notice:   key       /home/.hooktrail.key');
  });
});

describe('the summary of a sign-in', () => {
  test('names its places and the end of its token', async () => {
    const at = await startAttempt();
    await at.keep();
    expect(at.said).toEqual([
      'success: Signed in at https://id.example',
      'notice:   profile   default',
      'notice:   service   https://events.example/v1',
      'notice:   token     for 30 minutes, renewed when needed',
      'notice:   secrets   /the/vault',
    ]);
  });

  test('names how the client proves itself, if not by its secret', async () => {
    const at = await startAttempt({ proof: { method: 'none' } });
    await at.keep();
    expect(at.said).toContain('notice:   client    client, a public client, without a secret');
    expect(at.stored[0]).toMatchObject({ client: 'none' });
  });

  test.each<[string, Partial<Grant['access']>, Partial<Grant>, string]>([
    ['event_api offline_access', { expiresAt: undefined }, {}, 'of unknown lifetime, renewed when needed'],
    ['event_api offline_access', { expiresAt: 1 }, {}, 'for 0 seconds, renewed when needed'],
    [
      'event_api offline_access',
      {},
      { refreshToken: undefined },
      'for 30 minutes, then sign in again (no refresh token was granted)',
    ],
    [
      'event_api',
      {},
      { refreshToken: undefined },
      'for 30 minutes, then sign in again (no refresh token was asked for by --scope)',
    ],
  ])('with the scopes %s, %j and %j: the token lasts %s', async (scope, access, more, text) => {
    const at = await startAttempt({ flags: { scope } });
    await at.keep({ ...granted, access: { ...granted.access, ...access }, ...more });
    expect(at.said).toContain(`notice:   token     ${text}`);
  });

  test.each<[string | undefined, string | undefined, string | undefined]>([
    [undefined, undefined, undefined],
    ['event_api', 'a refresh token', undefined],
    ['event_api', undefined, 'offline_access'],
    ['offline_access', undefined, 'event_api'],
    ['', 'a refresh token', 'event_api'],
    ['', undefined, 'event_api offline_access'],
  ])(
    'with the scopes %j granted and the refresh token %j, %j is missing',
    async (scope, refreshToken, missing) => {
      const at = await startAttempt();
      await at.keep({ access: { ...granted.access, scope }, refreshToken });
      expect(at.said.filter((line) => line.startsWith('warning'))).toEqual(
        missing === undefined ? [] : [`warning: not granted: ${missing}`],
      );
    },
  );

  test('advises a key where nobody could type the passphrase', async () => {
    const environment = { ...home.env, HOOKTRAIL_PASSPHRASE: undefined };
    const at = await startAttempt({ context: { environment } });
    await at.keep();
    expect(at.said.at(-1)).toBe(
      'notice: Commands ask for the passphrase. Where nobody can type it, seal the file with a key (`hooktrail keygen --help`), or save a file that has the passphrase: `hooktrail config set passphrase-file PATH`.',
    );
    const keychain = await startAttempt({ context: { environment }, flags: { store: 'keychain' } });
    await keychain.keep();
    expect(keychain.said.at(-1)).toBe('notice:   secrets   /the/vault');
  });

  test('of the client itself says what it is given', async () => {
    const at = await startAttempt();
    const secrets = { clientSecret: 's', access: granted.access, grant: 'client_credentials' } as const;
    await keepSignIn(secrets, at.setup, at.attempt, { asked: ['event_api'], after: 'renewed when needed' });
    expect(at.stored).toEqual([{ ...secrets, issuer: 'https://id.example' }]);
    expect(at.said.at(-1)).toBe('notice:   secrets   /the/vault');
  });
});

describe('what was typed into a failed sign-in', () => {
  test('is saved, with the store that was chosen', async () => {
    const at = await startAttempt({ typed: { vendor: 'typed', clientId: 'other' } });
    await saveTyped(at.attempt);
    expect((await at.config()).profiles).toEqual({
      default: { store: 'file', vendor: 'typed', 'client-id': 'other' },
    });
    expect(at.said).toEqual([
      "notice: your answers are saved in the profile 'default', except the client secret; flags such as --client-id change them",
    ]);
  });

  test('leaves the store of the profile as it is if none was chosen, as the sign-in there would be lost', async () => {
    const first = await startAttempt();
    await first.keep();
    const at = await startAttempt({ flags: { store: undefined as never }, typed: { vendor: 'typed' } });
    await saveTyped(at.attempt);
    expect((await at.config()).profiles).toEqual({ default: { ...SAVED, vendor: 'typed' } });
  });

  test('is nothing if nobody was asked', async () => {
    const at = await startAttempt();
    await saveTyped(at.attempt);
    expect([at.said, existsSync(path.join(home.folder, 'config', 'config.json'))]).toEqual([[], false]);
  });

  test('is given up silently where it cannot be saved', async () => {
    const at = await startAttempt({ typed: { vendor: 'typed' } });
    await mkdir(path.join(home.folder, 'config', 'config.json'), { recursive: true });
    await saveTyped(at.attempt);
    expect(at.said).toEqual([]);
  });
});
