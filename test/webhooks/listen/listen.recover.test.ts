import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { accepted, ended, portOf, post, type Recovering, startRecovering } from '../../support/listening.ts';
import { startHooktrail } from '../../support/program.ts';

const MINUTE = 60_000;

/** `webhooks listen --recover` beside a sandbox; ends with `await using`. */
async function startCatchingUp(at: Recovering, ...flags: string[]) {
  return await startListener(at, '--recover', ...flags, '--new-journal');
}

async function startListener(at: Recovering, ...flags: string[]) {
  const program = startHooktrail(at.listenArgs(...flags), { env: at.env });
  const port = await portOf(program);
  return { program, port, [Symbol.asyncDispose]: () => ended(program) };
}

/** Returns standard error after the line that says it is listening. */
function said({ program }: { program: { stderr: string } }): string[] {
  return program.stderr.split('\n').slice(1, -1);
}

test('recovers events at the start and after each interval, and says that deliveries do not come', async () => {
  await using at = await startRecovering({ events: 0 });
  const { control } = at.searching.sandbox;
  const created = (ago: number) =>
    control.addEvent({ createdOn: new Date(clock.now() - ago).toISOString() }).eventId;
  const old = created(61 * MINUTE);
  const missed = [created(30 * MINUTE), created(20 * MINUTE)];
  await using listener = await startCatchingUp(at);
  await listener.program.printed('stderr', /recovered/);
  expect(said(listener)).toEqual([
    'recovered 2 events of the last 1h; the service calls 2 of them delivered',
  ]);
  expect([...at.handler.taken.keys()]).toEqual(missed);
  expect(listener.program.stdout.split('\n').map((line) => line && JSON.parse(line).eventId)).toEqual([
    ...missed,
    '',
  ]);

  const late = created(0);
  await clock.asleep(5 * MINUTE);
  clock.advance(5 * MINUTE);
  await listener.program.printed('stderr', /never came or was refused/);
  expect(said(listener).slice(1)).toEqual([
    'warning: recovered 1 event whose delivery never came or was refused',
  ]);
  expect([...at.handler.taken]).toEqual([...missed, late].map((id) => [id, 1]));
  expect(at.handler.taken.has(old)).toBe(false);
  expect((await post(listener.port, JSON.stringify({ eventId: late }))).body).toBe('{"outcome":"duplicate"}');
});

test('with a new journal hands over what FAILED, and says how many delivered events it left alone', async () => {
  await using at = await startRecovering({ events: 0 });
  const { control } = at.searching.sandbox;
  const first = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
  const second = '74442f2c-151a-42dd-a769-6991a708dad3';
  const created = (minutes: number, more: object = {}) =>
    control.addEvent({ createdOn: new Date(clock.now() - minutes * MINUTE).toISOString(), ...more }).eventId;
  const [failed] = [created(30, { publishStatus: 'FAILED' }), created(20), created(10)];
  const both = { eventId: '0f8fad5b-d9cb-469f-a165-70867728950e' };
  created(9, { ...both, subscriptionId: first, publishStatus: 'FAILED' });
  created(8, { ...both, subscriptionId: second });
  const due = [failed, both.eventId];
  await using listener = await startListener(at, '--recover');
  await listener.program.printed('stderr', /left alone.*\n/);
  expect(said(listener)).toEqual([
    'recovered 2 events of the last 1h',
    'left alone 2 events that the service reports as delivered: the journal is new, so they may have been handled before (--new-journal hands them over too)',
  ]);
  expect([...at.handler.taken.keys()]).toEqual(due);
  // What is delivered from now on and never comes is lost on the way.
  await clock.asleep(5 * MINUTE);
  const lost = created(0);
  clock.advance(5 * MINUTE);
  await listener.program.printed('stderr', /recovered 1 event whose delivery never came/);
  expect([...at.handler.taken.keys()]).toEqual([...due, lost]);
});

test('with a journal that has ids, says how many of the recovered events were delivered', async () => {
  await using at = await startRecovering({ events: 0 });
  const { eventId } = at.searching.sandbox.control.addEvent({ publishStatus: 'FAILED' });
  await writeFile(at.journal, '0f8fad5bd9cb469fa16570867728950e 1795176000\n');
  const delivered = at.searching.sandbox.control.addEvent({}).eventId;
  await using listener = await startListener(at, '--recover');
  await listener.program.printed('stderr', /recovered.*\n/);
  expect(said(listener)).toEqual([
    'recovered 2 events of the last 1h; the service calls 1 of them delivered',
  ]);
  expect([...at.handler.taken.keys()]).toEqual([eventId, delivered]);
});

test('counts as recovered what the handler took of what was found, and nothing that a delivery brought', async () => {
  await using at = await startRecovering({ events: 0 });
  const { control } = at.searching.sandbox;
  const created = (minutes: number) =>
    control.addEvent({ createdOn: new Date(clock.now() - minutes * MINUTE).toISOString() }).eventId;
  const [taken, refused, delivered] = [created(30), created(20), created(10)];
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  at.handler.answer = async ({ body }) => {
    const { eventId } = JSON.parse(body.toString());
    if (eventId === taken) await held;
    return eventId === refused ? 400 : 200;
  };
  await using listener = await startCatchingUp(at, '--health', '/health');
  await expect.poll(() => at.handler.received.length).toBe(1);
  // The third one comes as a delivery before it is its turn.
  expect(await post(listener.port, JSON.stringify({ eventId: delivered }))).toMatchObject(accepted);
  release();
  await listener.program.printed('stderr', /not accepted/);
  expect(said(listener)).toContain('recovered 1 event of the last 1h; the service calls 1 of them delivered');
  const health = await post(listener.port, '', {}, { method: 'GET', path: '/health' });
  expect(JSON.parse(health.body)).toMatchObject({ accepted: 2, recovered: 1, failed: 1, duplicates: 1 });
});

test('an event whose delivery may still arrive is left to the next search', async () => {
  await using at = await startRecovering({ events: 0 });
  await using listener = await startCatchingUp(at, '1h', '--recover-interval', '1m');
  await listener.program.printed('stderr', /recovered 0 events/);
  await clock.asleep(MINUTE);
  clock.advance(MINUTE - 5_000);
  const { eventId } = at.searching.sandbox.control.addEvent({});
  const searches = () => at.searching.queries().length;
  const before = searches();
  clock.advance(5_000);
  await expect.poll(searches).toBeGreaterThan(before);
  await clock.asleep(MINUTE);
  expect(await post(listener.port, JSON.stringify({ eventId }))).toMatchObject(accepted);
  clock.advance(MINUTE);
  await expect.poll(searches).toBeGreaterThan(before + 1);
  await clock.asleep(MINUTE);
  expect(said(listener)).toEqual(['recovered 0 events of the last 1h']);
  expect([...at.handler.taken]).toEqual([[eventId, 1]]);
});

test('a failed search is reported and repeated after the interval; deliveries continue', async () => {
  await using at = await startRecovering({ events: 0 });
  const { control } = at.searching.sandbox;
  const { eventId } = control.addEvent({});
  control.fault('events', { kind: 'status', status: 403, body: '{"code":"event.forbidden"}' });
  await using listener = await startCatchingUp(at, '--recover-interval', '10m');
  await listener.program.printed('stderr', /could not be recovered/);
  expect(said(listener)).toEqual([
    'warning: events could not be recovered, again in 10m: the search failed: the service answered 403 Forbidden',
  ]);
  expect(await post(listener.port, '{"eventId":"a"}')).toMatchObject(accepted);
  await clock.asleep(10 * MINUTE);
  clock.advance(10 * MINUTE);
  await listener.program.printed('stderr', /never came or was refused/);
  expect(at.handler.taken.get(eventId)).toBe(1);
});

test('after hours asleep, or of failed searches, events are recovered since the last search that succeeded', async () => {
  await using at = await startRecovering({ events: 0, tokenLifetimeSeconds: 86_400 });
  const { control } = at.searching.sandbox;
  await using listener = await startCatchingUp(at);
  await listener.program.printed('stderr', /recovered 0 events/);
  await clock.asleep(5 * MINUTE);
  const asleep = [170, 90, 1].map((ago) => clock.now() + (180 - ago) * MINUTE);
  clock.advance(180 * MINUTE);
  control.fault('events', { kind: 'status', status: 403, body: '{"code":"event.forbidden"}' });
  const ids = asleep.map((time) => control.addEvent({ createdOn: new Date(time).toISOString() }).eventId);
  await listener.program.printed('stderr', /could not be recovered/);
  await clock.asleep(5 * MINUTE);
  clock.advance(5 * MINUTE);
  await listener.program.printed('stderr', /recovered \d events? whose/);
  expect([...at.handler.taken.keys()]).toEqual(ids);
});

test('events that a handler which is down refuses are tried again for a day, though the window is an hour', async () => {
  await using at = await startRecovering({ events: 0, tokenLifetimeSeconds: 86_400 });
  const { control } = at.searching.sandbox;
  const { eventId } = control.addEvent({ createdOn: new Date(clock.now() - 50 * MINUTE).toISOString() });
  at.handler.answer = () => 503;
  await using listener = await startCatchingUp(at, '--recover-interval', '1h');
  await listener.program.printed('stderr', /not accepted/);
  for (let hour = 0; hour < 3; hour++) {
    await clock.asleep(60 * MINUTE);
    const tried = at.handler.received.length;
    if (hour === 2) at.handler.answer = () => 200;
    clock.advance(60 * MINUTE);
    await expect.poll(() => at.handler.received.length).toBeGreaterThan(tried);
  }
  await listener.program.printed('stderr', /recovered 1 event whose/);
  expect([...at.handler.taken]).toEqual([[eventId, 1]]);
  // An event that it refuses for good is not tried for longer than the window.
  at.handler.answer = () => 422;
  const refused = control.addEvent({}).eventId;
  await clock.asleep(60 * MINUTE);
  clock.advance(59 * MINUTE);
  clock.advance(MINUTE);
  await listener.program.printed('stderr', new RegExp(`${refused}: the handler answered 422`));
  await clock.asleep(60 * MINUTE);
  const tried = at.handler.received.length;
  const searches = at.searching.queries().length;
  clock.advance(61 * MINUTE);
  await expect.poll(() => at.searching.queries().length).toBeGreaterThan(searches);
  await clock.asleep(60 * MINUTE);
  expect(at.handler.received.length).toBe(tried);
});

test('with --keep no event is searched for that the journal may have forgotten', async () => {
  await using at = await startRecovering({ events: 0, tokenLifetimeSeconds: 86_400 });
  const { control } = at.searching.sandbox;
  await using listener = await startCatchingUp(at, '--keep', '2h');
  await listener.program.printed('stderr', /recovered 0 events/);
  await clock.asleep(5 * MINUTE);
  const { eventId } = control.addEvent({});
  expect(await post(listener.port, JSON.stringify({ eventId }))).toMatchObject(accepted);
  control.fault('events', { kind: 'status', status: 403, body: '{"code":"event.forbidden"}' });
  clock.advance(180 * MINUTE);
  await listener.program.printed('stderr', /could not be recovered/);
  const late = control.addEvent({}).eventId;
  expect(await post(listener.port, JSON.stringify({ eventId: late }))).toMatchObject(accepted);
  await clock.asleep(5 * MINUTE);
  clock.advance(5 * MINUTE);
  await clock.asleep(5 * MINUTE);
  expect([...at.handler.taken]).toEqual([
    [eventId, 1],
    [late, 1],
  ]);
});
test('events that the handler refuses are tried again the next time', async () => {
  await using at = await startRecovering({ events: 0 });
  const { eventId } = at.searching.sandbox.control.addEvent({});
  at.handler.answer = () => 500;
  await using listener = await startCatchingUp(at);
  await listener.program.printed('stderr', /not accepted/);
  expect(said(listener)).toEqual([
    `warning: ${eventId}: the handler answered 500: thanks`,
    `next: \`hooktrail webhooks replay --id ${eventId} --forward-to '${at.handler.url}'\` sends it again`,
    'recovered 0 events of the last 1h',
    'warning: 1 found event was not accepted, and is tried again in 5m',
  ]);
  at.handler.answer = () => 200;
  await clock.asleep(5 * MINUTE);
  clock.advance(5 * MINUTE);
  await listener.program.printed('stderr', /recovered 1 event whose/);
  expect(at.handler.taken.get(eventId)).toBe(1);
});

test.each([
  [
    2,
    'warning: 2 found events were not accepted, and are tried again in 5m',
    '1 accepted, 0 duplicates, 2 failed tries, 0 rejected; 1 of the accepted was recovered',
  ],
  [
    1,
    'warning: 1 found event was not accepted, and is tried again in 5m',
    '2 accepted, 0 duplicates, 1 failed try, 0 rejected; 2 of the accepted were recovered',
  ],
])(
  'found events of which the handler refuses %i are counted at the end of a terminal',
  async (count, warning, summary) => {
    await using at = await startRecovering({ events: 0 });
    const ids = [1, 2, 3].map(() => at.searching.sandbox.control.addEvent({}).eventId);
    const refused = ids.slice(0, count);
    at.handler.answer = ({ body }) => (refused.some((id) => body.includes(id)) ? 400 : 200);
    const args = at.listenArgs('--recover', '--new-journal', '--no-color');
    const program = startHooktrail(args, { env: at.env, terminal: 100 });
    await program.printed('stderr', /tried again in 5m\n/);
    program.kill('SIGTERM');
    const { stderr } = await program.finished;
    // The line of the progress is cleared before the last one is printed.
    expect(stderr.replace('\r\u001b[K', '').split('\n').slice(-3)).toEqual([warning, summary, '']);
  },
);

test('the found events that come after a stop are not handed on', async () => {
  await using at = await startRecovering({ events: 0 });
  for (let count = 0; count < 3; count++) at.searching.sandbox.control.addEvent({});
  const answer = at.handler.hold();
  await using listener = await startCatchingUp(at);
  await expect.poll(() => at.handler.received.length).toBe(1);
  listener.program.kill('SIGTERM');
  await expect.poll(() => post(listener.port, '{"eventId":"a"}').catch(() => 'gone')).toBe('gone');
  answer(200);
  expect((await listener.program.finished).code).toBe(143);
  expect(at.handler.received).toHaveLength(1);
});

test('a stop waits at most ten seconds for a found event whose handler never answers', async () => {
  await using at = await startRecovering({ events: 0 });
  at.searching.sandbox.control.addEvent({});
  at.handler.answer = () => new Promise(() => undefined);
  await using listener = await startCatchingUp(at, '--forward-timeout', '3600');
  await expect.poll(() => at.handler.received.length).toBe(1);
  listener.program.kill('SIGINT');
  await listener.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
  await clock.asleep(10_000);
  clock.advance(9_000);
  expect((await listener.program.finished).code).toBe(130);
});

test("a subscription's first journal is said, since the profile's has ids that it does not know", async () => {
  await using at = await startRecovering({ events: 0 });
  const guid = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const args = ['webhooks', 'listen', '--port', '0', '--subscription', guid];
  const listen = async (...others: string[]) => {
    const program = startHooktrail(others.length > 0 ? others : args, { env: at.env });
    await portOf(program);
    await ended(program);
    return program.stderr;
  };
  expect(await listen()).not.toContain('a new journal');
  await listen('webhooks', 'listen', '--port', '0');
  expect(await listen()).not.toContain('a new journal');
  const other = guid.replace(/^0/, '1');
  expect(await listen('webhooks', 'listen', '--port', '0', '--subscription', other)).toMatch(
    /a new journal begins for this subscription: events in .*default\.journal count as new here/,
  );
});
