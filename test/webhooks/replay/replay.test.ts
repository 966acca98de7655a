import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { forEachTest } from '../../support/each-test.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, startRecovering } from '../../support/listening.ts';
import { hooktrail, startHooktrail } from '../../support/program.ts';
import { idsOf, ndjsonOf } from '../../support/searching.ts';
import { eventIn, eventsInside } from '../../support/shape.ts';

/** `webhooks replay` between a sandbox with 60 events and a handler. */
async function startReplaying(events = 60) {
  const at = await startRecovering({ events });
  const args = (...flags: string[]) => ['webhooks', 'replay', '--forward-to', at.handler.url, ...flags];
  return {
    ...at,
    args,
    replay: (flags: readonly string[], stdin = '') => hooktrail(args(...flags), { env: at.env, stdin }),
    received: () => at.handler.received.map(({ body }) => JSON.parse(body.toString()).eventId as string),
  };
}

const at = forEachTest(startReplaying);

test('forwards matching events again, in order of creation, without a journal', async () => {
  const all = (await at.searching.search('--ndjson')).stdout;
  for (let round = 1; round <= 2; round++) {
    expect(await at.replay(['--since', '60d'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '60 replayed; 0 refused\n',
    });
  }
  const ids = idsOf(all).reverse();
  expect(at.received()).toEqual([...ids, ...ids]);
  expect(at.handler.received[0]?.body.toString()).toBe(eventIn(all.trimEnd().split('\n').at(-1) ?? ''));
  expect(at.handler.received[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    'api-token': API_TOKEN,
  });
  expect(existsSync(at.journal)).toBe(false);
});

test('accepts ids with --id and on standard input, with and without -', async () => {
  const [newest = '', second = '', third = ''] = at.searching.sandbox.control.store.newestIds(3);
  expect((await at.replay(['--id', second])).code).toBe(0);
  expect((await at.replay(['-'], `${newest}\n\n${third}\n${newest}\n`)).code).toBe(0);
  expect((await at.replay([], `${second}\n`)).stderr).toBe('1 replayed; 0 refused\n');
  expect(at.received()).toEqual([second, third, newest, second]);
});

test('reads the events of a file with --from, without a sign-in, in order of creation', async () => {
  const { HOOKTRAIL_ACCESS_TOKEN: _, ...env } = at.env;
  const lines = (await at.searching.search('--ndjson')).stdout;
  expect(await hooktrail(at.args('--from', '-'), { env, stdin: lines })).toEqual({
    code: 0,
    stdout: '',
    stderr: '60 replayed; 0 refused\n',
  });
  expect(at.received()).toEqual(idsOf(lines).reverse());
  const [id = ''] = idsOf(lines);
  expect((await hooktrail(at.args('--from', '-', '--id', id), { env, stdin: lines })).stderr).toBe(
    '1 replayed; 0 refused\n',
  );
});

test('the next step after refused events of a file sends them from the file, without a sign-in', async () => {
  const { HOOKTRAIL_ACCESS_TOKEN: _, ...env } = at.env;
  const file = path.join(env['HOME'] as string, 'all.ndjson');
  const lines = (await at.searching.search('--ndjson')).stdout;
  await writeFile(file, lines);
  const refused = new Set(idsOf(lines).slice(0, 7));
  at.handler.answer = ({ body }) => (refused.has(JSON.parse(body.toString()).eventId) ? 500 : 200);
  const { stdout, stderr } = await hooktrail(at.args('--from', file), { env });
  const to = `--forward-to '${at.handler.url}'`;
  const next = `hooktrail webhooks replay - ${to} --from ${file}`;
  expect(stderr).toContain(`next: pipe what is listed to \`${next}\`, which sends them again\n`);
  at.handler.answer = () => 200;
  const again = await hooktrail(next.replaceAll("'", '').split(' ').slice(1), { env, stdin: stdout });
  expect(again).toEqual({ code: 0, stdout: '', stderr: '7 replayed; 0 refused\n' });
  const [one = ''] = refused;
  at.handler.answer = () => 500;
  const { stderr: single } = await hooktrail(at.args('--from', file, '--id', one), { env });
  expect(single).toContain(
    `next: \`hooktrail webhooks replay --id ${one} ${to} --from ${file}\` sends it again\n`,
  );
  const unnamed = `${lines.split('\n')[0]}\n{"eventType":"of an event without an id"}\n`;
  await writeFile(file, unnamed);
  const { stderr: some } = await hooktrail(at.args('--from', file), { env });
  expect(some).toContain(
    `next: list them with --ndjson, and pipe that to \`hooktrail webhooks replay ${to} --from -\`\n`,
  );
  const { stderr: piped } = await hooktrail(at.args('--from', '-'), { env, stdin: lines });
  expect(piped).toContain(
    `next: list them with --ndjson, and pipe that to \`hooktrail webhooks replay ${to} --from -\`\n`,
  );
});

test('--where filters, too, also among ids', async () => {
  const failed = idsOf((await at.searching.search('--failed', '--ndjson')).stdout);
  const where = ['--where', 'publishStatus = FAILED'];
  expect((await at.replay(where)).stderr).toBe(`${failed.length} replayed; 0 refused\n`);
  const others = idsOf((await at.searching.search('--status', 'SUCCESS', '--ndjson')).stdout);
  expect((await at.replay(['-', ...where], `${others[0]}\n`)).stderr.split('\n')[0]).toBe(
    'error: 1 of the events was not found by these filters',
  );
});

test('of many ids that are not found a few are named', async () => {
  await using at = await startReplaying();
  const ids = at.searching.sandbox.control.store.newestIds(60);
  const { code, stderr } = await at.replay(['-', '--since', '1s'], ids.join('\n'));
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      'error: 60 of the events were not found by these filters\n' +
      `  ${ids.sort().slice(0, 5).join('\n  ')}\n  and 55 more\nnext: leave them or --since out; nothing was replayed (the service has no event that \`webhooks send\` made)\n`,
  });
});

test('ids that do not exist are named, and the others are replayed', async () => {
  await using at = await startReplaying();
  const [known] = at.searching.sandbox.control.store.newestIds(1);
  const unknown = '00000000-0000-4000-8000-000000000000';
  const named = `error: 1 of the events was not found\n  ${unknown}\nnext: `;
  const none = ' (the service has no event that `webhooks send` made)\n';
  const partly = {
    code: 1,
    stdout: '',
    stderr: `1 replayed; 0 refused\n${named}the others were replayed${none}`,
  };
  expect(await at.replay(['-'], `${known}\n${unknown}\n`)).toEqual(partly);
  expect(await at.replay(['--id', `${known},${unknown}`])).toEqual(partly);
  expect(at.received()).toHaveLength(2);
  const listed = await at.replay(['-', '--dry-run', '--ndjson'], `${known}\n${unknown}\n`);
  expect([listed.code, idsOf(listed.stdout)]).toEqual([1, [known]]);
  expect(listed.stderr).toContain(`${named}the others are listed${none}`);
  const left = await at.replay(['--id', unknown]);
  expect(left.stderr).toBe(`${named}leave it out; nothing was replayed${none}`);
  at.handler.answer = () => 500;
  const refused = await at.replay(['-'], `${known}\n${unknown}\n`);
  expect(refused.stderr).toContain(`warning: 1 of the events was not found: ${unknown}\n`);
  const told = await at.replay(['--id', unknown, '--error-format', 'json']);
  expect(JSON.parse(told.stderr)).toMatchObject({ kind: 'not-found', exitCode: 1, details: [unknown] });
});

test('refused events are listed, each tried once, and the exit code is 1', async () => {
  const ids = at.searching.sandbox.control.store.newestIds(60);
  at.handler.answer = ({ body }) => {
    const { eventId } = JSON.parse(body.toString());
    return eventId === ids[3] ? 422 : eventId === ids[40] ? 503 : 200;
  };
  const { code, stdout, stderr } = await at.replay(['--since', '60d', '--ndjson', '--concurrency', '8']);
  expect(code).toBe(1);
  expect(new Set(idsOf(stdout))).toEqual(new Set([ids[3], ids[40]]));
  const lines = stderr.split('\n').sort();
  expect(lines.pop()).toMatch(
    /^next: `hooktrail webhooks replay --id \S+,\S+ --forward-to '\S+'` sends them again$/,
  );
  expect(lines).toEqual(
    [
      '58 replayed; 2 refused',
      'error: 2 events were not replayed',
      '  1: the handler answered 422: thanks',
      '  1: the handler answered 503: thanks',
      '',
    ].sort(),
  );
  expect(at.handler.received).toHaveLength(60);
});

test('an interruption while the ids come in replays nothing', async () => {
  const [id] = at.searching.sandbox.control.store.newestIds(1);
  const program = startHooktrail(at.args('-'), { env: at.env, stdin: null });
  program.stdin.write(`${id}\n`);
  await expect.poll(() => at.searching.queries().length).toBe(1);
  program.kill('SIGINT');
  expect(await program.finished).toEqual({ code: 130, stdout: '', stderr: '' });
  expect(at.received()).toEqual([]);
});

test('of ids on standard input each is asked for once, several at a time', async () => {
  const ids = at.searching.sandbox.control.store.newestIds(8);
  const typed = [...ids, ...ids.map((id) => id.toUpperCase())];
  expect((await at.replay(['-', '--dry-run'], typed.join('\n'))).stderr).toMatch(/^8 to replay /);
  expect(at.searching.queries()).toHaveLength(8);
});

test('a type that the service does not offer is said where nothing is found', async () => {
  expect((await at.replay(['--type', 'documnt.signed'])).stderr).toBe(
    "warning: 'documnt.signed' is not among the event types on offer; did you mean document.signed?\n0 replayed; 0 refused\n",
  );
  const some = await at.replay(['--type', 'document.*', '--dry-run', '--ndjson']);
  expect(some.stdout.split('\n').length).toBeGreaterThan(1);
});

test('a part of an address does not choose a subscription where nobody can confirm it', async () => {
  const { code, stderr } = await at.replay(['--subscription', 'billing']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('nobody can confirm its match')]);
  expect(at.received()).toEqual([]);
});

test('an interruption lists the events that the handler did not take, and says how to send them', async () => {
  const ids = idsOf((await at.searching.search('--ndjson')).stdout).reverse();
  at.handler.answer = () => (at.handler.received.length === 1 ? 200 : new Promise<number>(() => {}));
  const args = at.args('--since', '60d', '--concurrency', '1', '--ndjson', '--rate', '1000');
  const program = startHooktrail(args, { env: at.env });
  await expect.poll(() => at.handler.received.length).toBe(2);
  program.kill('SIGINT');
  const { code, stdout, stderr } = await program.finished;
  const next = `hooktrail webhooks replay - --forward-to '${at.handler.url}' --rate 1000`;
  expect({ code, stderr }).toEqual({
    code: 130,
    stderr: `1 replayed; 0 refused; 59 not answered or not sent\nnext: pipe what is listed to \`${next}\`, which sends them again\n`,
  });
  expect(idsOf(stdout)).toEqual(ids.slice(1));
  at.handler.answer = () => 200;
  expect((await at.replay(['-'], stdout)).stderr).toBe('59 replayed; 0 refused\n');
});

test('--dry-run lists what would be replayed, in that order, and says from where to where', async () => {
  const ids = idsOf((await at.searching.search('--failed', '--ndjson')).stdout).reverse();
  const { code, stdout, stderr } = await at.replay(['--failed', '--dry-run', '--ndjson']);
  const { host } = new URL(at.searching.env['HOOKTRAIL_BASE_URL'] as string);
  expect([code, idsOf(stdout)]).toEqual([0, ids]);
  expect(stderr).toBe(`${ids.length} to replay to ${at.handler.url}, from ${host}\n${eventsInside()}`);
  expect(at.received()).toEqual([]);
  const file = path.join(at.searching.env['HOME'] as string, 'failed.ndjson');
  await writeFile(file, stdout);
  const stored = ['webhooks', 'replay', '--from', file, '--dry-run', '--ndjson'];
  expect((await at.searching.run(stored)).stderr).toBe(
    `${ids.length} to replay, from ${file}\n${eventsInside()}`,
  );
});

test.each([
  ['nothing', ''],
  ['empty lines', '\n \n'],
  ['an empty array', '[]\n'],
  ['an indented empty array', '[\n]\n'],
  ['a header of CSV', 'createdOn,publishStatus,eventType,eventId,subscriptionId\r\n'],
  ['the titles of a table', 'createdOn  publishStatus  eventType  eventId  subscriptionId\n'],
])('%s into replay - and get - is no error: there was nothing to do tonight', async (_, stdin) => {
  const quiet = 'standard input holds no event id: there is nothing to do\n';
  expect(await at.replay(['-'], stdin)).toEqual({
    code: 0,
    stdout: '',
    stderr: `${quiet}0 replayed; 0 refused\n`,
  });
  expect(at.received()).toEqual([]);
  for (const [format, stdout] of [
    [[], ''],
    [['--json'], '[]\n'],
    [['--ndjson'], ''],
  ] as const)
    expect(await at.searching.run(['events', 'get', '-', ...format], { stdin })).toEqual({
      code: 0,
      stdout,
      stderr: quiet,
    });
});

test.each([
  ['an error as text', 'error: the service could not be reached\n'],
  ['an error as JSON', '{"error":"unavailable"}\n'],
  ['events without ids', '[\n{"eventType":"a"}\n]\n'],
  ['a table without ids', 'eventType  eventId\na  -\n'],
])('%s into replay - and get - is an error: a list was expected', async (_, stdin) => {
  for (const { code, stdout, stderr } of [
    await at.replay(['-'], stdin),
    await at.searching.run(['events', 'get', '-'], { stdin }),
  ]) {
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: standard input(, line 1: | holds no event id\n)/);
  }
});

test('on 80 columns a list of events leaves out the ids before it cuts the types', async () => {
  await using home = await createHome();
  const file = path.join(home.env['HOME'] as string, 'failed.ndjson');
  const ids = Array.from({ length: 9 }, (_, event) => `00000000-0000-4000-8000-00000000000${event}`);
  const failures = ids.map((eventId, event) => ({
    createdOn: `2026-11-1${event}T10:00:00Z`,
    publishStatus: 'FAILED',
    eventType: 'recipient.authenticated',
    eventId,
  }));
  await writeFile(file, ndjsonOf(failures));
  const args = ['webhooks', 'replay', '--dry-run', '--from', file];
  const { stdout } = await hooktrail(args, { env: home.env, terminal: 80 });
  const rows = stripVTControlCharacters(stdout).match(/FAILED +recipient\.authenticated$/gm);
  expect(rows).toHaveLength(ids.length);
});

test('a list has the saved columns, as the tables of a search', async () => {
  const [id = ''] = at.searching.sandbox.control.store.newestIds(1);
  for (const command of ['replay', 'recover']) {
    const args = ['webhooks', command, '--since', '60d', '--id', id, '--dry-run', '--new-journal'];
    const words = args.filter((word) => command === 'recover' || word !== '--new-journal');
    const { stdout } = await hooktrail(words, { env: { ...at.env, HOOKTRAIL_FIELDS: 'eventId' } });
    expect([command, stdout]).toEqual([command, `eventId\n${id}\n`]);
  }
});

test('--rate limits the events per second', async () => {
  const times: number[] = [];
  at.handler.answer = () => {
    times.push(clock.now());
    return 200;
  };
  expect((await at.replay(['--since', '60d', '--rate', '10'])).code).toBe(0);
  const [first = 0] = times;
  expect(times.map((time) => time - first)).toEqual(Array.from({ length: 60 }, (_, index) => 100 * index));
});

describe('more than 100 events', () => {
  test.each([
    ['no', 2, 0],
    ['yes', 0, 120],
  ] as const)('are asked about on a terminal; %s is an answer', async (answer, code, count) => {
    await using at = await startReplaying(120);
    const program = startHooktrail(at.args('--since', '60d'), { env: at.env, stdin: null, terminal: 100 });
    await program.printed('stderr', /Replay 120 events to http:\S+\? \(yes or no\)/);
    program.stdin.write(`${answer}\r`);
    expect((await program.finished).code).toBe(code);
    expect(at.received()).toHaveLength(count);
  });

  test('need no answer with --yes, or without a terminal', async () => {
    await using at = await startReplaying(120);
    const program = startHooktrail(at.args('--since', '60d', '--yes'), {
      env: at.env,
      stdin: null,
      terminal: 100,
    });
    expect((await program.finished).code).toBe(0);
    expect((await at.replay(['--since', '60d'])).code).toBe(0);
    expect(at.received()).toHaveLength(240);
  });
});
