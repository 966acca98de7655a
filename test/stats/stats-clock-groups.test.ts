import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf } from '../support/searching.ts';

/** A home with a file of events that were created at these times. */
async function startWith(times: readonly string[], more: object = {}) {
  const home = await createHome();
  const file = path.join(home.folder, 'events.ndjson');
  const items = times.map((time, index) => ({
    eventId: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    publishStatus: index === 0 ? 'FAILED' : 'SUCCESS',
    createdOn: time,
    ...more,
  }));
  await writeFile(file, ndjsonOf(items));
  return {
    stats: async (...args: string[]) => {
      const run = await hooktrail(['events', 'stats', '--from', file, ...args], { env: home.env });
      return { ...run, lines: run.stdout.split('\n').slice(0, -1) };
    },
    /** The values of the groups in the order of their lines. */
    valuesOf: (lines: readonly string[]) => lines.slice(1).map((line) => line.trim().split(/ {2,}/)[0]),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour));
const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

describe('a table of hours or weekdays', () => {
  test('has all hours in the order of the clock, also those without events, where the time has them', async () => {
    await using at = await startWith([
      ...['2026-11-18T23:10:00Z', '2026-11-19T08:10:00Z', '2026-11-19T08:20:00Z', '2026-11-20T00:10:00Z'],
      'no time',
    ]);
    const { code, lines, stderr } = await at.stats('--by', 'createdOn:hour');
    expect([code, stderr]).toEqual([0, '']);
    expect(at.valuesOf(lines)).toEqual([...HOURS, '-']);
    expect(
      lines.map((line) => line.trimEnd()).filter((line) => /^ *(createdOn:hour|[0789]|23|-) /.test(line)),
    ).toEqual([
      'createdOn:hour  events  failed   rate   share  first                 last                  example',
      '             0       1       0    0 %  20.0 %  2026-11-20 00:10:00Z  2026-11-20 00:10:00Z  00000000-0000-4000-8000-000000000003',
      '             7       0       0      -     0 %  -                     -                     -',
      '             8       2       0    0 %  40.0 %  2026-11-19 08:10:00Z  2026-11-19 08:20:00Z  00000000-0000-4000-8000-000000000001',
      '             9       0       0      -     0 %  -                     -                     -',
      '            23       1       1  100 %  20.0 %  2026-11-18 23:10:00Z  2026-11-18 23:10:00Z  00000000-0000-4000-8000-000000000000',
      '             -       1       0    0 %  20.0 %  -                     -                     00000000-0000-4000-8000-000000000004',
    ]);
    const markdown = await at.stats('--by', 'createdOn:hour', '-o', 'markdown');
    expect(markdown.lines.filter((line) => /^\| \d/.test(line))).toHaveLength(24);
  });

  test('leaves out hours and weekdays that the time need not have', async () => {
    await using at = await startWith([
      '2026-11-20T09:10:00Z',
      '2026-11-20T08:10:00Z',
      '2026-11-20T08:20:00Z',
    ]);
    const own = async (...args: string[]) => at.valuesOf((await at.stats(...args)).lines);
    const day = ['--since', '2026-11-20', '--until', '2026-11-21'];
    expect(await own('--by', 'createdOn:hour')).toEqual(['8', '9']);
    expect((await own('--by', 'createdOn:hour', ...day)).slice(0, 24)).toEqual(HOURS);
    expect((await own('--by', 'createdOn:weekday', ...day)).slice(0, 1)).toEqual(['Friday']);
    const week = ['--since', '2026-11-14', '--until', '2026-11-21'];
    expect((await own('--by', 'createdOn:weekday', ...week)).slice(0, 7)).toEqual(WEEKDAYS);
  });

  test('is one of the largest groups with --limit, by several fields, and in JSON, CSV and NDJSON', async () => {
    await using at = await startWith([
      ...['2026-11-18T23:10:00Z', '2026-11-19T08:10:00Z', '2026-11-19T08:20:00Z', '2026-11-20T00:10:00Z'],
    ]);
    const own = async (...args: string[]) => at.valuesOf((await at.stats(...args)).lines);
    expect((await own('--by', 'createdOn:hour', '--limit', '2')).slice(0, 2)).toEqual(['8', '0']);
    expect(await own('--by', 'createdOn:hour,createdOn:weekday')).toEqual(['8', '0', '23']);
    const { groups } = JSON.parse((await at.stats('--by', 'createdOn:hour', '--json')).stdout);
    expect(groups.map(({ by }: { by: object }) => Object.values(by)[0])).toEqual([8, 0, 23]);
    const ndjson = (await at.stats('--by', 'createdOn:hour', '--ndjson')).stdout;
    expect(ndjson.match(/"by":\{[^}]*?(\d+)\}/g)).toHaveLength(3);
    expect((await at.stats('--by', 'createdOn:hour', '--csv')).lines).toHaveLength(4);
  });

  test('has no percentiles where there are no events', async () => {
    await using at = await startWith(['2026-11-19T00:10:00Z', '2026-11-20T00:10:00Z'], { ms: 5 });
    const { lines } = await at.stats('--by', 'createdOn:hour', '--percentiles', 'ms');
    expect(lines.slice(0, 3)).toEqual([
      'createdOn:hour  events  failed    rate  share  p50  p95  p99  max  first                 last                  example',
      '             0       2       1  50.0 %  100 %    5    5    5    5  2026-11-19 00:10:00Z  2026-11-20 00:10:00Z  00000000-0000-4000-8000-000000000000',
      '             1       0       0       -    0 %    -    -    -    -  -                     -                     -',
    ]);
  });

  test('is as any other where a member has that name', async () => {
    await using at = await startWith(['2026-11-18T23:10:00Z', '2026-11-20T00:10:00Z'], { 'at:hour': 'noon' });
    expect(at.valuesOf((await at.stats('--by', 'at:hour')).lines)).toEqual(['noon']);
  });
});
