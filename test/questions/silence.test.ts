import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silenceAfter } from '../../src/statistics/rhythm.ts';
import {
  drawsOf,
  falseAlarms,
  firstAlarm,
  RHYTHMS,
  type Rhythm,
  WEEK_MS,
} from '../statistics/made-rhythms.ts';
import { editJson } from '../support/faults.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf, startSearching } from '../support/searching.ts';

const OWN = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const OTHER = 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da';
const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-11-20T12:00:00Z');

/** One event every 40 minutes for some weeks, that ends some hours ago; and another that goes on. */
const historyOf = (weeks: number, silentHours: number) => {
  const every = (40 / 60) * HOUR_MS;
  const length = weeks * 7 * 24 * HOUR_MS;
  const times = Array.from({ length: Math.floor(length / every) }, (_, index) => NOW - 1000 - index * every);
  return times.flatMap((time, index) => [
    ...(time < NOW - silentHours * HOUR_MS ? [event(time, index, OWN)] : []),
    ...(index % 9 === 0 ? [event(time, index + 100_000, OTHER)] : []),
  ]);
};
const event = (time: number, index: number, subscriptionId: string) => ({
  eventId: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  eventType: 'document.signed',
  createdOn: new Date(time).toISOString(),
  publishStatus: 'SUCCESS' as const,
  subscriptionId,
});

let home: Awaited<ReturnType<typeof createHome>>;
beforeAll(async () => {
  home = await createHome();
});
afterAll(() => home[Symbol.asyncDispose]());

describe('a silence', () => {
  test.each(Object.entries(RHYTHMS).filter((_, index) => index % 3 === 0))('%s is none', (name, rhythm) => {
    for (let subscription = 0; subscription < 4; subscription++)
      expect(falseAlarms((rhythm as Rhythm)(6, drawsOf(name, subscription)), silenceAfter)).toBe(0);
  });

  test('is said after 15 hours or so where events come every 40 minutes, and not before two weeks of them', () => {
    const name = 'by chance, one every 40 minutes';
    const times = (RHYTHMS[name] as Rhythm)(6, drawsOf(name, 1));
    const last = times.at(-1) as number;
    const said = ((firstAlarm(times, last + WEEK_MS, silenceAfter) ?? 0) - last) / HOUR_MS;
    expect(said).toBeGreaterThan(8);
    expect(said).toBeLessThan(30);
    const young = times.filter((time) => time > last - 1.9 * WEEK_MS);
    expect(firstAlarm(young, last + WEEK_MS, silenceAfter)).toBeUndefined();
  });

  test('stands in health, before what is well, with what is usual, for --exit-code-for too', async () => {
    const file = path.join(home.folder, 'silent.ndjson');
    await writeFile(file, ndjsonOf(historyOf(4, 15)));
    const run = (...args: string[]) =>
      hooktrail(['events', 'health', '--from', file, ...args], { env: home.env });
    for (const window of [[], ['--since', '2026-11-19T12:00', '--until', '2026-11-20T12:00']])
      expect(JSON.parse((await run('--json', ...window)).stdout)).toMatchObject([
        { value: OWN, state: 'silent', silentSince: '2026-11-19T20:39:59.000Z', usualGapSeconds: 2400 },
        { value: OTHER, state: 'ok', silentSince: null, usualGapSeconds: null },
      ]);
    const { stdout } = await run();
    expect(stdout).toMatch(/ {2}15 h 20 min, usually every 40 min {2}/);
    expect(stdout).toContain('0 of 2 failing, 0 recovered, 1 silent for unusually long, ');
    expect((await run('--exit-code-for', 'failing')).code).toBe(0);
    expect((await run('--exit-code-for', 'failing,silent')).code).toBe(10);
    expect((await run('--exit-code-for', 'quiet')).code).toBe(2);
    const about = await hooktrail(['events', 'about', OWN, '--from', file], { env: home.env });
    expect(about.stdout).toMatch(
      /\nsilent +since .+, for 15 h 20 min; usually one every 40 min at these hours\n/,
    );
  });

  test('of the service is asked for with few requests, and none where the same hours had no events', async () => {
    await using at = await startSearching({ events: 0 });
    for (const one of historyOf(4, 15)) at.control.addEvent(one);
    const { stdout } = await at.run([
      'events',
      'health',
      '--json',
      '--jq',
      '.[] | select(.silentSince) | .value',
    ]);
    expect(stdout).toBe(`${OWN}\n`);
    // The window, two weeks of each that is quiet, the count of four weeks, and their three pages.
    expect(at.queries().length).toBeLessThan(30);
    const about = await at.run(['events', 'about', OWN, '--json']);
    expect(JSON.parse(about.stdout)).toMatchObject({ usualGapSeconds: 2400 });
  });

  test('that the service does not count for is a warning, and the rows stand', async () => {
    await using at = await startSearching({ events: 0 });
    for (const one of historyOf(1, 15)) at.control.addEvent(one);
    at.sandbox.control.fault(
      'events',
      editJson((page) => page),
    );
    at.sandbox.control.fault('events', { kind: 'status', status: 400, body: '{"code":"no"}' });
    const { code, stdout, stderr } = await at.run(['events', 'health', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).map(({ value }: { value: string }) => value)).toEqual(
      expect.arrayContaining([OWN, OTHER]),
    );
    expect(stderr).toContain('warning: silence of subscriptions could not be checked: ');
  });

  test('is not said of less than two weeks', async () => {
    const file = path.join(home.folder, 'young.ndjson');
    await writeFile(file, ndjsonOf(historyOf(1.9, 15)));
    const { stdout } = await hooktrail(['events', 'health', '--from', file, '--jq', '.[].silentSince'], {
      env: home.env,
    });
    expect(stdout).toBe('null\nnull\n');
  });
});
