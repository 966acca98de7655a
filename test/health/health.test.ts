import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { readCsv } from '../support/outputs.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf, startSearching } from '../support/searching.ts';
import { inShape } from '../support/shape.ts';

const [FAILING, RECOVERED, OK] = [
  '22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
  '9f9073e8-1531-474d-bed1-b2f34ed6f2ce',
  'bb2b024a-e9b8-4c1b-8dde-172330f6d0da',
];
const timeOf = (minute: number) =>
  new Date(Date.parse('2026-11-02T00:00:00Z') + minute * 60_000).toISOString();

/**
 * Minute by minute: one subscription fails from 00:10 on, one failed at 00:03, one never did, and one event
 * has none.
 */
const events = [
  ...Array.from({ length: 15 }, (_, minute) => [
    [FAILING, minute === 2 || minute >= 10, minute] as const,
    [RECOVERED, minute === 3, minute] as const,
    [OK, false, minute] as const,
  ]).flat(),
  [undefined, false, 7] as const,
].map(([subscriptionId, hasFailed, minute], index) => ({
  eventId: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  eventType: index % 2 ? 'document.signed' : 'document.viewed',
  createdOn: timeOf(minute),
  publishStatus: hasFailed ? ('FAILED' as const) : ('SUCCESS' as const),
  subscriptionId,
}));

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.env['HOME'] as string, 'events.ndjson');
  // In no order: the times decide.
  const shuffled = events.toSorted((a, b) =>
    (a.eventId.at(-1) as string).localeCompare(b.eventId.at(-1) as string),
  );
  await writeFile(file, ndjsonOf(shuffled));
});
afterAll(() => home[Symbol.asyncDispose]());

const health = (args: readonly string[] = [], options: { terminal?: number; env?: object } = {}) =>
  hooktrail(['events', 'health', '--from', file, ...args], {
    ...options,
    env: { ...home.env, ...options.env },
  });

describe('events health', () => {
  test('says that the newest event is not known where no event has a time or an outcome', async () => {
    await using searching = await startSearching({ events: 0 });
    for (const [minute, publishStatus] of (['FAILED', 'SUCCESS'] as const).entries())
      searching.sandbox.control.addEvent({
        createdOn: timeOf(minute),
        publishStatus,
        json: JSON.stringify({ subscriptionId: OK }),
      });
    const { code, stderr } = await searching.run(['events', 'health', '--since', '2026-11-01']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'warning: events have no time, so their order is unknown: failing means that any event failed\n' +
        'warning: 2 events counted, but in no span of time: createdOn is missing or not a time\n',
    });
  });

  test.each(['explain --grep e', 'health --where createdOn'])(
    '%s counts events of unknown outcome, also where a condition leaves no count of the service',
    async (words) => {
      await using searching = await startSearching({ events: 0 });
      const add = (minute: number, publishStatus: string) =>
        searching.sandbox.control.addEvent({
          createdOn: timeOf(minute),
          publishStatus: publishStatus as 'FAILED',
        });
      const run = () =>
        searching.run(['events', ...words.split(' '), '--since', '2026-11-01', '--marketplace', 'all']);
      for (let minute = 2; minute < 503; minute++) add(minute, 'PENDING');
      const leftOut = '501 events skipped: publishStatus is neither SUCCESS nor FAILED';
      const alone = await run();
      expect(alone.stderr).toBe(`warning: ${leftOut}\n`);
      expect(alone.stdout).toBe('the outcome of 501 events is unknown\n');
      for (const [minute, publishStatus] of ['SUCCESS', 'FAILED'].entries()) add(minute, publishStatus);
      const beside = await run();
      expect(beside.stdout).toMatch(words.startsWith('health') ? / {2}1 of [12] / : /1 of 2 events failed/);
      expect(beside.stderr).toBe(`warning: ${leftOut}\n`);
    },
  );

  test('has a row for each subscription, failing first, with since when and the last ten', async () => {
    const { code, stdout, stderr } = await health();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'subscriptionId                        state       failed  failing since         last failure          last success          last ten',
      `${FAILING}  failing    6 of 15  2026-11-02 00:10:00Z  2026-11-02 00:14:00Z  2026-11-02 00:09:00Z  ✗✗✗✗✗·····`,
      `${RECOVERED}  recovered  1 of 15  -                     2026-11-02 00:03:00Z  2026-11-02 00:14:00Z  ··········`,
      `${OK}  ok         0 of 15  -                     -                     2026-11-02 00:14:00Z  ··········`,
      '-                                     ok          0 of 1  -                     -                     2026-11-02 00:07:00Z  ·',
      '',
      '1 of 4 failing, 1 recovered, from 2026-11-01 23:59:59Z to 2026-11-02 00:14:01Z',
      '',
    ]);
  });

  test('says since when and the last success on a narrow terminal, and what it leaves out', async () => {
    const wide = 'c'.repeat(30);
    const copies = ndjsonOf(
      Array.from({ length: 100 }, (_, copy) =>
        events.map((event) => ({ ...event, eventId: `${event.eventId}-${copy}`, wide })),
      ).flat(),
    );
    await writeFile(`${file}.many`, copies);
    const lines = async (...args: string[]) => {
      const command = ['events', 'health', '--from', `${file}.many`, ...args];
      const { stdout } = await hooktrail(command, { env: home.env, terminal: 80 });
      return stdout.replaceAll(/\u001b\[[\d;]*m/g, '').split('\n');
    };
    const failing = await lines();
    expect(failing[1]).toMatch(/failing +600 of 1,500 +11-02 00:10Z +11-02 00:09Z +✗{10}$/);
    expect(failing.slice(5, 6)).toEqual(['columns left out: last failure; a wider terminal shows them']);
    const [title, row] = await lines('--until', '2026-11-02T00:10:00Z');
    expect(title).toMatch(/last ten$/);
    expect(row).toMatch(/recovered .*··········$/);
  });

  test('has no titles under --no-header', async () => {
    const { stdout } = await health(['--no-header']);
    expect(stdout.split('\n')[0]).toMatch(new RegExp(`^${FAILING}  failing `));
  });

  test('prints an array with exactly its members, the newest first in recent', async () => {
    expect(JSON.parse((await health(['--json'])).stdout).slice(0, 2)).toEqual([
      {
        by: { subscriptionId: FAILING },
        value: FAILING,
        state: 'failing',
        failed: 6,
        events: 15,
        failingSince: '2026-11-02T00:10:00.000Z',
        edge: false,
        lastSuccess: '2026-11-02T00:09:00.000Z',
        lastFailed: '2026-11-02T00:14:00.000Z',
        lastError: null,
        silentSince: null,
        usualGapSeconds: null,
        recent: 'FFFFFSSSSS',
        name: null,
      },
      {
        by: { subscriptionId: RECOVERED },
        value: RECOVERED,
        state: 'recovered',
        failed: 1,
        events: 15,
        failingSince: null,
        edge: false,
        lastSuccess: '2026-11-02T00:14:00.000Z',
        lastFailed: '2026-11-02T00:03:00.000Z',
        lastError: null,
        silentSince: null,
        usualGapSeconds: null,
        recent: 'SSSSSSSSSS',
        name: null,
      },
    ]);
  });

  test('exits with 10 while any is failing, if asked to, whatever the format', async () => {
    expect((await health(['--exit-code', '--json'])).code).toBe(10);
    expect((await health(['--exit-code', '--subscription', OK as string])).code).toBe(0);
    expect((await health(['--exit-code', '--until', '2026-11-02T00:10:00Z'])).code).toBe(0);
  });

  test('groups by one other field, warns of one that no event has, and refuses a status', async () => {
    const { stdout } = await health(['--by', 'eventType', '--jq', '.[] | "\\(.value) \\(.events)"']);
    expect(stdout).toBe('document.viewed 23\ndocument.signed 23\n');
    const { code, stderr } = await health(['--by', 'eventtype']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: "warning: --by: no event has the field 'eventtype'; did you mean eventType?\n",
    });
    expect((await health(['--failed'])).code).toBe(2);
    expect((await health(['--by', 'a\\,b'])).stderr).toMatch(
      /^warning: --by: no event has the field 'a\\,b'/,
    );
  });

  test('knows a field that only an event of unknown outcome has', async () => {
    const place = path.join(home.env['HOME'] as string, 'pending.ndjson');
    await writeFile(
      place,
      ndjsonOf([
        { ...events[0], publishStatus: 'PENDING', region: 'north' },
        { ...events[1], publishStatus: 'SUCCESS' },
      ]),
    );
    const line = ['events', 'health', '--from', place, '--by', 'region'];
    expect((await hooktrail(line, { env: home.env })).stderr).toBe(
      'warning: 1 event skipped: publishStatus is neither SUCCESS nor FAILED\n',
    );
  });

  test('groups by several fields together, in every format', async () => {
    const by = ['--by', 'eventType,subscriptionId'];
    const rows = JSON.parse((await health([...by, '--json'])).stdout);
    expect(rows[0]).toMatchObject({
      by: { eventType: 'document.viewed', subscriptionId: FAILING },
      value: 'document.viewed',
      state: 'failing',
    });
    expect(rows).toHaveLength(7);
    const csv = readCsv((await health([...by, '--csv'])).stdout);
    expect(csv[0]).toEqual([
      ...['eventType', 'subscriptionId', 'name', 'state', 'failed', 'events', 'failingSince', 'edge'],
      ...['lastFailed', 'lastError', 'lastSuccess', 'silentSince', 'usualGapSeconds', 'recent'],
    ]);
    expect(csv).toHaveLength(8);
    expect(csv[1]?.slice(0, 4)).toEqual(['document.viewed', FAILING, '', 'failing']);
    expect((await health(['--csv', '--csv-bom'])).stdout).toMatch(/^\ufeffsubscriptionId,name/);
    const lines = (await health([...by, '--ndjson'])).stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows);
    expect((await health([...by])).stdout).toMatch(/^eventType +subscriptionId +state/);
  });

  test('says why the last failure failed where events tell, and who the events are for', async () => {
    const other = path.join(home.env['HOME'] as string, 'errors.ndjson');
    const failure = (minute: number, lastError: string, customer: string) => ({
      ...(events[0] as object),
      eventId: `00000000-0000-4000-8000-00000000000${minute}`,
      createdOn: timeOf(minute),
      publishStatus: 'FAILED',
      delivery: { lastError },
      customer,
    });
    await writeFile(
      other,
      ndjsonOf([
        failure(1, '503 down', 'Harbour'),
        failure(2, '401 refused', 'Harbour'),
        failure(0, '500', 'Hill'),
      ]),
    );
    const env = { ...home.env, HOOKTRAIL_NAME_FIELD: 'customer' };
    const run = (...args: string[]) => hooktrail(['events', 'health', '--from', other, ...args], { env });
    expect(JSON.parse((await run('--json')).stdout)).toMatchObject([
      { lastError: '401 refused', name: 'Harbour and 1 more', lastFailed: timeOf(2) },
    ]);
    expect((await run()).stdout).toMatch(/^for .* error .*\nHarbour and 1 more .* 401 refused /);
  });

  test('of two that fail puts 40 of 50 before 1 of 1', async () => {
    const other = path.join(home.env['HOME'] as string, 'order.ndjson');
    const made = (index: number, type: string, hasFailed: boolean) => ({
      eventId: `00000000-0000-4000-8000-0000000001${String(index).padStart(2, '0')}`,
      eventType: type,
      createdOn: timeOf(index),
      publishStatus: hasFailed ? 'FAILED' : 'SUCCESS',
    });
    const many = Array.from({ length: 50 }, (_, index) => made(index, 'many', index >= 10));
    await writeFile(other, ndjsonOf([made(55, 'one', true), ...many]));
    const { stdout } = await hooktrail(
      ['events', 'health', '--by', 'eventType', '--from', other, '--jq', '.[].value'],
      { env: home.env },
    );
    expect(stdout).toBe('many\none\n');
  });

  test('events without a time are not the newest', async () => {
    const other = path.join(home.env['HOME'] as string, 'undated.ndjson');
    const event = (createdOn: string | null, publishStatus: string) =>
      JSON.stringify({ subscriptionId: OK, createdOn, publishStatus });
    await writeFile(
      other,
      [event(null, 'FAILED'), event(timeOf(1), 'SUCCESS'), event(null, 'FAILED')].join('\n'),
    );
    const { stdout } = await hooktrail(['events', 'health', '--json', '--from', other], { env: home.env });
    // One success does not end a run of failures.
    expect(JSON.parse(stdout)).toMatchObject([{ state: 'failing', failingSince: null, recent: 'SFF' }]);
  });

  test('reads the service, and says when nothing was created', async () => {
    await using searching = await startSearching({ events: 0 });
    const read = (...args: string[]) => searching.run(['events', 'health', ...args]);
    const window = ['--since', '2026-11-01', '--until', '2026-11-03'];
    const nothing = (await read(...window)).stdout;
    // A service that names its subscriptions shows those without events.
    const end = inShape({
      flat: /^no events/,
      published: /\n0 of 7 were failing at the end, 0 had recovered, 7 without events,/,
    });
    expect(nothing).toMatch(end);
    expect(nothing).toContain('from 2026-11-01 00:00Z to 2026-11-03 00:00Z\n');
    for (const event of events)
      searching.sandbox.control.addEvent({
        ...event,
        subscriptionId: event.subscriptionId ?? (OK as string),
      });
    const { stdout } = await read(...window, '--output', 'markdown');
    const [title, rule, address] = inShape({
      flat: ['', '', ''],
      published: [' address |', ' --- |', ' hooks.harbour.example/in/… |'],
    });
    // A service that tells details of deliveries tells why one failed.
    const [error, more] = inShape({ flat: [' error |', ' --- |'], published: ['', ''] });
    const reason = inShape({
      flat: ' 502 Bad Gateway: upstream connect error or disconnect/reset before headers |',
      published: '',
    });
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      `|${title} subscriptionId | state then | failed | failing from | last failure |${error} last success | last ten |`,
      `|${rule} --- | --- | ---: | --- | --- |${more} --- | --- |`,
      `|${address} ${FAILING} | failing | 6 of 15 | 2026-11-02T00:10:00Z | 2026-11-02T00:14:00Z |${reason} 2026-11-02T00:09:00Z | ✗✗✗✗✗····· |`,
    ]);
  });
});

describe('a row of events health', () => {
  const rowsOf = async (some: readonly object[], ...args: string[]) => {
    const place = path.join(home.env['HOME'] as string, 'some.ndjson');
    await writeFile(place, ndjsonOf(some));
    return (await hooktrail(['events', 'health', '--from', place, ...args], { env: home.env })).stdout;
  };
  const outcomes = (text: string, subscriptionId = FAILING) =>
    [...text].map((outcome, minute) => ({
      ...events[minute],
      publishStatus: outcome === 'F' ? 'FAILED' : 'SUCCESS',
      createdOn: timeOf(minute),
      subscriptionId,
    }));

  test('has the mark of an edge in every format, and none where a delivery came first', async () => {
    expect(await rowsOf(outcomes('FFF'))).toContain('2026-11-02 00:00:00Z or earlier');
    expect(await rowsOf(outcomes('FFF'), '-o', 'markdown')).toContain('| 2026-11-02T00:00:00Z or earlier |');
    const csv = readCsv(await rowsOf(outcomes('FFF'), '--csv'));
    expect(csv[1]?.[csv[0]?.indexOf('edge') as number]).toBe('true');
    const narrow = await hooktrail(
      ['events', 'health', '--from', path.join(home.env['HOME'] as string, 'some.ndjson')],
      { env: home.env, terminal: 80 },
    );
    expect(narrow.stdout).toContain('or earlier');
    expect(await rowsOf(outcomes('SFF'))).not.toContain('or earlier');
    expect(JSON.parse(await rowsOf(outcomes('SFF'), '--json'))[0]).toMatchObject({ edge: false });
  });

  test('counts a GUID in capitals and in small letters as one', async () => {
    const both = [...outcomes('SS'), ...outcomes('FF', FAILING.toUpperCase())];
    expect(JSON.parse(await rowsOf(both, '--json'))).toMatchObject([
      { value: FAILING, failed: 2, events: 4 },
    ]);
  });

  test('is off for a subscription that is switched off, whatever its past', async () => {
    await using at = await startSearching({ events: 0 });
    const OFF = '95bb7fc4-c819-4328-97e4-f5241d61eecf';
    for (const minute of [1, 2])
      at.control.addEvent({ subscriptionId: OFF, publishStatus: 'FAILED', createdOn: timeOf(minute) });
    const run = (...args: string[]) =>
      at.run(['events', 'health', '--since', '2026-11-01', '--marketplace', 'all', ...args]);
    const rows = JSON.parse((await run('--json')).stdout);
    expect(rows.find(({ value }: { value: string }) => value === OFF)).toMatchObject(
      inShape({ published: { state: 'off', failingSince: null }, flat: { state: 'failing' } }),
    );
    expect((await run('--exit-code-for', 'off,gone')).code).toBe(inShape({ published: 10, flat: 0 }));
    expect((await run('--exit-code')).code).toBe(inShape({ published: 0, flat: 10 }));
    at.control.fault('subscriptions', { kind: 'status', status: 403 });
    const unknown = await run('--exit-code-for', 'off');
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(
      /^warning: subscriptions without events have no row here: the subscriptions cannot be listed/,
    );
  });

  test('says in which order they are where it does not show', async () => {
    const two = [...outcomes('F'), ...outcomes('SSFFFFFFFF', RECOVERED)];
    const order = /\nworst first within each state, by the lower bound of the failure rate/;
    expect(await rowsOf(two)).toMatch(order);
    expect(await rowsOf(outcomes('FFF'))).not.toMatch(order);
  });
});
