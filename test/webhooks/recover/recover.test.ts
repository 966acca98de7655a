import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { API_TOKEN, type Recovering, startRecovering } from '../../support/listening.ts';
import { WRONG_BODIES } from '../../support/odd-answers.ts';
import { hooktrail, startHooktrail } from '../../support/program.ts';
import { idsOf } from '../../support/searching.ts';
import { eventIn, eventsInside, itemOf } from '../../support/shape.ts';

/** A handler that answers late shows whether the sender waits: one that does not would send another event. */
function mostUnderWay({ handler }: Pick<Recovering, 'handler'>): () => number {
  let [now, most] = [0, 0];
  handler.answer = async () => {
    most = Math.max(most, ++now);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    now--;
    return 200;
  };
  return () => most;
}

test('forwards events missing in the journal, oldest first, each as the search shows it, byte for byte', async () => {
  await using recovering = await startRecovering();
  const { handler, searching } = recovering;
  const most = mostUnderWay(recovering);
  const first = await recovering.recover('--failed', '--new-journal');
  const failed = idsOf((await searching.search('--failed', '--ndjson')).stdout);
  expect(failed.length).toBeGreaterThan(0);
  expect(first).toEqual({
    code: 0,
    stdout: '',
    stderr: `${failed.length} forwarded; 0 in the journal already; 0 left\n`,
  });
  expect(handler.received.map(({ body }) => JSON.parse(body.toString()).eventId)).toEqual(failed.reverse());
  expect(most()).toBe(1);
  const all = (await searching.search('--ndjson')).stdout.split('\n').filter(Boolean).map(eventIn);
  const second = await recovering.recover();
  expect(second.stderr).toBe(
    `${60 - failed.length} forwarded; ${failed.length} in the journal already; 0 left\n` +
      `${60 - failed.length} of these were already delivered, according to the service; --failed leaves such events out\n`,
  );
  expect(handler.received.map(({ body }) => body.toString()).sort()).toEqual(all.sort());
  for (const { headers, url } of handler.received) {
    expect(url).toBe('/hooks?tenant=1');
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'api-token': API_TOKEN });
  }
  const third = await recovering.recover('--json');
  expect(third).toEqual({
    code: 0,
    stdout: '[]\n',
    stderr: '0 forwarded; 60 in the journal already; 0 left\n',
  });
  expect(handler.received).toHaveLength(60);
});

test('the numbers of events have thousands separators', async () => {
  await using recovering = await startRecovering({ events: 1200 });
  const { searching, handler } = recovering;
  expect((await recovering.recover('--new-journal', '--dry-run', '--ndjson')).stderr).toMatch(
    /^1,200 to forward; 0 in the journal already\n/,
  );
  const replay = [
    'webhooks',
    'replay',
    '--since',
    '60d',
    '--dry-run',
    '--ndjson',
    '--forward-to',
    handler.url,
  ];
  expect((await searching.run(replay)).stderr).toMatch(/^1,200 to replay to /);
});

test('--dry-run lists what it would forward, oldest first, and changes nothing', async () => {
  await using recovering = await startRecovering();
  const { handler, searching, journal } = recovering;
  await recovering.recover('--failed', '--new-journal');
  const before = await readFile(journal);
  const done = handler.received.length;
  const listed = await recovering.recover('--dry-run', '--ndjson');
  const all = idsOf((await searching.search('--ndjson')).stdout);
  expect(idsOf(listed.stdout)).toEqual(all.reverse().filter((id) => !handler.taken.has(id)));
  expect(listed.stderr).toBe(
    `${60 - done} to forward; ${done} in the journal already\n${eventsInside()}` +
      `${60 - done} of these were already delivered, according to the service; --failed leaves such events out\n`,
  );
  expect(listed.code).toBe(0);
  expect(handler.received).toHaveLength(done);
  expect(await readFile(journal)).toEqual(before);
  const fresh = `${journal}.new`;
  const nothing = await recovering.recover(
    ...['--dry-run', '--new-journal', '--journal', fresh, '--json', '--fields', 'eventId'],
  );
  expect(JSON.parse(nothing.stdout)).toHaveLength(60);
  expect(existsSync(fresh)).toBe(false);
});

test('--where leaves out other events', async () => {
  await using recovering = await startRecovering();
  const failed = idsOf((await recovering.searching.search('--failed', '--ndjson')).stdout);
  const { stderr } = await recovering.recover('--new-journal', '--where', 'publishStatus = FAILED');
  expect(stderr).toBe(`${failed.length} forwarded; 0 in the journal already; 0 left\n`);
  expect([...recovering.handler.taken.keys()].sort()).toEqual(failed.sort());
});

test('an id names its event whatever its age, and an event that is not found is an error', async () => {
  await using recovering = await startRecovering();
  const { handler, searching, env, journal } = recovering;
  const ids = searching.sandbox.control.store.newestIds(60);
  const [newest = '', oldest = ''] = [ids[0], ids.at(-1)];
  const args = ['webhooks', 'recover', '--journal', journal, '--new-journal', '--forward-to', handler.url];
  const recover = (...flags: string[]) => hooktrail([...args, ...flags], { env });
  expect(await recover('--id', oldest.toUpperCase())).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('1 forwarded; 0 in the journal already; 0 left\n'),
  });
  // One in the journal is found, too.
  expect((await recover('--id', oldest)).stderr).toBe('0 forwarded; 1 in the journal already; 0 left\n');
  expect(await recover('--id', `${oldest},${newest}`, '--since', '1s')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: 2 of the events were not found by these filters\n' +
      `${[oldest, newest]
        .sort()
        .map((id) => `  ${id}\n`)
        .join(
          '',
        )}next: leave them or --since out; nothing was recovered (the service has no event that \`webhooks send\` made)\n`,
  });
  const unknown = '00000000-0000-4000-8000-000000000000';
  for (const flag of ['--forward-to=1', '--dry-run'])
    expect(await recover('--id', `${oldest},${unknown}`, flag)).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: 1 of the events was not found\n  ${unknown}\nnext: leave it out; nothing was recovered (the service has no event that \`webhooks send\` made)\n`,
    });
  expect(handler.received).toHaveLength(1);
});

test('an id names the event that the service writes without hyphens, which is not missing then', async () => {
  await using recovering = await startRecovering({ events: 0 });
  const eventId = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const createdOn = '2026-11-20T11:00:00Z';
  const written = { eventId: eventId.replaceAll('-', ''), createdOn, publishStatus: 'FAILED' };
  recovering.searching.control.addEvent({ eventId, createdOn, json: JSON.stringify(itemOf(written)) });
  expect(await recovering.recover('--new-journal', '--id', eventId)).toEqual({
    code: 0,
    stdout: '',
    stderr: '1 forwarded; 0 in the journal already; 0 left\n',
  });
});

test('events that the handler does not accept are listed, and forwarded the next time', async () => {
  await using recovering = await startRecovering({ events: 0 });
  const { handler, searching } = recovering;
  for (let count = 0; count < 60; count++)
    searching.sandbox.control.addEvent({ publishStatus: 'FAILED', createdOn: '2026-11-20T11:00:00Z' });
  const ids = searching.sandbox.control.store.newestIds(60);
  const bad = new Set([ids[3], ids[40]]);
  handler.answer = ({ body }) => (bad.has(JSON.parse(body.toString()).eventId) ? 422 : 200);
  const first = await recovering.recover('--new-journal', '--ndjson');
  expect(new Set(idsOf(first.stdout))).toEqual(bad);
  expect(first.stderr.split('\n')).toEqual([
    '58 forwarded; 0 in the journal already; 2 left',
    'error: 2 events were not recovered',
    '  2: the handler answered 422: thanks',
    'next: run the same command again with --since 2026-09-21T12:00:00Z to retry them',
    '',
  ]);
  expect(first.code).toBe(1);
  expect(handler.received).toHaveLength(60);
  handler.answer = () => 200;
  const second = await recovering.recover('--ndjson');
  expect(second).toEqual({
    code: 0,
    stdout: '',
    stderr: '2 forwarded; 58 in the journal already; 0 left\n',
  });
});

test('an event that makes the handler fail each time does not keep later events from it', async () => {
  await using recovering = await startRecovering({ events: 6 });
  const ids = idsOf((await recovering.searching.search('--ndjson')).stdout).reverse();
  recovering.handler.answer = ({ body }) => (JSON.parse(body.toString()).eventId === ids[0] ? 500 : 200);
  const { code, stdout, stderr } = await recovering.recover('--new-journal', '--retry-for', '1s', '--ndjson');
  expect([code, idsOf(stdout)]).toEqual([1, [ids[0]]]);
  expect(stderr).toContain('5 forwarded; 0 in the journal already; 1 left\n');
  expect([...recovering.handler.taken.keys()]).toEqual(ids.slice(1));
});

test('a handler that is overloaded for a while gets every event in the end, once', async () => {
  clock.skips = 10_000;
  await using recovering = await startRecovering();
  const { handler } = recovering;
  let answers = 0;
  handler.answer = () => (++answers % 3 === 0 || (answers > 20 && answers < 30) ? 503 : 200);
  const { code } = await recovering.recover('--new-journal', '--concurrency', '8', '--quiet');
  expect(code).toBe(0);
  expect([...handler.taken.values()]).toEqual(Array(60).fill(1));
});

test('an unreachable handler is given up, and all events are left', async () => {
  await using recovering = await startRecovering({ events: 5 });
  await recovering.handler[Symbol.asyncDispose]();
  const { code, stdout, stderr } = await recovering.recover('--new-journal', '--retry-for', '1s', '--ndjson');
  expect(code).toBe(1);
  expect(idsOf(stdout)).toHaveLength(5);
  expect(stderr).toMatch(/the handler did not answer: .* does not accept connections \(ECONNREFUSED\)\n/);
  expect(stderr).toContain('0 forwarded; 0 in the journal already; 5 left\n');
});

test('an event without an eventId is never forwarded, since a repetition could not be recognized', async () => {
  await using recovering = await startRecovering({ events: 3 });
  const { control } = recovering.searching.sandbox;
  control.addEvent({ json: '{"eventId":7,"n":1}' });
  control.addEvent({ json: '{"n":2}' });
  const { code, stdout, stderr } = await recovering.recover('--new-journal', '--ndjson');
  expect(stdout.split('\n').sort()).toEqual(['', '{"eventId":7,"n":1}', '{"n":2}']);
  expect(stderr).toContain(
    "  2: without an 'eventId' there is no way to know whether the handler has it\n" +
      "next: `hooktrail webhooks replay` also sends events without an 'eventId'\n",
  );
  expect(code).toBe(1);
  expect(recovering.handler.received).toHaveLength(3);
});

test('a search that fails midway is an error, and the events found before are forwarded', async () => {
  await using recovering = await startRecovering({ events: 600 });
  const { control } = recovering.searching.sandbox;
  const refusal = { kind: 'status', status: 400, body: '{"code":"event.invalid"}' } as const;
  control.fault('events', { kind: 'pass' }, refusal, refusal);
  const { code, stderr } = await recovering.recover('--new-journal');
  expect(code).toBe(1);
  expect(stderr).toContain('500 forwarded; 0 in the journal already; 0 left of those found\n');
  expect(stderr).toContain('error: the search failed: the service answered 400 Bad Request\n');
  control.clearFaults();
  expect((await recovering.recover()).stderr).toMatch(/^100 forwarded; 500 in the journal already; 0 left\n/);
});

test('a search that finds nothing before it fails says nothing of events', async () => {
  await using recovering = await startRecovering();
  const { control } = recovering.searching.sandbox;
  control.fault('events', { kind: 'status', status: 400, body: '{"code":"event.invalid"}' });
  const { code, stderr } = await recovering.recover('--new-journal');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: the search failed: the service answered 400 Bad Request\n/);
});

test('on SIGINT deliveries in progress are finished and journaled', async () => {
  await using recovering = await startRecovering();
  const { handler, env } = recovering;
  const answer = handler.hold();
  const program = startHooktrail(recovering.args('--new-journal', '--concurrency', '1'), { env });
  await expect.poll(() => handler.received.length).toBe(1);
  program.kill('SIGINT');
  answer(200);
  const { code, stderr } = await program.finished;
  expect(code).toBe(130);
  expect(stderr).toBe(
    '1 forwarded; 0 in the journal already; 59 left\n' +
      '1 of these was already delivered, according to the service; --failed leaves such events out\n' +
      'next: run the same command again with --since 2026-09-21T12:00:00Z: it forwards them\n',
  );
  handler.answer = () => 200;
  expect((await recovering.recover()).stderr).toMatch(/^59 forwarded; 1 in the journal already; 0 left\n/);
  expect([...handler.taken.values()]).toEqual(Array(60).fill(1));
});

test('a type that the service does not offer is said where nothing is found', async () => {
  await using recovering = await startRecovering();
  const flags = ['--type', 'documnt.signed'];
  const { code, stderr } = await recovering.recover(...flags, '--new-journal');
  const warning =
    "warning: 'documnt.signed' is not among the event types on offer; did you mean document.signed?\n";
  expect([code, stderr]).toEqual([0, `${warning}0 forwarded; 0 in the journal already; 0 left\n`]);
  const replay = ['webhooks', 'replay', '--forward-to', recovering.handler.url, ...flags];
  expect((await hooktrail(replay, { env: recovering.env })).stderr).toBe(`${warning}0 replayed; 0 refused\n`);
});

test('a journal that is empty is said: what it recorded, if anything, comes again', async () => {
  await using recovering = await startRecovering();
  await writeFile(recovering.journal, '');
  const warning = `warning: --journal: ${recovering.journal} is empty: every event counts as missed\n`;
  const { code, stderr } = await recovering.recover();
  expect([code, stderr]).toEqual([0, expect.stringContaining(`${warning}60 forwarded;`)]);
  expect((await recovering.recover()).stderr).toMatch(/^0 forwarded; 60 in the journal already;/);
  await writeFile(recovering.journal, '');
  expect((await recovering.recover('--new-journal')).stderr).toMatch(/^60 forwarded;/);
});

test('a journal with lines that cannot be read is refused: what they recorded would come again', async () => {
  await using recovering = await startRecovering();
  await recovering.recover('--failed', '--new-journal');
  const taken = recovering.handler.received.length;
  const text = await readFile(recovering.journal, 'utf8');
  await writeFile(recovering.journal, text.replaceAll('\n', '\r\n'));
  expect((await recovering.recover('--failed')).stderr).toBe(
    `0 forwarded; ${taken} in the journal already; 0 left\n`,
  );
  await writeFile(recovering.journal, `${text}one\ntwo\n`);
  const refused = await recovering.recover('--failed');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(`--journal: 2 lines of ${recovering.journal} cannot be read`),
  ]);
  expect((await recovering.recover('--failed', '--new-journal')).code).toBe(0);
  expect(recovering.handler.received).toHaveLength(taken);
  await writeFile(recovering.journal, Buffer.alloc(4096));
  expect((await recovering.recover('--failed')).stderr).toContain('begins with NULs: a power failure');
});

test.each(Object.entries(WRONG_BODIES))(
  'an answer of 2xx counts with %s: each event goes over once',
  async (_, odd) => {
    await using recovering = await startRecovering();
    Object.assign(recovering.handler, { odd });
    const { code, stderr } = await recovering.recover('--failed', '--new-journal');
    const { received } = recovering.handler;
    expect([code, stderr]).toEqual([0, `${received.length} forwarded; 0 in the journal already; 0 left\n`]);
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(received.length);
    expect((await recovering.recover('--failed')).stderr).toContain(`0 forwarded; ${received.length} in the`);
  },
);
