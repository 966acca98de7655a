import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startExporting } from '../support/exporting.ts';
import { editJson, times } from '../support/sandbox.ts';
import { idsOf } from '../support/searching.ts';
import { knownOf, typeName } from '../support/shape.ts';

const minutes = (count: number) => new Date(clock.now() - count * 60_000).toISOString();

describe('events export --update', () => {
  test('adds new events, late events, and the later state of an event, each once', async () => {
    await using exporting = await startExporting({ events: 400 });
    const { control } = exporting.sandbox;
    const small = ['--page-size', '5'];
    const changing = control.addEvent({ publishStatus: 'SUCCESS', createdOn: minutes(10) }).eventId;
    expect((await exporting.export(...small)).code).toBe(0);
    const before = await exporting.parts();
    clock.advance(120_000);
    const late = control.addEvent({ createdOn: minutes(30) }).eventId;
    control.setStatus(changing, 'FAILED');
    const added = Array.from({ length: 60 }, () => control.addEvent().eventId);
    clock.advance(2000);
    const { code, stderr } = await exporting.export(...small, '--update');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^exported: 462 events in /) });
    const lines = (await exporting.lines()).trimEnd().split('\n');
    const ids = await exporting.ids();
    expect(new Set(ids).size).toBe(462);
    expect([...ids].sort()).toEqual(control.store.newestIds(462).sort());
    expect(ids).toEqual(expect.arrayContaining([late, ...added]));
    expect(
      lines.filter((line) => line.includes(changing)).map((line) => JSON.parse(line).publishStatus),
    ).toEqual(['FAILED']);
    // Older files are unchanged.
    const after = await exporting.parts();
    expect(before.filter((name) => after.includes(name)).length).toBeGreaterThan(before.length / 2);
    expect((await exporting.export(...small)).stderr).toMatch(/^verified: 462 events in /);
    // Read offline, all files are one list again, newest first.
    const offline = await exporting.search('--ndjson', '--from', exporting.directory);
    expect(offline.stdout).toBe((await exporting.search('--ndjson')).stdout);
  });

  test('changes nothing if nothing is new, and starts an export if there is none', async () => {
    await using exporting = await startExporting({ events: 40 });
    expect((await exporting.export('--update')).stderr).toMatch(/^exported: 40 events in /);
    const manifest = await exporting.manifest();
    // Still in the export's last second.
    clock.advance(-1);
    expect((await exporting.export('--update')).code).toBe(0);
    expect(await exporting.manifest()).toEqual(manifest);
    clock.advance(60_000);
    const { eventId } = exporting.sandbox.control.addEvent();
    clock.advance(2000);
    await exporting.export('--update');
    clock.advance(60_000);
    await exporting.export('--update');
    expect((await exporting.ids()).filter((id) => id === eventId)).toHaveLength(1);
    expect(await exporting.ids()).toHaveLength(41);
  });

  test('keeps events that the service has deleted', async () => {
    await using exporting = await startExporting({ events: 300, tokenLifetimeSeconds: 86_400 });
    await exporting.export('--page-size', '5');
    const all = await exporting.ids();
    clock.advance(3 * 3_600_000);
    const { eventId } = exporting.control.addEvent();
    clock.advance(2000);
    // The service only answers with events of the last hour.
    const forgetting = editJson((page) => {
      const items = page.items.filter((item: object) => knownOf(item).eventId === eventId);
      return { ...page, next: null, count: items.length, items };
    });
    exporting.control.fault('events', ...times(50, forgetting));
    const { code, stderr } = await exporting.export('--page-size', '5', '--update');
    exporting.control.clearFaults();
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^exported: 301 events in /) });
    expect((await exporting.ids()).sort()).toEqual([...all, eventId].sort());
  });

  test('adds all events of a type that the service offers since the export was made', async () => {
    await using exporting = await startExporting({ events: 300, tokenLifetimeSeconds: 86_400 });
    const { control } = exporting.sandbox;
    const isOffered = (item: object) => typeName(item) !== 'document.signed';
    control.fault(
      'event-types',
      editJson((page) => ({ ...page, items: page.items.filter(isOffered) })),
    );
    const flags = ['--since', '30d', '--type', 'document.*', '--page-size', '5'];
    expect((await exporting.export(...flags)).code).toBe(0);
    expect(await exporting.lines()).not.toContain('"document.signed"');
    clock.advance(3 * 3_600_000);
    control.addEvent({ eventType: 'document.signed' });
    clock.advance(2000);
    for (const _ of ['the type is new', 'and is known']) {
      expect(await exporting.export(...flags, '--update')).toMatchObject({ code: 0 });
      const { stdout } = await exporting.search('--ndjson', '--since', '40d', '--type', 'document.*');
      expect((await exporting.ids()).sort()).toEqual(idsOf(stdout).sort());
      clock.advance(5000);
    }
  });

  test('after one while the clock of the service was ahead, misses nothing of the time until it was right', async () => {
    await using exporting = await startExporting({ events: 40, tokenLifetimeSeconds: 864_000 });
    const { control } = exporting.sandbox;
    control.behaviour.clockOffsetMs = 86_400_000;
    await exporting.export();
    control.behaviour.clockOffsetMs = 0;
    for (let [hours, events] = [0, 40]; hours < 30; hours += 10) {
      clock.advance(10 * 3_600_000);
      control.addEvent();
      clock.advance(2000);
      const { stderr } = await exporting.export('--update');
      expect(stderr).toContain(`exported: ${++events} events in `);
    }
  });

  const DAY_MS = 86_400_000;
  test.each([
    // The first event after the export's end by the right clock, and hours before the update.
    ['of the service was ahead', { serviceMs: DAY_MS, oursMs: 0, minutes: 1 }],
    ['of the service is behind', { serviceMs: -DAY_MS, oursMs: 0, minutes: 1 }],
    // Nothing tells when it ended: the last hour is read at least.
    ['of both was ahead', { serviceMs: 0, oursMs: DAY_MS, minutes: 570 }],
  ])('reads on from the earliest of the times where the clock %s', async (_, given) => {
    const { serviceMs, oursMs, minutes } = given;
    await using exporting = await startExporting({ events: 40, tokenLifetimeSeconds: 864_000 });
    const { behaviour } = exporting.control;
    const isForGood = serviceMs < 0;
    behaviour.clockOffsetMs = serviceMs;
    clock.advance(oursMs);
    const first = await exporting.export();
    expect(first.code).toBe(0);
    const held = (await exporting.ids()).length;
    clock.advance(-oursMs);
    if (!isForGood) behaviour.clockOffsetMs = 0;
    clock.advance(minutes * 60_000);
    const { eventId } = exporting.control.addEvent();
    clock.advance((600 - minutes) * 60_000);
    expect(await exporting.export('--update')).toMatchObject({ code: 0 });
    const ids = await exporting.ids();
    expect(ids.filter((id) => id === eventId)).toHaveLength(1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(held);
  });
});

test('an export of a service that gives no count says each time what could not be checked', async () => {
  await using exporting = await startExporting({ events: 40 });
  exporting.sandbox.control.behaviour.omit = ['count'];
  const doubt =
    'warning: the service does not count its events: whether these are all of them could not be checked\n';
  for (const more of [[], [], ['--update']]) {
    const { code, stderr } = await exporting.export('--page-size', '10', ...more);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(doubt) });
    clock.advance(60_000);
  }
});

test('an export whose condition reads other values from its file is another one', async () => {
  await using exporting = await startExporting({ events: 40 });
  const file = path.join(exporting.directory, '..', 'statuses.txt');
  const condition = `publishStatus in @${file}`;
  await writeFile(file, 'FAILED\n');
  const { stderr: begun } = await exporting.export('--where', condition);
  const failed = (await exporting.ids()).length;
  expect([failed > 0, begun]).toEqual([true, expect.stringMatching(`^exported: ${failed} events in 1 file`)]);
  // The same values, written otherwise.
  await writeFile(file, '\ufeff FAILED\r\n\r\nFAILED');
  expect((await exporting.export('--where', condition)).stderr).toMatch(
    `verified: ${failed} events in 1 file`,
  );
  await writeFile(file, 'FAILED\nSUCCESS\n');
  for (const flags of [[], ['--update']]) {
    const { code, stderr } = await exporting.export('--where', condition, ...flags);
    expect({ code, stderr: stderr.replaceAll(/[0-9a-f]{16}/g, 'SUM') }).toEqual({
      code: 2,
      stderr: `error: ${exporting.directory} holds another export
  --where: ${condition} (1 value, checksum SUM) there, ${condition} (2 values, checksum SUM) here
next: choose another directory, or repeat the command that began this one
`,
    });
  }
  expect(await exporting.ids()).toHaveLength(failed);
});
