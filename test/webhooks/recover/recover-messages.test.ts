import { appendFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Acceptance, defaultJournal, openJournal } from '../../../src/webhooks/journal.ts';
import { openListenerSocket } from '../../../src/webhooks/local-socket.ts';
import { clock } from '../../support/clock.ts';
import { createContext, thisMachine } from '../../support/context.ts';
import { forEachTest } from '../../support/each-test.ts';
import type { Handed } from '../../support/handler.ts';
import { startRecovering } from '../../support/listening.ts';
import { hooktrail } from '../../support/program.ts';
import { idsOf } from '../../support/searching.ts';
import { eventsInside, inShape } from '../../support/shape.ts';

const at = forEachTest(() => startRecovering({ events: 0 }));
/** Of the three events, oldest first; the service has delivered none of them. */
let ids: string[];
const NEW = '--new-journal';

beforeEach(() => {
  const { control } = at.searching;
  for (const hour of ['09', '10', '11'])
    control.addEvent({ publishStatus: 'FAILED', createdOn: `2026-11-20T${hour}:00:00Z` });
  ids = [...control.store.newestIds(3)].reverse();
});

const folder = () => path.dirname(at.journal);
const idIn = ({ body }: Pick<Handed, 'body'>): string => JSON.parse(body.toString()).eventId;
const handed = () => at.handler.received.map(idIn);
const refusing = (...refused: (string | undefined)[]) => {
  at.handler.answer = (event) => (refused.includes(idIn(event)) ? 422 : 200);
};
/** Runs the command without a journal of its own. */
const recover = (...flags: string[]) =>
  hooktrail(['webhooks', 'recover', '--after', '60d', '--forward-to', at.handler.url, ...flags], {
    env: at.env,
  });

describe('a journal that is missing is an error', () => {
  const step =
    'next: name the journal that `hooktrail webhooks listen` wrote; --new-journal recovers everything';
  const subscription = '00000000-0000-4000-8000-00000000000a';

  test('that names it', async () => {
    expect(await at.recover()).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: --journal: there is no journal ${at.journal}\n${step}\n`,
    });
    expect(handed()).toEqual([]);
  });

  test('that names the profile', async () => {
    expect((await recover()).stderr).toBe(
      `error: --journal is missing, and the profile 'default' has no journal yet\n${step}\n`,
    );
  });

  test('that names the subscription, and the journal that the profile has', async () => {
    const message = `error: --journal is missing, and the subscription ${subscription} has no journal yet\n`;
    const owned = `${step}; \`hooktrail webhooks listen --subscription ${subscription}\` keeps one of its own\n`;
    expect((await recover('--subscription', subscription)).stderr).toBe(message + owned);
    const machine = { ...thisMachine(), userHome: folder() };
    const journal = defaultJournal('default', createContext({ environment: at.env, machine }));
    await writeFile(journal, '');
    expect((await recover('--subscription', subscription)).stderr).toBe(
      `${message}  the profile 'default' has the journal ${journal}\n${owned}`,
    );
  });
});

test('a journal with lines that cannot be read is an error that counts them', async () => {
  await at.recover(NEW);
  for (const [more, lines] of [
    [1, '1 line'],
    [1_233, '1,234 lines'],
  ] as const) {
    await appendFile(at.journal, 'x\n'.repeat(more));
    expect(await at.recover()).toEqual({
      code: 2,
      stdout: '',
      stderr:
        `error: --journal: ${lines} of ${at.journal} cannot be read\n` +
        'next: restore the journal; --new-journal recovers anyway, and hands over the events of these lines again\n',
    });
  }
  expect((await at.recover(NEW)).stderr).toBe('0 forwarded; 3 in the journal already; 0 left\n');
});

describe('with a file of received ids', () => {
  const received = async (...some: (string | undefined)[]) => {
    const file = path.join(folder(), 'had.txt');
    await writeFile(file, some.join('\n'));
    return ['--received', file];
  };

  test('the others are forwarded, and nothing is journaled', async () => {
    const flags = await received(ids[0]);
    expect((await recover(...flags)).stderr).toBe('2 forwarded; 1 received already; 0 left\n');
    expect((await recover(...flags)).stderr).toBe('2 forwarded; 1 received already; 0 left\n');
    expect(handed()).toEqual([...ids.slice(1), ...ids.slice(1)]);
  });

  test('what is left asks for a new export of them', async () => {
    refusing(ids[1]);
    const { code, stdout, stderr } = await recover(...(await received(ids[0])), '--ndjson');
    expect([code, idsOf(stdout)]).toEqual([1, [ids[1]]]);
    expect(stderr).toBe(
      '1 forwarded; 1 received already; 1 left\n' +
        'error: 1 event was not recovered\n' +
        '  1: the handler answered 422: thanks\n' +
        'next: export the received ids again, now with the accepted events, then run the same command again with --since 2026-09-21T12:00:00Z to retry them\n',
    );
  });

  test('and a journal, what is in either is left out', async () => {
    refusing(ids[1], ids[2]);
    await at.recover(NEW);
    refusing();
    const flags = await received(ids[1]);
    const { stderr } = await at.recover(...flags);
    expect(stderr).toBe('1 forwarded; 2 received or journaled already; 0 left\n');
    expect(handed().at(-1)).toBe(ids[2]);
    expect((await at.recover()).stderr).toBe('1 forwarded; 2 in the journal already; 0 left\n');
  });

  test('a missing journal is still an error', async () => {
    expect((await at.recover(...(await received(ids[0])))).stderr).toContain(
      `there is no journal ${at.journal}`,
    );
    const { stderr } = await at.recover(...(await received(ids[0])), NEW);
    expect(stderr).toBe('2 forwarded; 1 received or journaled already; 0 left\n');
  });
});

test('what a listener has taken meanwhile counts as in the journal', async () => {
  const machine = {
    ...thisMachine(),
    userHome: folder(),
    sharedFolder: at.env['HOOKTRAIL_TEST_SHARED'] ?? '',
  };
  const journal = await openJournal(at.journal, {}, createContext({ machine }));
  const self = { forwardTo: at.handler.url, forwardTimeout: 1_000 };
  const answers: Acceptance[] = [
    { outcome: 'accepted' },
    { outcome: 'duplicate' },
    { outcome: 'refused', answer: { status: 410 } },
  ];
  const close = await openListenerSocket(
    journal,
    machine,
    self,
    async () => answers.shift() ?? expect.fail(),
  );
  onTestFinished(async () => void (await Promise.all([close(), journal.close()])));
  const { code, stdout, stderr } = await at.recover('--ndjson');
  expect([code, idsOf(stdout)]).toEqual([1, [ids[2]]]);
  expect(stderr).toContain('1 forwarded; 1 in the journal already; 1 left\n');
});

test('the next step repeats no time that stays the same', async () => {
  refusing(...ids);
  const { stderr } = await recover('--journal', at.journal, NEW, '--after', '2026-11-20T00:00:00Z');
  expect(stderr).toContain(
    '  3: the handler answered 422: thanks\nnext: run the same command again to retry them\n',
  );
});

test('events without an id leave the step for those that have one', async () => {
  at.searching.control.addEvent({ json: '{"n":1}' });
  refusing(ids[0]);
  const { stderr } = await at.recover(NEW);
  expect(stderr).toContain(
    '2 forwarded; 0 in the journal already; 2 left\nerror: 2 events were not recovered\n',
  );
  expect(stderr).toMatch(/\nnext: run the same command again with --since \S+ to retry them\n$/);
});

test('events that the service has delivered are counted', async () => {
  const { control } = at.searching;
  const rest = ', according to the service; --failed leaves such events out\n';
  control.addEvent({ publishStatus: 'SUCCESS', createdOn: '2026-11-20T11:30:00Z' });
  expect((await at.recover('--dry-run', NEW, '--ndjson')).stderr).toBe(
    `4 to forward; 0 in the journal already\n${eventsInside()}1 of these was already delivered${rest}`,
  );
  control.addEvent({ publishStatus: 'SUCCESS', createdOn: '2026-11-20T11:30:01Z' });
  expect((await at.recover(NEW)).stderr).toBe(
    `5 forwarded; 0 in the journal already; 0 left\n2 of these were already delivered${rest}`,
  );
});

test('a handler without an Api-Token is warned of once, when it gets an event', async () => {
  const run = (...flags: string[]) => hooktrail(at.args(...flags), { env: at.searching.env });
  // Longer than the journal is held at once.
  at.handler.answer = () => {
    clock.advance(10_000);
    return 200;
  };
  const { stderr } = await run(NEW);
  expect(stderr).toMatch(/^warning: .*the handler gets no.*\n(next: .*\n)?3 forwarded; 0 in the journal/);
  expect((await run()).stderr).toBe('0 forwarded; 3 in the journal already; 0 left\n');
});

const refusal = { kind: 'status', status: 400, body: '{"code":"event.invalid"}' } as const;

test.each([
  ['--type', 'documnt.signed'],
  ['--id', '00000000-0000-4000-8000-000000000000'],
])(
  'a search with %s that fails at once is an error, which says nothing of what is not there',
  async (...flags) => {
    at.searching.control.fault('events', refusal, refusal);
    const { stderr } = await at.recover(NEW, ...flags);
    expect(stderr).toMatch(/^error: the search failed: the service answered 400 Bad Request\n/);
  },
);

describe('a search that fails', () => {
  const error = 'error: the search failed: the service answered 400 Bad Request\n';

  beforeEach(() => {
    for (let count = 0; count < 498; count++)
      at.searching.control.addEvent({ publishStatus: 'FAILED', createdOn: '2026-11-20T11:30:00Z' });
    at.searching.control.fault('events', { kind: 'pass' }, refusal, refusal);
  });

  test('lists what was found before', async () => {
    const { code, stdout, stderr } = await at.recover('--dry-run', NEW, '--ndjson');
    expect([code, idsOf(stdout).length]).toEqual([1, 500]);
    expect(stderr.startsWith(error)).toBe(true);
  });

  test('is an error, also where all that was found before has been received', async () => {
    const known = at.searching.control.store.newestIds(501);
    const file = path.join(folder(), 'had.txt');
    await writeFile(file, known.join('\n'));
    const { code, stderr } = await recover('--received', file);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^0 forwarded; 500 received already; 0 left of those found\n/);
    expect(stderr).toContain(error);
  });
});

test('a long recovery says how far it is', async () => {
  at.handler.answer = (event) => {
    clock.advance(10_000);
    return idIn(event) === ids[1] ? 422 : 200;
  };
  const env = { ...at.env, TERM: 'dumb' };
  const { stderr } = await hooktrail(at.args(NEW), { env, terminal: 200 });
  expect(
    stderr
      .split('\n')
      .filter((line) => line.startsWith('recovering'))
      .slice(1),
  ).toEqual(['recovering: 2 events; 1 forwarded', 'recovering: 3 events; 2 forwarded']);
});

test('tables show the addresses of subscriptions, where the service names them', async () => {
  const hasAddresses = ({ stdout }: { readonly stdout: string }) =>
    / address\b/.test(stdout.split('\n')[0] ?? '');
  const replay = ['webhooks', 'replay', '--failed', '--after', '60d', '--forward-to', at.handler.url];
  refusing(...ids);
  for (const printed of [
    await recover(NEW, '--dry-run'),
    await recover(NEW),
    await hooktrail([...replay, '--dry-run'], { env: at.env }),
    await hooktrail(replay, { env: at.env }),
  ])
    expect(hasAddresses(printed)).toBe(inShape({ flat: false, published: true }));
});
