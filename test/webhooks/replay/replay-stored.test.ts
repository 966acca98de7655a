import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Call } from '../../../src/command.ts';
import type { Context } from '../../../src/context.ts';
import { InterruptedError, ServiceError, UsageError } from '../../../src/errors.ts';
import { EventFilters } from '../../../src/filters/event-filters.ts';
import { RunSettings } from '../../../src/settings/settings.ts';
import { saveApiToken } from '../../../src/webhooks/listen/expected-token.ts';
import { type ReplayFlags, replayAsProfile } from '../../../src/webhooks/replay/replay.ts';
import { advising } from '../../support/advice.ts';
import { clock } from '../../support/clock.ts';
import { createContext, fakeOutput, thisMachine } from '../../support/context.ts';
import { forEachTest } from '../../support/each-test.ts';
import { type Handed, startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { reporterTo } from '../../support/outputs.ts';
import { eventsInside, itemOf } from '../../support/shape.ts';

const home = forEachTest(createHome);
const handler = forEachTest(startHandler);

const GUIDS = Array.from(
  { length: 120 },
  (_, id) => `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
);
const [FIRST = '', SECOND = '', THIRD = ''] = GUIDS;
const SUBSCRIPTION = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';

type Fields = Readonly<Record<string, unknown>>;

/** Stored events with these ids, the first of which is the oldest; undefined stands for one without an id. */
const eventsOf = (ids: readonly (string | undefined)[]): Fields[] =>
  ids.map((eventId, index) => ({
    ...(eventId === undefined ? {} : { eventId }),
    eventType: 'order.paid',
    createdOn: new Date(Date.UTC(2026, 10, 20) + index).toISOString(),
    publishStatus: 'FAILED',
  }));
const lineOf = (fields: Fields) => `${JSON.stringify(itemOf(fields))}\n`;

const fileOf = () => path.join(home.folder, 'events.ndjson');

function inHome(parts: Partial<Context> = {}): Context {
  const { HOOKTRAIL_CONFIG_DIR, HOOKTRAIL_PASSPHRASE } = home.env;
  return createContext({
    machine: { ...thisMachine(), userHome: home.folder },
    ...parts,
    environment: {
      HOOKTRAIL_CONFIG_DIR,
      HOOKTRAIL_PASSPHRASE,
      HOOKTRAIL_STORE: 'file',
      HOOKTRAIL_API_TOKEN: 'the token',
      ...parts.environment,
    },
  });
}

/** Parts of a process whose standard input is this text, from a pipe. */
const piped = (text: string): Partial<Context> => ({
  stdin: {
    ...createContext().stdin,
    stream: () => Readable.from([Buffer.from(text)]),
    async *lines() {
      yield* text.split('\n');
    },
  },
});

/** Replays stored events, newest first in their file, and returns what was done and said, and the error. */
async function replaying(
  stored: readonly Fields[],
  flags: Partial<ReplayFlags> = {},
  parts?: Partial<Context>,
) {
  const said: string[] = [];
  const stdout = parts?.stdout ?? fakeOutput();
  const context = inHome({ ...parts, stdout });
  await writeFile(fileOf(), stored.map(lineOf).reverse().join(''));
  const call = {
    context,
    reporter: reporterTo((line) => said.push(line)),
    settings: new RunSettings({}, context, { version: 1, profiles: {} }),
  } as unknown as Call;
  const forwardTo = new URL(handler.url);
  const whole: ReplayFlags = {
    filters: new EventFilters(),
    source: { from: fileOf(), hasIds: false },
    mayBeEmpty: false,
    handOver: 'event',
    format: { format: 'ndjson', list: 'events' },
    forwardTo,
    target: forwardTo,
    forwardTimeout: 60_000,
    concurrency: 1,
    ...flags,
  };
  const error: unknown = await replayAsProfile(whole, call).catch((thrown) => thrown);
  return { said, error, lines: 'text' in stdout ? String(stdout.text).split('\n').slice(0, -1) : [] };
}

const idIn = ({ body }: Pick<Handed, 'body'>): string => JSON.parse(body.toString()).eventId;
const handed = () => handler.received.map(idIn);
const refusing = (...ids: (string | undefined)[]) => {
  handler.answer = (event) => (ids.includes(idIn(event)) ? 422 : 200);
};
const byIds = (...ids: string[]) => new EventFilters({ values: { eventId: ids } });
const replayed = (count: number, refused = 0) => `notice: ${count} replayed; ${refused} refused`;

test('each event of a file is forwarded once, oldest first, with the token and the type of its content', async () => {
  const stored = eventsOf(['a', 'b', 'a']).map((fields, index) => ({
    ...fields,
    subscriptionId: `s${index}`,
  }));
  const { said, error, lines } = await replaying(stored);
  expect([handed(), lines, error]).toEqual([['b', 'a'], [], undefined]);
  expect(said).toEqual([
    'notice: 1 more record of these events left out: each event is forwarded once, from its newest record',
    replayed(2),
  ]);
  expect(handler.received[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    'api-token': 'the token',
  });
});

test('--hand-over record forwards the whole record', async () => {
  const [one = {}] = eventsOf(['a']);
  await replaying([one], { handOver: 'record' });
  const ids = { source: { from: fileOf(), hasIds: true }, handOver: 'record' } as const;
  const [other = {}] = eventsOf([FIRST]);
  await replaying([other], ids, piped(`${FIRST}\n`));
  expect(handler.received.map(({ body }) => `${body}\n`)).toEqual([lineOf(one), lineOf(other)]);
});

test('a filter that no event passes is a warning, and nothing is forwarded', async () => {
  const filters = new EventFilters({ values: { eventType: ['order.piad'] } });
  const { said, error } = await replaying(eventsOf(['a']), { filters });
  expect(said).toEqual([expect.stringMatching(/order\.piad/), replayed(0)]);
  expect([handed(), error]).toEqual([[], undefined]);
});

test('with all events taken, JSON of those that are left is an empty list', async () => {
  const { lines } = await replaying(eventsOf(['a']), { format: { format: 'json', list: 'events' } });
  expect(lines).toEqual(['[]']);
});

describe('events at once', () => {
  test.each([1, 3])('are as many as --concurrency says: %i', async (concurrency) => {
    let most = 0;
    let now = 0;
    let end = () => {};
    const isOver = new Promise<void>((resolve) => {
      end = resolve;
    });
    handler.answer = async () => {
      most = Math.max(most, ++now);
      await isOver;
      now--;
      return 200;
    };
    const done = replaying(eventsOf(GUIDS.slice(0, 6)), { concurrency });
    await expect.poll(() => handler.received.length).toBe(concurrency);
    end();
    expect((await done).said).toEqual([replayed(6)]);
    expect(most).toBe(concurrency);
  });

  test('begin as often as --rate says', async () => {
    const times: number[] = [];
    handler.answer = () => {
      times.push(clock.now() - Date.UTC(2026, 10, 20, 12));
      return 200;
    };
    await replaying(eventsOf(['a', 'b', 'c']), { rate: 2.5 });
    expect(times).toEqual([0, 400, 800]);
  });
});

describe('the Api-Token', () => {
  const token = async (...subscriptionId: string[]) => {
    const filters = new EventFilters({ values: { subscriptionId } });
    const stored = subscriptionId.map((id, index) => ({
      ...eventsOf([GUIDS[index]])[0],
      subscriptionId: id,
    }));
    const environment = { HOOKTRAIL_API_TOKEN: undefined };
    const { said } = await replaying(stored, { filters }, { environment });
    return { said, tokens: handler.received.splice(0).map(({ headers }) => headers['api-token']) };
  };

  test('is that of the only subscription that was chosen, and else that of the profile', async () => {
    const place = { profile: 'default', store: 'file' } as const;
    await saveApiToken('of the profile', place, inHome());
    await saveApiToken('of the subscription', { ...place, subscription: SUBSCRIPTION }, inHome());
    expect((await token(SUBSCRIPTION)).tokens).toEqual(['of the subscription']);
    expect((await token(SUBSCRIPTION, OTHER)).tokens).toEqual(['of the profile', 'of the profile']);
  });

  test('that is missing is a warning, and the events are forwarded without one', async () => {
    expect(await token(SUBSCRIPTION)).toEqual({
      said: ['usage: without HOOKTRAIL_API_TOKEN the handler gets no Api-Token', replayed(1)],
      tokens: [undefined],
    });
  });
});

describe('the events that the handler refuses', () => {
  test('are listed, each tried once, and are an error with the reasons', async () => {
    refusing('b', 'd');
    const stored = eventsOf(['a', 'b', 'c', 'd']);
    const { said, error, lines } = await replaying(stored);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      exitCode: 1,
      message: '2 events were not replayed',
      details: ['2: the handler answered 422: thanks'],
    });
    expect(handed()).toEqual(['a', 'b', 'c', 'd']);
    expect(lines.map((line) => `${line}\n`)).toEqual([stored[1], stored[3]].map((one) => lineOf(one ?? {})));
    expect(said).toEqual([replayed(2, 2)]);
  });

  test('are an error, also where nobody reads the list of them', async () => {
    refusing('a');
    const write = () => Promise.reject(new Error('no reader'));
    const { said, error } = await replaying(eventsOf(['a']), {}, { stdout: { ...fakeOutput(), write } });
    expect(error).toMatchObject({ message: '1 event was not replayed' });
    expect(said).toEqual([replayed(0, 1)]);
  });

  const to = () => `--forward-to '${handler.url}'`;
  const from = () => `--from ${fileOf()}`;
  const list = (flags = '') =>
    `list them with --ndjson, and pipe that to \`hooktrail webhooks replay ${to()}${flags} --from -\``;
  const input = (place: string): Partial<ReplayFlags> => ({ source: { from: place, hasIds: false } });
  const ofSubscription = { filters: new EventFilters({ values: { subscriptionId: [SUBSCRIPTION] } }) };

  test.each<[string, (string | undefined)[], Partial<ReplayFlags>, () => string]>([
    [
      'one is named',
      [FIRST],
      {},
      () => `\`hooktrail webhooks replay --id ${FIRST} ${to()} ${from()}\` sends it again`,
    ],
    [
      'five are named',
      GUIDS.slice(0, 5),
      {},
      () => `\`hooktrail webhooks replay --id ${GUIDS.slice(0, 5)} ${to()} ${from()}\` sends them again`,
    ],
    [
      'six are piped',
      GUIDS.slice(0, 6),
      {},
      () =>
        `pipe what is listed to \`hooktrail webhooks replay - ${to()} ${from()}\`, which sends them again`,
    ],
    ['six of standard input are listed', GUIDS.slice(0, 6), input('-'), list],
    [
      'one of standard input is named, and has to be piped again',
      [FIRST],
      input('-'),
      () => `\`… | hooktrail webhooks replay --id ${FIRST} ${to()} --from -\` sends it again`,
    ],
    ['some without an id are listed', [FIRST, undefined], {}, list],
    ['some with an id that is no GUID are listed', [FIRST, 'b'], {}, list],
    [
      'the flags of the run are repeated',
      [FIRST],
      { ...ofSubscription, handOver: 'record', rate: 2.5 },
      () =>
        `\`hooktrail webhooks replay --id ${FIRST} ${to()} --subscription ${SUBSCRIPTION} --hand-over record --rate 2.5 ${from()}\` sends it again`,
    ],
    [
      'the flags of the run are repeated for a list too',
      [undefined],
      { ...ofSubscription, rate: 1000 },
      () => list(` --subscription ${SUBSCRIPTION} --rate 1000`),
    ],
  ])('are sent again by the next step: %s', async (_, ids, flags, next) => {
    handler.answer = () => 500;
    const stored = eventsOf(ids).map((fields) => ({ ...fields, subscriptionId: SUBSCRIPTION }));
    const { error } = await replaying(stored, flags, piped(stored.map(lineOf).join('')));
    expect(error).toMatchObject({ next: advising(next()) });
  });
});

describe('an interruption', () => {
  /** Replays four events, and interrupts at the third, after the handler refused the first. */
  async function interrupted() {
    const abort = new AbortController();
    handler.answer = ({ body }) => {
      const place = GUIDS.indexOf(idIn({ body }));
      if (place === 2) abort.abort(new InterruptedError('SIGINT'));
      return place === 0 ? 422 : 200;
    };
    return await replaying(eventsOf(GUIDS.slice(0, 4)), {}, { signal: abort.signal });
  }

  test('leaves what the handler did not take, which is listed, counted and sent again by the next step', async () => {
    const { said, error, lines } = await interrupted();
    expect(error).toBeInstanceOf(InterruptedError);
    const left = [0, 2, 3].map((place) => GUIDS[place]);
    expect(lines).toEqual([...left].map((id) => expect.stringContaining(id ?? '')));
    expect(said).toEqual([
      `notice: 1 replayed; 1 refused; 2 not answered or not sent\nnext: \`hooktrail webhooks replay --id ${left} --forward-to '${handler.url}' --from ${fileOf()}\` sends them again`,
    ]);
    expect(handed()).not.toContain(GUIDS[3]);
  });

  test('while the ids are read replays nothing', async () => {
    const abort = new AbortController();
    const stdin = {
      ...createContext().stdin,
      async *lines() {
        yield FIRST;
        abort.abort(new InterruptedError('SIGINT'));
      },
    };
    const source = { from: fileOf(), hasIds: true };
    const { said, error } = await replaying(eventsOf([FIRST]), { source }, { stdin, signal: abort.signal });
    expect(error).toBeInstanceOf(InterruptedError);
    expect([handed(), said]).toEqual([[], []]);
  });
});

describe('more than a hundred events', () => {
  /** A terminal at which somebody types this line. */
  function typing(line: string) {
    const input = new PassThrough();
    input.end(`${line}\n`);
    const stderr = fakeOutput(200);
    return { stderr, stdin: { ...createContext().stdin, isTerminal: true, stream: () => input } };
  }

  const many = (count: number) => eventsOf(GUIDS.slice(0, count));
  const flags = { concurrency: 8 };

  test('are asked about on a terminal', async () => {
    const declined = typing('no');
    const { error } = await replaying(many(101), flags, declined);
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({
      message: 'nothing was replayed',
      next: 'add --yes to replay without a question',
    });
    expect([handed(), declined.stderr.text]).toEqual([
      [],
      expect.stringContaining(`Replay 101 events to ${handler.url}? (yes or no): `),
    ]);
    expect((await replaying(many(101), flags, typing('yes'))).said).toEqual([replayed(101)]);
  });

  test.each([
    ['a hundred', 100, {}, true],
    ['more with --yes', 101, { yes: true }, true],
    ['more without a terminal', 101, {}, false],
  ] as const)('need an answer, %s does not', async (_, count, more, hasTerminal) => {
    const { said, error } = await replaying(
      many(count),
      { ...flags, ...more },
      hasTerminal ? typing('no') : {},
    );
    expect([said, error]).toEqual([[replayed(count)], undefined]);
  });
});

test('on a terminal a long replay says how far it is, with the refused ones', async () => {
  handler.answer = (event) => {
    clock.advance(10_000);
    return idIn(event) === SECOND ? 422 : 200;
  };
  const stderr = fakeOutput(200);
  const parts = { stderr, stdout: fakeOutput(80), environment: { TERM: 'dumb' } };
  await replaying(eventsOf([FIRST, SECOND, THIRD]), {}, parts);
  expect(stderr.text.split('\n')).toEqual([
    'replaying: 1 of 3 events (33%)',
    'replaying: 2 of 3 events (66%)',
    'replaying: 3 of 3 events (100%)',
    '',
  ]);
});

describe('a list of what would be replayed', () => {
  const dry = { forwardTo: undefined };

  test('forwards nothing, is in order, and says from where to where', async () => {
    const { said, error, lines } = await replaying(eventsOf(['a', 'b']), dry);
    expect([handed(), error]).toEqual([[], undefined]);
    expect(lines).toEqual([expect.stringContaining('"a"'), expect.stringContaining('"b"')]);
    const inside = eventsInside() === '' ? [] : [`notice: ${eventsInside().trimEnd()}`];
    expect(said).toEqual([`notice: 2 to replay to ${handler.url}, from ${fileOf()}`, ...inside]);
  });

  test('needs no handler', async () => {
    const { said } = await replaying([], { ...dry, target: undefined });
    expect(said).toEqual([`notice: 0 to replay, from ${fileOf()}`]);
  });
});

describe('chosen ids without an event', () => {
  const step = ' (the service has no event that `webhooks send` made)';
  const notFound = (next: string, details: string[] = [SECOND]) => ({
    kind: 'not-found',
    exitCode: 1,
    message: '1 of the events was not found',
    details,
    next: next + step,
  });

  test('alone are an error, and nothing is forwarded', async () => {
    const { said, error } = await replaying(eventsOf([FIRST]), { filters: byIds(SECOND) });
    expect(error).toMatchObject(notFound('leave it out; nothing was replayed'));
    expect([handed(), said]).toEqual([[], []]);
  });

  test('are an error after the others are replayed, or listed', async () => {
    const filters = byIds(FIRST, SECOND);
    const { said, error } = await replaying(eventsOf([FIRST]), { filters });
    expect(error).toMatchObject(notFound('the others were replayed'));
    expect([handed(), said]).toEqual([[FIRST], [replayed(1)]]);
    const listed = await replaying(eventsOf([FIRST]), { filters, forwardTo: undefined });
    expect(listed.error).toMatchObject(notFound('the others are listed'));
    expect(listed.lines).toHaveLength(1);
  });

  test('are a warning where the others end with an error of their own', async () => {
    refusing(FIRST);
    const { said, error } = await replaying(eventsOf([FIRST]), { filters: byIds(FIRST, THIRD, SECOND) });
    expect(error).toMatchObject({ message: '1 event was not replayed' });
    expect(said).toEqual([replayed(0, 1), `incomplete: 2 of the events were not found: ${SECOND}, ${THIRD}`]);
  });

  test('are none that are only written in another case', async () => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
    const stored = eventsOf([id, id.toUpperCase().replace('0F', '1F')]);
    const filters = byIds(id.toUpperCase(), id.replace('0f', '1f'));
    const { said, error } = await replaying(stored, { filters });
    expect([said, error]).toEqual([[replayed(2)], undefined]);
  });
});

test('an id chooses the event that has it without hyphens, which is not missing then', async () => {
  const stored = eventsOf([FIRST.replaceAll('-', '')]);
  const { said, error } = await replaying(stored, { filters: byIds(FIRST) });
  expect([said, error]).toEqual([[replayed(1)], undefined]);
  const source = { from: fileOf(), hasIds: true };
  const given = await replaying(stored, { source }, piped(`${FIRST}\n${FIRST.replaceAll('-', '')}\n`));
  expect([given.said, given.error]).toEqual([[replayed(1)], undefined]);
});

describe('ids on standard input', () => {
  const hasIds = () => ({ source: { from: fileOf(), hasIds: true } });

  test('choose events of the file, each once, whatever the case of the id', async () => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
    const { said, error } = await replaying(
      eventsOf([FIRST, id, SECOND]),
      hasIds(),
      piped(`${SECOND}\n${id}\n${id.toUpperCase()}\n${SECOND}\n`),
    );
    expect([handed(), said, error]).toEqual([[id, SECOND], [replayed(2)], undefined]);
  });

  test('that no event has are an error after the others are replayed, each named once', async () => {
    const { said, error } = await replaying(
      eventsOf([FIRST]),
      hasIds(),
      piped(`${SECOND}\n${FIRST}\n${SECOND}`),
    );
    expect(error).toMatchObject({
      message: '1 of the events was not found',
      details: [SECOND],
      next: expect.stringMatching(/^the others were replayed/),
    });
    expect([handed(), said]).toEqual([[FIRST], [replayed(1)]]);
  });

  test('that the other filters leave out are an error that says so', async () => {
    const filters = new EventFilters({ values: { publishStatus: ['SUCCESS'] } });
    const { error } = await replaying(eventsOf([FIRST]), { ...hasIds(), filters }, piped(FIRST));
    expect(error).toMatchObject({ message: '1 of the events was not found by these filters' });
    expect(handed()).toEqual([]);
  });

  test('that are none are an error, unless - asked for what may be empty', async () => {
    const { error } = await replaying(eventsOf([FIRST]), hasIds(), piped(''));
    expect(error).toMatchObject({ exitCode: 2, message: 'an event id is missing' });
    const { said } = await replaying(eventsOf([FIRST]), { ...hasIds(), mayBeEmpty: true }, piped(''));
    expect(said).toEqual(['notice: standard input holds no event id: there is nothing to do', replayed(0)]);
    expect(handed()).toEqual([]);
  });
});
