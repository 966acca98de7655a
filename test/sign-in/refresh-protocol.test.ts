import { createHash } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import { TransportError } from '../../src/http/transport.ts';
import { takeLock } from '../../src/lock/lock.ts';
import { describeSelf, type HolderCondition } from '../../src/lock/lock-file.ts';
import type { AccessToken, Secrets, Vault } from '../../src/secrets/vault.ts';
import { resolveSettings } from '../../src/settings/settings.ts';
import { NEW_SIGN_IN } from '../../src/sign-in/provider-failure.ts';
import { refreshSignIn, refreshUnderLock } from '../../src/sign-in/refresh.ts';
import { RefusalNote } from '../../src/sign-in/refusal-note.ts';
import { BOUND } from '../../src/sign-in/session.ts';
import { abandonedMark } from '../../src/sign-in/spending-mark.ts';
import { advising } from '../support/advice.ts';
import { clock, clockWith, NOON } from '../support/clock.ts';
import { createContext, thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

// A refusal is noted in its cache.
const home = forEachTest(createHome);

const flags = { authUrl: 'https://id.example', baseUrl: 'https://events.example', clientId: 'client' };
const granted = { access_token: 'new-access', refresh_token: 'new', expires_in: 1800, token_type: 'Bearer' };

const old = { refreshToken: 'old', clientSecret: 'secret' };
const theirs = { refreshToken: 'theirs', clientSecret: 'secret' };
const binding = { profile: 'default', authUrl: '', clientId: '', serviceOrigin: '' };
const settings = resolveSettings(flags, {}, { version: 1, profiles: {} }, BOUND);

interface Parts {
  readonly stored?: Secrets | undefined;
  /** The answers of the lock, in order; it is held after them. */
  readonly held?: readonly (boolean | Error)[];
  readonly environment?: Record<string, string>;
  readonly holdOff?: () => () => void;
  /** As the lock knows it, of whoever has left a mark. */
  readonly condition?: HolderCondition;
}

const holder = { pid: 1, hostname: 'here', nonce: 'this' };

/** Whoever waits for another process looks hundreds of times. */
const sleepless = clockWith({
  sleep: async (milliseconds) => {
    await setImmediate();
    clock.advance(milliseconds);
  },
});

/** Runs the protocol with a store and a provider that record what happens, in order. */
function scene(answers: (object | Error)[], parts: Parts = {}) {
  const events: string[] = [];
  const held = [...(parts.held ?? [])];
  let stored = 'stored' in parts ? parts.stored : old;
  const vault: Vault = {
    kind: 'file',
    place: 'here',
    probe: async () => void events.push('probe'),
    read: async () => {
      events.push('read');
      return stored;
    },
    write: async (secrets) => {
      events.push(`${secrets.spending ? 'mark' : 'write'} ${secrets.refreshToken} ${secrets.access?.token}`);
      stored = secrets;
    },
    rescue: async (secrets) => {
      events.push(`rescue ${secrets.refreshToken} ${secrets.access?.token}`);
      return '/elsewhere/file';
    },
  };
  const clientSecrets: (string | null)[] = [];
  /** Called for each request before its answer. */
  const during = { request: () => {} };
  const send = async ({ body }: HttpRequest): Promise<HttpResponse> => {
    const form = new URLSearchParams(String(body));
    events.push(`post ${form.get('refresh_token')}`);
    clientSecrets.push(form.get('client_secret'));
    during.request();
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    const status = answer && 'error' in answer ? 400 : 200;
    return {
      status,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(answer)),
    };
  };
  const traces: string[] = [];
  const warnings: string[] = [];
  const { environment = {}, holdOff } = parts;
  const context = createContext({
    environment: { ...home.env, ...environment },
    clock: sleepless,
    ...(holdOff ? { holdOff } : {}),
  });
  const refreshParts = {
    refusal: new RefusalNote(binding, context),
    vault,
    context,
    reporter: {
      trace: (text: string) => void traces.push(text),
      warning: (text: string, { kind = '' } = {}) => void warnings.push(`${kind}: ${text}`),
    },
    serves: (access: AccessToken) => access.token.startsWith('good'),
    lasts: (access: AccessToken) => access.token === 'lasting',
  };
  const transport = { send, close: async () => undefined };
  const isStillHeld = async () => {
    const isHeld = held.shift() ?? true;
    if (isHeld instanceof Error) throw isHeld;
    return isHeld;
  };
  const conditionOf = async (): Promise<HolderCondition> => parts.condition ?? 'dead';
  const lock = { holder, conditionOf, isStillHeld };
  return {
    events,
    clientSecrets,
    vault,
    lock,
    context,
    during,
    refreshParts,
    refusal: refreshParts.refusal,
    traces,
    warnings,
    run: () => refreshUnderLock(refreshParts, { settings, transport, clock, advice: NEW_SIGN_IN }, lock),
    store: (secrets: Secrets | undefined) => {
      stored = secrets;
    },
    stored: () => stored,
  };
}

/** The error of a sign-in that has ended. */
const ended = {
  exitCode: 4,
  message: 'the sign-in has ended: the identity provider does not accept the refresh token',
  details: ['error: invalid_grant'],
  next: advising('run `hooktrail login`'),
};

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const lost = () => new TransportError('broken', 'the connection broke');

test('the store is proved writable before the token is spent, and written before anything else', async () => {
  const { events, run, stored, traces } = scene([granted]);
  const access = { token: 'new-access', expiresAt: NOON + 1_800_000 };
  expect(await run()).toEqual(access);
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'post old', 'write new new-access']);
  expect(stored()).toEqual({ refreshToken: 'new', clientSecret: 'secret', access });
  expect(traces).toEqual(['refreshing the access token']);
});

test('without a stored sign-in nothing is sent', async () => {
  const { events, run } = scene([], { stored: undefined });
  expect(await run()).toBe(undefined);
  expect(events).toEqual(['read']);
});

test('interrupts are held off from before the request until the new tokens are stored', async () => {
  const held: string[][] = [];
  const { events, run } = scene([lost(), granted], {
    holdOff: () => {
      held.push([...events]);
      return () => void held.push([...events]);
    },
  });
  await run();
  expect(held.map((before) => before.at(-1))).toEqual(['probe', 'read', 'read', 'write new new-access']);
});

test.each([
  [{ HOOKTRAIL_CLIENT_SECRET: 'given' }, 'given'],
  [{}, 'secret'],
])('with %j and the stored client secret, the secret %j is sent', async (environment, sent) => {
  const { clientSecrets, run } = scene([granted], { environment });
  await run();
  expect(clientSecrets).toEqual([sent]);
});

test('the scopes stay those that were granted, until an answer names others', async () => {
  const access = { token: 'ended', scope: 'granted' };
  for (const [scope, kept] of [
    [undefined, 'granted'],
    ['other', 'other'],
  ]) {
    const { run } = scene([{ ...granted, scope }], { stored: { ...old, access } });
    expect(await run()).toMatchObject({ scope: kept });
  }
});

test('if the store cannot be written, no token is spent', async () => {
  const { events, vault, run } = scene([granted]);
  vault.probe = () => Promise.reject(new Error('read-only file system'));
  await expect(run()).rejects.toThrow('read-only file system');
  expect(events).toEqual(['read']);
});

test('a token that another process stored meanwhile is used, and one that cannot be renewed while it lasts', async () => {
  for (const stored of [{ ...old, access: { token: 'good' } }, { access: { token: 'lasting' } }]) {
    const { events, run } = scene([], { stored });
    expect(await run()).toEqual(stored.access);
    expect(events).toEqual(['read']);
  }
  const { run } = scene([granted], { stored: { ...old, access: { token: 'lasting' } } });
  expect((await run())?.token).toBe('new-access');
});

test('a process that lost the lock while suspended spends nothing', async () => {
  const { events, run } = scene([granted], { held: [false] });
  await expect(run()).rejects.toMatchObject({
    exitCode: 1,
    message: 'another process took over refreshing the sign-in',
    next: 'run the command again',
  });
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'read', 'write old undefined']);
});

test('after a lost answer the store is checked, and the same token is tried once more', async () => {
  const { events, run, traces } = scene([lost(), granted]);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual([
    'read',
    'probe',
    'mark old undefined',
    'post old',
    'read',
    'post old',
    'write new new-access',
  ]);
  expect(traces).toEqual([
    'refreshing the access token',
    'the answer was lost: trying once more',
    'refreshing the access token',
  ]);
});

test('after two lost answers the refresh fails, which is not noted as a refusal', async () => {
  const { events, run, refusal } = scene([lost(), lost(), granted]);
  await expect(run()).rejects.toMatchObject({
    exitCode: 5,
    message: 'the identity provider could not be reached: the connection broke',
  });
  expect(refusal.exists).toBe(false);
  expect(events).toEqual([
    ...['read', 'probe', 'mark old undefined', 'post old', 'read', 'post old', 'read'],
    ...['read', 'write old undefined'],
  ]);
});

test('a refusal after a lost answer names the loss', async () => {
  const { run } = scene([lost(), { error: 'invalid_grant' }]);
  await expect(run()).rejects.toMatchObject({
    message: 'the sign-in has ended: the identity provider does not accept the refresh token',
    details: [
      'error: invalid_grant',
      'the answer to the previous request was lost, and with it the new refresh token',
    ],
  });
});

test('a request that was never sent is not repeated', async () => {
  const { events, run } = scene([new TransportError('refused', 'nobody there'), granted]);
  await expect(run()).rejects.toMatchObject({ exitCode: 5 });
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'post old', 'read', 'write old undefined']);
});

test('after invalid_grant a token that was stored meanwhile is used, without deleting anything', async () => {
  const { events, during, run, store } = scene([{ error: 'invalid_grant' }]);
  during.request = () => store({ ...theirs, access: { token: 'good' } });
  expect((await run())?.token).toBe('good');
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'post old', 'read']);
});

test('after a refusal that names no error a token that was stored meanwhile is used', async () => {
  const { during, run, store } = scene([{ error: undefined }]);
  during.request = () => store({ ...theirs, access: { token: 'good' } });
  expect((await run())?.token).toBe('good');
});

test('a refusal that names no error is not noted', async () => {
  const { run } = scene([{ error: undefined }, granted]);
  await expect(run()).rejects.toMatchObject({
    exitCode: 4,
    message: 'refreshing the sign-in was refused by the identity provider (400)',
  });
  expect((await run())?.token).toBe('new-access');
});

test('after invalid_grant a refresh token that was stored meanwhile is spent', async () => {
  const { events, during, run, store, traces } = scene([{ error: 'invalid_grant' }, granted]);
  during.request = () => store(theirs);
  expect((await run())?.token).toBe('new-access');
  expect(events.slice(3)).toEqual([
    ...['post old', 'read', 'mark theirs undefined', 'post theirs', 'write new new-access'],
  ]);
  expect(traces[1]).toBe('another process stored a new refresh token');
});

test('a token that other processes replace again and again is sent three times', async () => {
  const { events, during, run, store } = scene(Array(4).fill({ error: 'invalid_grant' }));
  let count = 0;
  during.request = () => store({ ...old, refreshToken: `theirs ${++count}` });
  await expect(run()).rejects.toMatchObject({ exitCode: 4 });
  expect(events.filter((event) => !/^(read|mark|write)/.test(event))).toEqual([
    'probe',
    'post old',
    'post theirs 1',
    'post theirs 2',
  ]);
});

test.each([
  ['refused', { error: 'invalid_grant' }],
  ['lost', lost()],
])('a token that took the place of a %s one is sent again if its answer is lost', async (_name, first) => {
  const { events, during, run, store } = scene([first, lost(), granted]);
  during.request = () => {
    during.request = () => undefined;
    store(theirs);
  };
  expect((await run())?.token).toBe('new-access');
  expect(events.filter((event) => event.startsWith('post'))).toEqual([
    'post old',
    'post theirs',
    'post theirs',
  ]);
});

test('after invalid_grant without a newer token the sign-in has ended', async () => {
  const { events, run } = scene([{ error: 'invalid_grant' }, granted]);
  await expect(run()).rejects.toMatchObject(ended);
  expect(events).toEqual([
    ...['read', 'probe', 'mark old undefined', 'post old', 'read', 'read', 'write old undefined'],
  ]);
});

test('after invalid_grant in a run whose sign-in another process removed, the sign-in has ended', async () => {
  for (const left of [undefined, {}]) {
    const { during, run, store, refusal } = scene([{ error: 'invalid_grant' }, granted]);
    during.request = () => store(left);
    await expect(run()).rejects.toMatchObject(ended);
    await rm(refusal.file);
  }
});

test('a refused token is not sent again for a minute, of a clock that was not set back', async () => {
  const { events, run } = scene([{ error: 'invalid_grant' }, { error: 'invalid_grant' }, granted]);
  const posts = () => events.filter((event) => event.startsWith('post')).length;
  await expect(run()).rejects.toMatchObject(ended);
  for (const later of [0, 59_999]) {
    clock.set(NOON + later);
    await expect(run()).rejects.toMatchObject(ended);
    expect(posts()).toBe(1);
  }
  clock.set(NOON + 60_000);
  await expect(run()).rejects.toMatchObject(ended);
  expect(posts()).toBe(2);
  clock.set(NOON + 59_999);
  expect((await run())?.token).toBe('new-access');
});

test('a refusal is that of one token of one sign-in, and a file of it that is damaged is none', async () => {
  const { context, run, refusal } = scene([{ error: 'invalid_grant' }]);
  await expect(run()).rejects.toMatchObject(ended);
  const noted = { token: sha256('old'), of: 'sign-in', at: NOON, details: ['error: invalid_grant'] };
  expect(refusal.read({ refreshToken: 'old' })).toEqual(noted);
  expect(refusal.read({ refreshToken: 'new' })).toBe(undefined);
  expect(refusal.read({})).toBe(undefined);
  expect(new RefusalNote({ ...binding, profile: 'other' }, context).read({ refreshToken: 'old' })).toBe(
    undefined,
  );
  for (const damaged of [{ ...noted, at: 'noon' }, { ...noted, details: null }, null]) {
    await writeFile(refusal.file, JSON.stringify(damaged));
    expect(refusal.read({ refreshToken: 'old' })).toBe(undefined);
  }
});

test('of an answer that cannot be used, a new refresh token is stored, and nothing without one', async () => {
  for (const [refresh_token, writes] of [
    ['new', ['write new undefined']],
    [undefined, ['write old undefined']],
  ] as const) {
    const { events, run, stored } = scene([{ ...granted, refresh_token, token_type: 'mac' }]);
    await expect(run()).rejects.toMatchObject({ exitCode: 1 });
    expect(events.filter((event) => event !== 'read').slice(3)).toEqual(writes);
    expect(stored()).toEqual({ refreshToken: refresh_token ?? 'old', clientSecret: 'secret' });
  }
});

test('without a refresh token nothing is sent', async () => {
  const { run } = scene([], { stored: { clientSecret: 'secret', access: { token: 'ended' } } });
  await expect(run()).rejects.toMatchObject({
    exitCode: 4,
    message: 'the sign-in has ended, and it came without a refresh token',
    details: ['a sign-in lasts when the scopes include offline_access and the identity provider grants it'],
  });
});

const noRoom = () => new UsageError('secrets cannot be written to here: ENOSPC', { next: 'free some space' });

/** Lets so many writes fail, from the request on. */
function failing({ vault, during }: Pick<ReturnType<typeof scene>, 'vault' | 'during'>, times: number): void {
  const { write } = vault;
  let failed = 0;
  during.request = () => {
    vault.write = async (secrets) => {
      if (failed++ < times) throw noRoom();
      await write(secrets);
    };
  };
}

test('a disk that fails for a moment after the rotation loses nothing, and is not read', async () => {
  const { events, vault, during, run, warnings } = scene([granted]);
  failing({ vault, during }, 4);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'post old', 'write new new-access']);
  expect(warnings).toEqual([]);
});

test('if the store keeps failing, the new tokens go to another folder, and the user is told', async () => {
  const { events, vault, during, run, warnings } = scene([granted]);
  failing({ vault, during }, 100);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'post old', 'rescue new new-access']);
  expect(warnings).toEqual([
    'sign-in: the new tokens could not be stored in here; they are kept, encrypted, in /elsewhere/file, where the next command finds them',
  ]);
});

test('if the new tokens cannot be stored anywhere, the error says that the sign-in is lost', async () => {
  const { events, during, vault, run } = scene([granted]);
  vault.rescue = () => Promise.reject(noRoom());
  failing({ vault, during }, 100);
  await expect(run()).rejects.toMatchObject({
    exitCode: 4,
    message:
      'the sign-in is lost: the identity provider exchanged the stored tokens for new ones, which could not be stored',
    details: ['secrets cannot be written to here: ENOSPC'],
    next: advising('free some space; then run `hooktrail login`'),
  });
  // The mark stays: the token is spent.
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'post old', 'read']);
});

test('tokens that are stored although the store reported an error are not reported as lost', async () => {
  const { vault, during, run, warnings } = scene([granted]);
  const { write } = vault;
  during.request = () => {
    vault.write = async (secrets) => {
      await write(secrets);
      throw noRoom();
    };
  };
  vault.rescue = () => Promise.reject(noRoom());
  expect((await run())?.token).toBe('new-access');
  expect(warnings).toEqual([
    'sign-in: the new tokens are stored, but a loss of power could still lose them: secrets cannot be written to here: ENOSPC',
  ]);
});

test('without a new refresh token nothing is lost if the access token cannot be stored', async () => {
  const { vault, during, run, warnings } = scene([{ ...granted, refresh_token: undefined }]);
  failing({ vault, during }, 100);
  vault.rescue = () => Promise.reject(noRoom());
  expect((await run())?.token).toBe('new-access');
  expect(warnings).toEqual([
    'sign-in: the new access token could not be stored, so the next command asks for another: secrets cannot be written to here: ENOSPC',
  ]);
});

test('a process that lost the lock during the request does not overwrite a newer token', async () => {
  const { events, during, run, store } = scene([granted], { held: [true, false] });
  during.request = () => store(theirs);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'probe', 'mark old undefined', 'post old', 'read']);
});

test.each<[string, (boolean | Error)[], Secrets | undefined, string[]]>([
  ['it lost the lock, and nobody stored another', [true, false], old, ['read']],
  ['it lost the lock, and the sign-in is gone', [true, false], undefined, ['read']],
  ['it cannot tell whether it holds the lock', [true, new Error('disk')], theirs, []],
])('a new token is stored if %s', async (_name, held, found, reads) => {
  const { events, during, run, store } = scene([granted], { held });
  during.request = () => store(found);
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual([
    'read',
    'probe',
    'mark old undefined',
    'post old',
    ...reads,
    'write new new-access',
  ]);
});

const mark = { token: sha256('old'), holder: { pid: 7, hostname: 'there', nonce: 'other' }, since: NOON };

test('a token that a process marked and did not replace is not sent again', async () => {
  const { events, run } = scene([granted], { stored: { ...old, spending: mark } });
  await expect(run()).rejects.toMatchObject({
    exitCode: 4,
    message:
      'the sign-in may be lost: process 7 on there sent its refresh token at 2026-11-20T12:00:00.000Z, and stored no new one',
    details: ['that process has ended', 'a refresh token works once, so it is not sent again'],
    next: advising('run `hooktrail login`'),
  });
  expect(events).toEqual(['read', 'read']);
});

test('the successor that a process stores right before it ends is used', async () => {
  const { events, lock, run, store } = scene([], { stored: { ...old, spending: mark } });
  lock.conditionOf = async () => {
    store({ ...theirs, access: { token: 'good' } });
    return 'dead';
  };
  expect((await run())?.token).toBe('good');
  expect(events).toEqual(['read', 'read', 'read']);
});

test.each([
  ['cannot be seen', 'unknown'],
  ['runs', 'running'],
  ['is suspended', 'suspended'],
] as const)(
  'the successor of a token that a process which %s is spending is waited for',
  async (_, condition) => {
    const { events, vault, run, store } = scene([], { stored: { ...old, spending: mark }, condition });
    const { read } = vault;
    vault.read = async () => {
      if (events.push('look') === 11) store({ ...theirs, access: { token: 'good' } });
      return await read();
    };
    expect((await run())?.token).toBe('good');
    expect(events.filter((event) => event.startsWith('post'))).toEqual([]);
  },
);

test.each([
  ['unknown', 20_000, 4, /^the sign-in may be lost: process 7 on there /],
  [
    'running',
    150_000,
    1,
    /^another hooktrail process \(7\) has been refreshing the sign-in for more than 150 s$/,
  ],
] as const)(
  'a process that is %s is waited for no longer than %s ms',
  async (condition, ms, exitCode, message) => {
    const { events, run } = scene([granted], { stored: { ...old, spending: mark }, condition });
    const next =
      condition === 'running'
        ? 'wait for process 7, or end it'
        : advising('run the command again if that process still runs; otherwise run `hooktrail login`');
    await expect(run()).rejects.toMatchObject({ exitCode, message: expect.stringMatching(message), next });
    expect(clock.now()).toBe(NOON + ms);
    expect(events.filter((event) => event !== 'read')).toEqual([]);
  },
);

test('an old mark of a process that cannot be seen is not waited for', async () => {
  const spending = { ...mark, since: NOON - 150_001 };
  const { events, run } = scene([granted], { stored: { ...old, spending }, condition: 'unknown' });
  await expect(run()).rejects.toMatchObject({
    exitCode: 4,
    details: [
      'whether that process still runs cannot be seen from here',
      'a refresh token works once, so it is not sent again',
    ],
  });
  expect(events).toEqual(['read', 'read']);
});

test('a token that serves is used at once, whoever is spending the refresh token', async () => {
  const stored = { ...old, spending: mark, access: { token: 'good' } };
  const { events, run } = scene([], { stored, condition: 'running' });
  expect((await run())?.token).toBe('good');
  expect(events).toEqual(['read']);
});

test('a sign-in that is deleted while its process is looked at is not lost', async () => {
  const { lock, run, store } = scene([], { stored: { ...old, spending: mark } });
  lock.conditionOf = async () => {
    store(undefined);
    return 'dead';
  };
  expect(await run()).toBe(undefined);
});

test('the error names no host for a process of this one', async () => {
  const spending = { ...mark, holder: { ...mark.holder, hostname: thisMachine().hostname } };
  const { run } = scene([granted], { stored: { ...old, spending } });
  await expect(run()).rejects.toMatchObject({
    message: expect.stringMatching(/^the sign-in may be lost: process 7 sent its refresh token at /),
  });
});

test('an old mark of a process that runs is waited for', async () => {
  const spending = { ...mark, since: NOON - 150_001 };
  const { run } = scene([granted], { stored: { ...old, spending }, condition: 'running' });
  await expect(run()).rejects.toMatchObject({ exitCode: 1, next: 'wait for process 7, or end it' });
});

test('a token that yet another process has marked since is not lost', async () => {
  const { lock, run, store } = scene([], { stored: { ...old, spending: mark } });
  const conditions: HolderCondition[] = ['dead', 'running'];
  lock.conditionOf = async () => {
    store(
      conditions.length === 2
        ? { ...old, spending: { ...mark, holder: { ...mark.holder, nonce: 'third' } } }
        : { ...theirs, access: { token: 'good' } },
    );
    return conditions.shift() ?? 'dead';
  };
  expect((await run())?.token).toBe('good');
});

test('a mark counts as left behind if its process, which cannot be seen, had time to finish', async () => {
  const stored = { ...old, spending: mark };
  const { vault, context } = scene([], { stored });
  const found = () => abandonedMark(stored, vault, context);
  clock.set(NOON + 150_000);
  expect(await found()).toBe(undefined);
  clock.set(NOON + 150_001);
  expect(await found()).toEqual(mark);
  expect(await abandonedMark(stored, { ...vault, read: async () => theirs }, context)).toBe(undefined);
  expect(await abandonedMark({ ...theirs, spending: mark }, vault, context)).toBe(undefined);
  expect(await abandonedMark(undefined, vault, context)).toBe(undefined);
});

test('a mark from before a restart was left behind, unless machines of the same name can share the store', async () => {
  const self = await describeSelf(thisMachine());
  const stored = { ...old, spending: { ...mark, holder: { ...self, boot: 'another' } } };
  const { vault, context } = scene([], { stored });
  expect(await abandonedMark(stored, { ...vault, kind: 'keychain' }, context)).toEqual(stored.spending);
  expect(await abandonedMark(stored, { ...vault, kind: 'file' }, context)).toBe(undefined);
});

test('a client gets another token without spending one, and a refusal of the client is noted', async () => {
  const stored = { grant: 'client_credentials', clientSecret: 'secret', access: { token: 'old' } } as const;
  const { refresh_token: _, ...answer } = granted;
  const { events, run, traces } = scene([answer], { stored });
  expect((await run())?.token).toBe('new-access');
  expect(events).toEqual(['read', 'post null', 'write undefined new-access']);
  expect(traces).toEqual(['asking for another access token as the client']);
  const refused = scene([{ error: 'unauthorized_client' }], { stored });
  await expect(refused.run()).rejects.toMatchObject({ exitCode: 4 });
  expect(refused.refusal.read(stored)).toMatchObject({ of: 'client', at: NOON });
  const broken = scene(Array(3).fill(lost()), { stored });
  refused.refusal.remove();
  await expect(broken.run()).rejects.toMatchObject({ exitCode: 5 });
  expect(broken.refusal.exists).toBe(false);
});

test('the note of a refusal is removed by the next renewal', async () => {
  const { run, refusal } = scene([{ error: 'invalid_grant' }, granted]);
  await expect(run()).rejects.toMatchObject(ended);
  expect(refusal.exists).toBe(true);
  clock.set(NOON + 60_000);
  await run();
  expect(refusal.exists).toBe(false);
});

test('a mark of another token is none', async () => {
  const { run, stored } = scene([granted], { stored: { ...theirs, spending: mark } });
  expect((await run())?.token).toBe('new-access');
  expect(stored()).not.toHaveProperty('spending');
});

/** Refreshes as a command does, with a lock on the disk and a provider that cannot be reached. */
function refreshing({ context, refreshParts }: ReturnType<typeof scene>, place: { folder?: string } = {}) {
  const machine = { ...thisMachine(), userHome: home.folder };
  const onDisk = { ...context, clock, machine };
  const nobody = { ...settings, authUrl: new URL('http://127.0.0.1:9') };
  const reporter = { ...refreshParts.reporter } as never;
  const parts = { ...refreshParts, context: onDisk, reporter };
  const refreshed = async () => await refreshSignIn(nobody, { name: 'the sign-in', place }, parts);
  return { context: onDisk, end: () => refreshed().catch((error: Error) => error.message) };
}

const unreachable = expect.stringContaining('the identity provider could not be reached');

/** Refreshes while another process holds the lock, which `meanwhile` ends with. */
async function waiting(meanwhile: Secrets | undefined) {
  const staged = scene([]);
  const { context, end } = refreshing(staged);
  const other = await takeLock('the sign-in', context);
  const refreshed = end();
  await clock.slept();
  staged.store(meanwhile);
  await other.release();
  const found = await refreshed;
  const locks = path.join(home.folder, '.hooktrail', 'locks');
  const [folder = ''] = await readdir(locks);
  return { end: found, numbers: await readdir(path.join(locks, folder)) };
}

test('a token that a process stored under the lock is used without taking the lock', async () => {
  const { end, numbers } = await waiting({ refreshToken: 'new', access: { token: 'good' } });
  expect(end).toEqual({ token: 'good' });
  expect(numbers).toEqual(['1.lock']);
});

test('after a process that stored no token that serves, the lock is taken', async () => {
  for (const left of [old, { ...old, access: { token: 'ended' } }])
    expect((await waiting(left)).end).toEqual(unreachable);
  expect((await waiting(undefined)).end).toBe(undefined);
});

/** Refreshes while other processes take the lock over, that many times, right before the token is sent. */
async function overtaken(times: number, meanwhile: Secrets = old) {
  const staged = scene([]);
  const { events, vault, store } = staged;
  const folder = path.join(home.folder, 'shared-locks');
  const { write } = vault;
  let count = 0;
  vault.write = async (secrets) => {
    await write(secrets);
    if (!secrets.spending || count === times) return;
    count++;
    // The state of a lock that another process has taken and released.
    await writeFile(path.join(folder, `${2 * count}.lock`), 'R');
    store(meanwhile);
  };
  const end = await refreshing(staged, { folder }).end();
  return { end, attempts: events.filter((event) => event === 'probe').length };
}

test('after a process that took over the lock, its token is used', async () => {
  const left = { ...theirs, access: { token: 'good' } };
  expect(await overtaken(1, left)).toEqual({ end: { token: 'good' }, attempts: 1 });
});

test.each([
  [1, 2, unreachable],
  [2, 3, unreachable],
  [3, 3, 'another process took over refreshing the sign-in'],
])('a lock that is taken over %i times is taken %i times', async (times, attempts, end) => {
  expect(await overtaken(times)).toEqual({ end, attempts });
});
