import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { forEachTest } from '../support/each-test.ts';
import { API_TOKEN, listening, startRecovering } from '../support/listening.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';

const FIRST = '0f8fad5b-d9cb-469f-a165-70867728950e';
const SECOND = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const ONE = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';

/**
 * The bytes of an event: white space inside a text, a number that no double holds, a key that stands twice.
 */
const eventOf = (id: string) =>
  `{"eventId":"${id}","eventType":"order.created","body":{"n":9007199254740993,"t":"a  b","k":1,"k":1.10}}`;

/** A record of an event for a subscription, as a service shows it that keeps the event one level down. */
const recordOf = (id: string, subscription: string, minute: number, status = 'FAILED') =>
  `{"subscriptionId":"${subscription}","publishStatus":"${status}","createdOn":"${timeAt(minute)}","eventData":${eventOf(id)}}`;

const timeAt = (minute: number) => new Date(clock.now() - 3_600_000 + minute * 60_000).toISOString();

/** A service with two events, the first of which has a record for each of two subscriptions; nothing else. */
async function startHandingOver() {
  const at = await startRecovering({ events: 0 });
  const records: [string, string, number, string?][] = [
    [FIRST, ONE, 1],
    [SECOND, ONE, 2],
    [FIRST, OTHER, 3, 'SUCCESS'],
  ];
  for (const [eventId, subscriptionId, minute, publishStatus = 'FAILED'] of records)
    at.searching.sandbox.control.store.add({
      eventId,
      subscriptionId,
      publishStatus: publishStatus as 'FAILED',
      createdOn: timeAt(minute),
      json: recordOf(eventId, subscriptionId, minute, publishStatus),
    });
  const bodies = () => at.handler.received.map(({ body }) => body.toString());
  return { ...at, bodies };
}

const at = forEachTest(startHandingOver);
const LEFT_OUT =
  '1 more record of these events left out: each event is forwarded once, from its newest record\n';

test('recover hands over the event of each record, byte for byte and once', async () => {
  const { code, stderr } = await at.recover('--new-journal');
  expect([code, at.bodies()]).toEqual([0, [eventOf(SECOND), eventOf(FIRST)]]);
  expect(stderr).toContain(LEFT_OUT);
  expect(stderr).toContain('2 forwarded; 0 in the journal already; 0 left\n');
  expect((await at.recover()).stderr).toBe('0 forwarded; 2 in the journal already; 0 left\n');
});

test('recover --hand-over record hands over the whole newest record', async () => {
  await at.recover('--new-journal', '--hand-over', 'record');
  expect(at.bodies()).toEqual([recordOf(SECOND, ONE, 2), recordOf(FIRST, OTHER, 3, 'SUCCESS')]);
});

test('recover --dry-run lists records, and says that the handler gets the event inside', async () => {
  const { stdout, stderr } = await at.recover('--new-journal', '--dry-run', '--ndjson');
  expect(stdout).toBe(`${recordOf(SECOND, ONE, 2)}\n${recordOf(FIRST, OTHER, 3, 'SUCCESS')}\n`);
  expect(stderr).toContain('the handler gets the event inside each record, as a delivery carries it');
  expect(at.bodies()).toEqual([]);
});

test('replay by filters, by id, by ids on standard input and from a file hands over events', async () => {
  const replay = (flags: readonly string[], stdin = '') =>
    hooktrail(['webhooks', 'replay', '--forward-to', at.handler.url, ...flags], { env: at.env, stdin });
  expect((await replay(['--since', '60d'])).stderr).toBe(`${LEFT_OUT}2 replayed; 0 refused\n`);
  expect((await replay(['--id', FIRST])).stderr).toContain('1 replayed; 0 refused\n');
  expect((await replay(['-'], `${SECOND}\n`)).stderr).toBe('1 replayed; 0 refused\n');
  const file = path.join(at.env['HOME'] as string, 'records.ndjson');
  await writeFile(file, `${recordOf(FIRST, ONE, 1)}\n`);
  expect((await replay(['--from', file, '--id', FIRST])).stderr).toBe('1 replayed; 0 refused\n');
  expect(at.bodies()).toEqual([SECOND, FIRST, FIRST, SECOND, FIRST].map(eventOf));
  expect(at.handler.received.every(({ headers }) => headers['api-token'] === API_TOKEN)).toBe(true);
});

test('replay names another value of --hand-over in its next step', async () => {
  at.handler.answer = () => 500;
  const flags = ['--forward-to', at.handler.url, '--since', '60d', '--hand-over', 'record'];
  const { stderr } = await hooktrail(['webhooks', 'replay', ...flags], { env: at.env });
  expect(stderr).toMatch(/next: `hooktrail webhooks replay --id .* --hand-over record` sends them again/);
  const wrong = await hooktrail(['webhooks', 'replay', ...flags.slice(0, -1), 'item'], { env: at.env });
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining("--hand-over: invalid value 'item': must be event or record"),
  ]);
});

test('the next step of replay keeps the subscription, whose token and record it is', async () => {
  at.handler.answer = () => 500;
  const flags = ['--forward-to', at.handler.url, '--subscription', ONE, '--id', FIRST];
  const { stderr } = await hooktrail(['webhooks', 'replay', ...flags], { env: at.env });
  expect(stderr).toContain(
    `next: \`hooktrail webhooks replay --id ${FIRST} --forward-to '${at.handler.url}' --subscription ${ONE}\` sends it again\n`,
  );
});

test('listen --recover hands over the event of each record once', async () => {
  const flags = ['--port', '0', '--journal', at.journal, '--recover', '2h', '--forward-to', at.handler.url];
  const listener = startHooktrail(['webhooks', 'listen', ...flags], { env: at.env });
  await listener.printed('stderr', /recovered 2 events/);
  listener.kill('SIGTERM');
  await listener.finished;
  expect(at.bodies()).toEqual([eventOf(SECOND), eventOf(FIRST)]);
});

test('a record that is read in two ways is refused alone, and the others go over', async () => {
  const eventId = '33333333-3333-4333-8333-333333333333';
  const twice = `{"createdOn":"${timeAt(0)}","eventData":{"eventId":"${eventId}"},"eventData":{"n":1}}`;
  at.searching.sandbox.control.store.add({
    ...{ eventId, subscriptionId: ONE, publishStatus: 'FAILED', createdOn: timeAt(0), json: twice },
  });
  const flags = ['--recover', '2h', '--hand-over', 'record', '--forward-to', at.handler.url];
  const args = ['webhooks', 'listen', '--port', '0', '--journal', at.journal, ...flags];
  const listener = startHooktrail(args, { env: at.env });
  await listener.printed('stderr', /again in 5m/);
  listener.kill('SIGTERM');
  const { stderr } = await listener.finished;
  expect(at.bodies().map((body) => JSON.parse(body).eventData.eventId)).toEqual([SECOND, FIRST]);
  expect(stderr).toContain("warning: a found event cannot be handed over: the body has no 'eventId'\n");
  expect(stderr).toContain('recovered 2 events of the last 2h\nwarning: 1 found event was not accepted, ');
});

test('a listener takes a delivery of the event, and of the record', async () => {
  await using listener = await listening(startHooktrail, []);
  expect((await listener.send(eventOf(FIRST))).status).toBe(200);
  expect((await listener.send(recordOf(SECOND, ONE, 2))).status).toBe(200);
  expect((await listener.send(recordOf(FIRST, OTHER, 3))).body).toBe('{"outcome":"duplicate"}');
  expect((await listener.send('{"a":{"eventId":"x"},"b":{"eventId":"y"}}')).status).toBe(400);
});

test('each subscription has a journal of its own: what one handler took is not taken for the other', async () => {
  const recover = (subscription: string, ...flags: string[]) => {
    const args = ['webhooks', 'recover', '--since', '60d', '--forward-to', at.handler.url];
    return hooktrail([...args, '--subscription', subscription, ...flags], { env: at.env });
  };
  const without = await recover(ONE);
  expect([without.code, without.stderr]).toEqual([
    2,
    expect.stringContaining(`the subscription ${ONE} has no journal yet`),
  ]);
  expect((await recover(ONE, '--new-journal')).stderr).toContain(
    '2 forwarded; 0 in the journal already; 0 left',
  );
  expect((await recover(OTHER, '--new-journal')).stderr).toContain('1 forwarded; 0 in the journal');
  expect((await recover(OTHER)).stderr).toContain('0 forwarded; 1 in the journal already; 0 left');
  const flags = ['--port', '0', '--subscription', OTHER.toUpperCase(), '--recover', '2h'];
  const listener = startHooktrail(['webhooks', 'listen', ...flags, '--forward-to', at.handler.url], {
    env: at.env,
  });
  await listener.printed('stderr', /1 known id in \S+~22222222-\S+[\s\S]*recovered 0 events/);
  listener.kill('SIGTERM');
  await listener.finished;
  const wrong = await hooktrail(['webhooks', 'listen', '--subscription', 'hooks'], { env: at.env });
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining("--subscription: 'hooks' is not a GUID"),
  ]);
});
