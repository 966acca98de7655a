import { rm } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Context, type Environment, emptyMemory } from '../../../src/context.ts';
import { InterruptedError } from '../../../src/errors.ts';
import { openApiTokens } from '../../../src/secrets/api-tokens.ts';
import { generateKey } from '../../../src/secrets/sealed-file.ts';
import { ExpectedToken, probeTokenStore, saveApiToken } from '../../../src/webhooks/listen/expected-token.ts';
import { advising } from '../../support/advice.ts';
import { clockWith } from '../../support/clock.ts';
import { createContext, fakeOutput, memoryKeychain, thisMachine } from '../../support/context.ts';
import { forEachTest } from '../../support/each-test.ts';
import { createHome } from '../../support/home.ts';
import { reporterTo } from '../../support/outputs.ts';

const SUBSCRIPTION = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';
const OF_PROFILE = { profile: 'default', store: 'file' } as const;
const OF_SUBSCRIPTION = { ...OF_PROFILE, subscription: SUBSCRIPTION };
type Place = typeof OF_PROFILE & { readonly subscription?: string };

const home = forEachTest(createHome);
const said: string[] = [];
beforeEach(() => void said.splice(0));

/** A process with the home of the test; each has a memory of its own. */
function inHome(environment: Environment = {}, parts: Partial<Context> = {}): Context {
  const { HOOKTRAIL_CONFIG_DIR, HOOKTRAIL_PASSPHRASE } = home.env;
  return createContext({
    environment: { HOOKTRAIL_CONFIG_DIR, HOOKTRAIL_PASSPHRASE, ...environment },
    machine: { ...thisMachine(), userHome: home.folder },
    ...parts,
  });
}

const save = (token: string, place: Place = OF_PROFILE) => saveApiToken(token, place, inHome());

async function opened(context = inHome(), place: Place = OF_PROFILE, isNew = false) {
  const call = { context, reporter: reporterTo((line) => said.push(line)) };
  const token = await ExpectedToken.open(place, isNew, call);
  onTestFinished(() => token.close());
  return token;
}

/** Parts of a process on a terminal, at which somebody types this line. */
function terminalWith(line: string): Partial<Context> & { readonly stderr: ReturnType<typeof fakeOutput> } {
  const { stdin } = createContext();
  const input = new PassThrough();
  input.end(line);
  return { stdin: { ...stdin, isTerminal: true, stream: () => input }, stderr: fakeOutput(80) };
}

const RENEWED = 'notice: another Api-Token was saved; it is expected from now on';

describe('the saved token', () => {
  test('is expected, and no other', async () => {
    await save('first');
    const token = await opened();
    expect(token.current()).toBe('first');
    for (const [given, isCurrent] of [
      ['first', true],
      ['second', false],
      ['first ', false],
      ['', false],
    ] as const)
      expect([given, await token.isCurrent(given)]).toEqual([given, isCurrent]);
    expect(said).toEqual([]);
  });

  test.each(['first', 'second'])(
    'is replaced by the one that is saved next, whichever the first delivery has: %s',
    async (given) => {
      await save('first');
      const token = await opened();
      await save('second');
      expect(await token.isCurrent(given)).toBe(given === 'second');
      expect([await token.isCurrent('first'), await token.isCurrent('second')]).toEqual([false, true]);
      expect([token.current(), said]).toEqual(['second', [RENEWED]]);
    },
  );

  test('is replaced again and again, between deliveries with it', async () => {
    await save('token-1');
    const token = await opened();
    for (const count of [2, 3, 4]) {
      await save(`token-${count}`);
      expect(await token.isCurrent(`token-${count - 1}`)).toBe(false);
      expect(await token.isCurrent(`token-${count}`)).toBe(true);
      expect(await token.isCurrent(`token-${count}`)).toBe(true);
    }
    expect(said).toEqual(Array(3).fill(RENEWED));
  });

  test('that is saved once more is no other one', async () => {
    await save('first');
    const token = await opened();
    await save('first');
    expect([await token.isCurrent('first'), said]).toEqual([true, []]);
  });

  test('that is deleted is still expected', async () => {
    await save('first');
    const token = await opened();
    await rm(openApiTokens(OF_PROFILE, inHome()).of().place);
    expect([await token.isCurrent('first'), said]).toEqual([true, []]);
  });

  test('is that of the subscription, and of no other', async () => {
    await save('of the profile');
    await save('of another', { ...OF_PROFILE, subscription: OTHER });
    await save('first', OF_SUBSCRIPTION);
    const token = await opened(inHome(), OF_SUBSCRIPTION);
    for (const place of [OF_PROFILE, { ...OF_PROFILE, subscription: OTHER }]) await save('second', place);
    expect([await token.isCurrent('second'), await token.isCurrent('first')]).toEqual([false, true]);
    await save('third', OF_SUBSCRIPTION);
    expect(await token.isCurrent('third')).toBe(true);
  });

  test('that was sealed with another key is told, and the one before is still expected', async () => {
    await save('first');
    const token = await opened();
    await saveApiToken('second', OF_PROFILE, inHome({ HOOKTRAIL_PASSPHRASE: generateKey() }));
    expect([await token.isCurrent('first'), await token.isCurrent('second')]).toEqual([true, false]);
    const { place } = openApiTokens(OF_PROFILE, inHome()).of();
    expect(said).toEqual([
      `usage: another Api-Token was saved, and cannot be read: the saved Api-Token in ${place} cannot be read`,
    ]);
    await save('third');
    expect(await token.isCurrent('third')).toBe(true);
    expect(said.slice(1)).toEqual([RENEWED]);
  });
});

describe('without a delivery', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    return () => void vi.useRealTimers();
  });

  test('the store is looked at twice a second, until the end', async () => {
    await save('first');
    const token = await opened();
    await save('second');
    vi.advanceTimersByTime(499);
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(token.current()).toBe('first');
    vi.advanceTimersByTime(1);
    await expect.poll(() => token.current()).toBe('second');
    expect(said).toEqual([RENEWED]);
    expect(vi.getTimerCount()).toBe(1);
    token.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a given token needs no look at the store', async () => {
    await opened(inHome({ HOOKTRAIL_API_TOKEN: 'given' }));
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a given token is never replaced, and no store is asked for it', async () => {
  await save('saved');
  const token = await opened(inHome({ HOOKTRAIL_API_TOKEN: 'given' }));
  await save('second');
  const answers = ['given', 'saved', 'second', ''].map((given) => token.isCurrent(given));
  expect(await Promise.all(answers)).toEqual([true, false, false, false]);
  expect([token.current(), said]).toEqual(['given', []]);
});

describe('deliveries with wrong tokens', () => {
  /** The token, and the pauses between two looks at the store, which end when the test says so. */
  async function withPauses() {
    await save('first');
    const pauses: { readonly milliseconds: number; readonly end: () => void }[] = [];
    const sleep = (milliseconds: number) =>
      new Promise<void>((end) => void pauses.push({ milliseconds, end }));
    return { token: await opened(inHome({}, { clock: clockWith({ sleep }) })), pauses };
  }

  test('share the looks at the store, of which there are ten a second at most', async () => {
    const { token, pauses } = await withPauses();
    expect(await token.isCurrent('wrong')).toBe(false);
    expect(pauses.map(({ milliseconds }) => milliseconds)).toEqual([100]);
    const flood = Array.from({ length: 20 }, (_, index) => token.isCurrent(`wrong-${index}`));
    let isAnswered = false;
    void Promise.race(flood).then(() => {
      isAnswered = true;
    });
    for (let turns = 0; turns < 20; turns++) await turn();
    expect([isAnswered, pauses.length]).toEqual([false, 1]);
    pauses[0]?.end();
    expect(await Promise.all(flood)).toEqual(Array(20).fill(false));
    expect(pauses).toHaveLength(2);
  });

  test('delay none with the right one, and none with one that is saved meanwhile is refused', async () => {
    const { token, pauses } = await withPauses();
    await token.isCurrent('wrong');
    expect(await token.isCurrent('first')).toBe(true);
    await save('second');
    const delivered = token.isCurrent('second');
    pauses[0]?.end();
    expect([await delivered, await token.isCurrent('second')]).toEqual([true, true]);
  });

  test('without any token cost no look', async () => {
    const { token, pauses } = await withPauses();
    expect([await token.isCurrent(''), pauses]).toEqual([false, []]);
  });
});

describe('a renewal whose outcome is unknown', () => {
  const noteRenewal = (subscription: string) =>
    openApiTokens(OF_PROFILE, inHome()).of(subscription).noteRenewal();

  test('is told with the command that gets another token', async () => {
    await save('first', OF_SUBSCRIPTION);
    await noteRenewal(OTHER);
    await opened(inHome(), OF_SUBSCRIPTION);
    expect(said).toEqual([]);
    await noteRenewal(SUBSCRIPTION);
    await opened(inHome(), OF_SUBSCRIPTION);
    expect(said).toEqual([
      `service: a renewal was begun, but its outcome is unknown: the saved Api-Token may be invalid; \`hooktrail subscriptions renew ${SUBSCRIPTION}\` gets another`,
    ]);
  });

  test('says nothing of a given token', async () => {
    await noteRenewal(SUBSCRIPTION);
    await opened(inHome({ HOOKTRAIL_API_TOKEN: 'given' }), OF_SUBSCRIPTION);
    expect(said).toEqual([]);
  });

  test('is over when a token is saved', async () => {
    await noteRenewal(SUBSCRIPTION);
    const { of } = openApiTokens(OF_PROFILE, inHome());
    expect(await save('second', OF_SUBSCRIPTION)).toBe(of(SUBSCRIPTION).place);
    expect([await of(SUBSCRIPTION).isInDoubt(), await of(SUBSCRIPTION).read()]).toEqual([false, 'second']);
  });
});

describe('without any token', () => {
  const message = 'the Api-Token that deliveries must carry is unknown';

  test.each([
    [OF_PROFILE, 'set HOOKTRAIL_API_TOKEN, or run the command once on a terminal with --save-token'],
    [
      OF_SUBSCRIPTION,
      `\`hooktrail subscriptions renew ${SUBSCRIPTION}\` saves one, and makes the present one invalid; or set HOOKTRAIL_API_TOKEN`,
    ],
  ])('and without a terminal nothing can be expected: %j', async (place, next) => {
    for (const isNew of [false, true])
      await expect(opened(inHome(), place, isNew)).rejects.toMatchObject({
        exitCode: 2,
        message,
        details: [],
        next: advising(next),
      });
  });

  test('a person is asked, whose line is the token without the spaces around it', async () => {
    const terminal = terminalWith(' typed \n');
    const token = await opened(inHome({}, terminal));
    expect([token.current(), await token.isCurrent('typed')]).toEqual(['typed', true]);
    expect(terminal.stderr.text).toBe('Api-Token of the subscription: \n');
  });

  test('a line that is no header value is refused', async () => {
    await expect(opened(inHome({}, terminalWith('tökén\n')))).rejects.toThrow(
      'Api-Token: invalid token: must be printable ASCII characters',
    );
  });
});

describe('to save a new token', () => {
  test('a person is asked for it although one is saved', async () => {
    await save('first');
    expect((await opened(inHome({}, terminalWith('typed\n')), OF_PROFILE, true)).current()).toBe('typed');
    expect((await opened(inHome({}, terminalWith('typed\n')))).current()).toBe('first');
  });

  test('the given one is taken, and nobody is asked', async () => {
    const context = inHome({ HOOKTRAIL_API_TOKEN: 'given' }, terminalWith('typed\n'));
    expect((await opened(context, OF_PROFILE, true)).current()).toBe('given');
  });

  test('the saved one is taken where nobody can be asked', async () => {
    await save('first');
    expect((await opened(inHome(), OF_PROFILE, true)).current()).toBe('first');
  });
});

describe('a store that cannot be read', () => {
  const another = () => ({ HOOKTRAIL_PASSPHRASE: generateKey() });

  test('is the reason for which there is no token', async () => {
    await save('first');
    const { place } = openApiTokens(OF_PROFILE, inHome()).of();
    await expect(opened(inHome(another()))).rejects.toMatchObject({
      message: 'the Api-Token that deliveries must carry is unknown',
      details: [`the saved Api-Token in ${place} cannot be read`],
      cause: expect.objectContaining({ message: `the saved Api-Token in ${place} cannot be read` }),
    });
  });

  test('matters to nobody who can type the token', async () => {
    await save('first');
    expect((await opened(inHome(another(), terminalWith('typed\n')))).current()).toBe('typed');
  });

  test('does not excuse a given token that is none', async () => {
    const context = inHome({ ...another(), HOOKTRAIL_API_TOKEN: 'tökén' }, terminalWith('typed\n'));
    await expect(opened(context)).rejects.toThrow('HOOKTRAIL_API_TOKEN: invalid token');
  });

  test('at whose passphrase somebody presses Ctrl-C ends the command', async () => {
    await save('first');
    const context = inHome({ HOOKTRAIL_PASSPHRASE: undefined }, terminalWith('typed\n'));
    const memory = { ...emptyMemory(), passphrase: Promise.reject(new InterruptedError('SIGINT')) };
    await expect(opened({ ...context, memory })).rejects.toThrow(InterruptedError);
  });
});

test('the store is tried before a token is asked for', async () => {
  const refusing = { ...memoryKeychain(), set: () => Promise.reject(new Error('denied')) };
  const machine = { ...thisMachine(), platform: 'darwin' as const, userHome: home.folder };
  const context = inHome({}, { machine, loadKeychain: async () => refusing });
  await expect(probeTokenStore({ profile: 'default', store: 'keychain' }, context)).rejects.toThrow(
    'the OS keychain refused',
  );
  await expect(probeTokenStore(OF_PROFILE, context)).resolves.toBeUndefined();
});
