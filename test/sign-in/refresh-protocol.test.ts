import { afterEach, beforeEach, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import { TransportError } from '../../src/http/transport.ts';
import type { Secrets, Vault } from '../../src/secrets/vault.ts';
import { resolveSettings } from '../../src/settings/settings.ts';
import { refreshUnderLock } from '../../src/sign-in/refresh.ts';
import { BOUND } from '../../src/sign-in/session.ts';
import { NEW_SIGN_IN } from '../../src/sign-in/token-endpoint.ts';
import { createContext } from '../support/context.ts';
import { createHome, type Home } from '../support/home.ts';

// A refusal is noted in its cache.
let home: Home;
beforeEach(async () => {
  home = await createHome();
});
afterEach(() => home[Symbol.asyncDispose]());

const flags = { authUrl: 'https://id.example', baseUrl: 'https://events.example', clientId: 'client' };
const granted = { access_token: 'new-access', refresh_token: 'new', expires_in: 1800, token_type: 'Bearer' };

/** Runs the protocol with a store and a provider that record what happens, in order. */
function scene(answers: (object | Error)[], parts: { stored?: Secrets; held?: boolean[] } = {}) {
  const events: string[] = [];
  const held = [...(parts.held ?? [])];
  let stored: Secrets | undefined = parts.stored ?? { refreshToken: 'old', clientSecret: 'secret' };
  const vault: Vault = {
    kind: 'file',
    place: 'here',
    probe: async () => void events.push('probe'),
    read: async () => {
      events.push('read');
      return stored;
    },
    write: async (secrets) => {
      events.push(`write ${secrets.refreshToken} ${secrets.access?.token}`);
      stored = secrets;
    },
    rescue: async (secrets) => {
      events.push(`rescue ${secrets.refreshToken} ${secrets.access?.token}`);
      return '/elsewhere/file';
    },
  };
  const send = async ({ body }: HttpRequest): Promise<HttpResponse> => {
    events.push(`post ${new URLSearchParams(String(body)).get('refresh_token')}`);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    const status = answer && 'error' in answer ? 400 : 200;
    return {
      status,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(answer)),
    };
  };
  const warnings: string[] = [];
  const context = createContext({ environment: home.env });
  const run = () =>
    refreshUnderLock(
      {
        binding: { profile: 'default', authUrl: '', clientId: '', serviceOrigin: '' },
        vault,
        context,
        reporter: { trace: () => undefined, warning: (text) => void warnings.push(text) },
        serves: (access) => access.token.startsWith('good'),
        lasts: () => false,
      },
      {
        settings: resolveSettings(flags, {}, { version: 1, profiles: {} }, BOUND),
        transport: { send, close: async () => undefined },
        clock: context.clock,
        advice: NEW_SIGN_IN,
      },
      { isStillHeld: async () => held.shift() ?? true },
    );
  const store = (secrets: Secrets) => {
    stored = secrets;
  };
  return { events, vault, run, store, warnings };
}

const lost = () => new TransportError('broken', 'the connection broke');

test('the store is proved writable before the token is spent, and written before anything else', async () => {
  const { events, run } = scene([granted]);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'post old', 'write new new-access']);
});

test('if the store cannot be written, no token is spent', async () => {
  const { events, vault, run } = scene([granted]);
  vault.probe = () => Promise.reject(new Error('read-only file system'));
  await expect(run()).rejects.toThrow('read-only file system');
  expect(events).toEqual(['read']);
});

test('a token that another process stored meanwhile is used', async () => {
  const { events, run } = scene([], { stored: { refreshToken: 'old', access: { token: 'good' } } });
  expect((await run())?.token).toBe('good');
  expect(events).toEqual(['read']);
});

test('a process that lost the lock while suspended spends nothing', async () => {
  const { events, run } = scene([granted], { held: [false] });
  await expect(run()).rejects.toMatchObject({ exitCode: 1, next: 'run the command again' });
  expect(events).toEqual(['read', 'probe']);
});

test('after a lost answer the store is checked, and the same token is tried once more', async () => {
  const { events, run } = scene([lost(), granted]);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'post old', 'read', 'post old', 'write new new-access']);
});

test('after two lost answers the refresh fails', async () => {
  const { events, run } = scene([lost(), lost(), granted]);
  await expect(run()).rejects.toMatchObject({ exitCode: 5 });
  expect(events).toEqual(['read', 'probe', 'post old', 'read', 'post old', 'read']);
});

test('a request that was never sent is not repeated', async () => {
  const { events, run } = scene([new TransportError('refused', 'nobody there'), granted]);
  await expect(run()).rejects.toMatchObject({ exitCode: 5 });
  expect(events).toEqual(['read', 'probe', 'post old']);
});

test('after invalid_grant a token that was stored meanwhile is used, without deleting anything', async () => {
  const { events, vault, run, store } = scene([{ error: 'invalid_grant' }]);
  const { probe } = vault;
  vault.probe = async () => {
    await probe();
    store({ refreshToken: 'theirs', clientSecret: 'secret', access: { token: 'good' } });
  };
  expect((await run())?.token).toBe('good');
  expect(events).toEqual(['read', 'probe', 'post old', 'read']);
});

test('after a refusal that names no error a token that was stored meanwhile is used', async () => {
  const { vault, run, store } = scene([{ error: undefined }]);
  vault.probe = async () =>
    store({ refreshToken: 'theirs', clientSecret: 'secret', access: { token: 'good' } });
  expect((await run())?.token).toBe('good');
});

test('after invalid_grant a refresh token that was stored meanwhile is spent', async () => {
  const { events, vault, run, store } = scene([{ error: 'invalid_grant' }, granted]);
  vault.probe = async () => store({ refreshToken: 'theirs', clientSecret: 'secret' });
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'post old', 'read', 'post theirs', 'write new new-access']);
});

test('after invalid_grant without a newer token the sign-in has ended', async () => {
  const { events, run } = scene([{ error: 'invalid_grant' }, granted]);
  await expect(run()).rejects.toMatchObject({ exitCode: 4, next: 'run `hooktrail login`' });
  expect(events).toEqual(['read', 'probe', 'post old', 'read']);
});

test('without a refresh token nothing is sent', async () => {
  const { run } = scene([], { stored: { clientSecret: 'secret', access: { token: 'ended' } } });
  await expect(run()).rejects.toMatchObject({
    exitCode: 4,
    details: [expect.stringContaining('offline_access')],
  });
});

const noRoom = () => new UsageError('secrets cannot be written to here: ENOSPC', { next: 'free some space' });

/** The number of writes that fail. */
function failing(vault: Vault, times: number): void {
  const { write } = vault;
  let failed = 0;
  vault.write = async (secrets) => {
    if (failed++ < times) throw noRoom();
    await write(secrets);
  };
}

test('a disk that fails for a moment after the rotation loses nothing, and is not read', async () => {
  const { events, vault, run, warnings } = scene([granted]);
  failing(vault, 4);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'post old', 'write new new-access']);
  expect(warnings).toEqual([]);
});

test('if the store keeps failing, the new tokens go to another folder, and the user is told', async () => {
  const { events, vault, run, warnings } = scene([granted]);
  failing(vault, 100);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'post old', 'rescue new new-access']);
  expect(warnings).toEqual([
    'the new tokens could not be stored in here; they are kept, encrypted, in /elsewhere/file, where the next command finds them',
  ]);
});

test('if the new tokens cannot be stored anywhere, the error says that the sign-in is lost', async () => {
  const { vault, run } = scene([granted]);
  failing(vault, 100);
  vault.rescue = () => Promise.reject(noRoom());
  await expect(run()).rejects.toMatchObject({
    exitCode: 4,
    message:
      'the sign-in is lost: the identity provider exchanged the stored tokens for new ones, which could not be stored',
    details: ['secrets cannot be written to here: ENOSPC'],
    next: 'free some space; then run `hooktrail login`',
  });
});

test('tokens that are stored although the store reported an error are not reported as lost', async () => {
  const { vault, run, warnings } = scene([granted]);
  const { write } = vault;
  vault.write = async (secrets) => {
    await write(secrets);
    throw noRoom();
  };
  vault.rescue = () => Promise.reject(noRoom());
  expect((await run())?.token).toBe('new-access');
  expect(warnings).toEqual([
    'the new tokens are stored, but a loss of power could still lose them: secrets cannot be written to here: ENOSPC',
  ]);
});

test('without a new refresh token nothing is lost if the access token cannot be stored', async () => {
  const { vault, run, warnings } = scene([{ ...granted, refresh_token: undefined }]);
  failing(vault, 100);
  vault.rescue = () => Promise.reject(noRoom());
  expect((await run())?.token).toBe('new-access');
  expect(warnings).toEqual([
    'the new access token could not be stored, so the next command asks for another: secrets cannot be written to here: ENOSPC',
  ]);
});

test('a process that lost the lock during the request does not overwrite a newer token', async () => {
  const { events, vault, run, store } = scene([granted], { held: [true, false] });
  const { read } = vault;
  vault.read = async () => {
    if (events.includes('post old')) store({ refreshToken: 'theirs', clientSecret: 'secret' });
    return await read();
  };
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'post old', 'read']);
});

test('a process that lost the lock during the request stores a token that nobody else has', async () => {
  const { events, run } = scene([granted], { held: [true, false] });
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'post old', 'read', 'write new new-access']);
});
