import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf } from '../support/searching.ts';

const START = Date.parse('2026-11-02T00:00:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const timeOf = (milliseconds: number) => new Date(START + milliseconds).toISOString();

interface Made {
  readonly createdOn: string;
  readonly publishStatus: 'FAILED' | 'SUCCESS';
}

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.env['HOME'] as string, 'events.ndjson');
});

afterAll(() => home[Symbol.asyncDispose]());

/** Events in these steps of time, of which those that are meant fail. */
const write = async (
  count: number,
  step: number,
  hasFailed: (index: number) => boolean,
  members: (index: number) => object = () => ({}),
) => {
  const events = Array.from({ length: count }, (_, index) => ({
    eventId: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    createdOn: timeOf(index * step),
    publishStatus: hasFailed(index) ? ('FAILED' as const) : ('SUCCESS' as const),
    ...members(index),
  }));
  await writeFile(file, ndjsonOf(events));
  return events;
};

const run = async (...words: string[]) => {
  const { code, stdout, stderr } = await hooktrail(['events', ...words], { env: home.env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};
const explain = (...words: string[]) => run('explain', '--from', file, ...words);
const causesOf = async (...words: string[]) => JSON.parse(await explain('--json', ...words)).causes;

/** The words of a command that explain prints, behind `hooktrail events`. */
const wordsOf = (command: string) =>
  (command.match(/'[^']*'|\S+/g) ?? []).slice(2).map((word) => word.replaceAll("'", ''));
const countOf = async (command: string, { isFailed }: { isFailed: boolean }) => {
  const [, ...words] = wordsOf(command);
  const chosen = words.filter((word) => isFailed || word !== '--failed');
  return Number((await run('count', ...chosen)).trim().replace(/\D/g, ''));
};

describe('a span of more events than the search looks at', () => {
  const [FROM, TO] = [9001, 23_000];
  const isEu = (index: number) => index % 8 !== 3;
  let events: readonly Made[];
  let causes: Awaited<ReturnType<typeof causesOf>>;
  beforeAll(async () => {
    const hasFailed = (index: number) => isEu(index) && index >= FROM && index <= TO;
    events = await write(30_000, SECOND, hasFailed, (index) => ({ region: isEu(index) ? 'eu' : 'us' }));
    causes = await causesOf();
  });

  test('begins and ends with the first and the last failure of all', () => {
    const [cause, ...others] = causes;
    const failed = events.filter(({ publishStatus }) => publishStatus === 'FAILED');
    const [first, last] = [failed[0]?.createdOn, failed.at(-1)?.createdOn];
    expect(others).toEqual([]);
    expect(cause).toMatchObject({
      conditions: [
        { field: 'region', op: '=', value: 'eu' },
        { field: 'createdOn', op: '>=', value: first },
        { field: 'createdOn', op: '<=', value: last },
      ],
      ...{ failed: failed.length, events: failed.length, edge: false, firstFailed: first, lastFailed: last },
    });
  });

  test('has the counts that its conditions have as --where, and its command as filters', async () => {
    const [cause] = causes;
    const where = cause.conditions.flatMap((condition: { field: string; op: string; value: string }) => [
      '--where',
      `${condition.field} ${condition.op} ${condition.value}`,
    ]);
    const counted = async (...words: string[]) =>
      Number((await run('count', '--from', file, ...words)).replace(/\D/g, ''));
    expect([await counted(...where), await counted('--failed', ...where)]).toEqual([
      cause.events,
      cause.failed,
    ]);
    const { command } = cause;
    const ofCommand = [
      await countOf(command, { isFailed: false }),
      await countOf(command, { isFailed: true }),
    ];
    expect(ofCommand).toEqual([cause.events, cause.failed]);
  });
});

describe('what touches the edge of the window says "or earlier" in each form', () => {
  const region = (index: number) => ({ region: index % 3 === 0 ? 'eu' : 'us' });
  const first = '2026-11-02 00:00:00Z or earlier';

  test.each<[string, (index: number) => boolean, RegExp]>([
    ['a run that goes on', () => true, new RegExp(`failing since ${first}, no success in this time`)],
    [
      'a run that is over',
      (index) => index < 120,
      new RegExp(`first failure ${first}, last failure 2026-11-02 01:57:00Z`),
    ],
    [
      'a first run before the one that goes on',
      (index) => index < 90 || index > 150,
      new RegExp(
        `failing since 2026-11-02 02:33:00Z, last success 2026-11-02 02:30:00Z, first failure ${first}`,
      ),
    ],
  ])('%s', async (_, isTime, told) => {
    await write(240, MINUTE, (index) => index % 3 === 0 && isTime(index), region);
    const [cause] = await causesOf();
    const report = (await run('report', '-', '--from', file)).replace(/<[^>]*>/g, '');
    expect([await explain(), await explain('-o', 'markdown'), report]).toEqual([
      expect.stringMatching(told),
      expect.stringMatching(told),
      expect.stringMatching(told),
    ]);
    expect(cause.edge).toBe(true);
  });

  test('and what does not touch it does not', async () => {
    await write(240, MINUTE, (index) => index % 3 === 0 && index > 60 && index < 150, region);
    const [cause] = await causesOf();
    const report = await run('report', '-', '--from', file);
    for (const text of [await explain(), await explain('-o', 'markdown'), report])
      expect(text).not.toContain('or earlier');
    expect(cause.edge).toBe(false);
  });
});

describe('the command of a cause that is an hour or a weekday', () => {
  test.each([
    ['UTC', 'createdOn:hour = 3', (hour: number) => hour % 24 === 3, 10],
    ['Asia/Kolkata', 'createdOn:hour = 3', (hour: number) => ((hour * 2 + 11) % 48) >> 1 === 3, 10],
    ['UTC', 'createdOn:weekday = Sunday', (hour: number) => Math.floor(hour / 24) % 7 === 6, 28],
  ])('names the zone %s: %s', async (zone, text, isMeant, days) => {
    const perHour = 6;
    const hourOf = (index: number) => Math.floor((2 * index) / perHour) / 2;
    await write(days * 24 * perHour, HOUR / perHour, (index) => isMeant(hourOf(index)));
    const [cause] = await causesOf('--timezone', zone);
    const { command, events, failed } = cause;
    expect(command).toContain(` --where '${text}'`);
    expect(command).toContain(` --timezone ${zone}`);
    // Another zone is set where the command is typed.
    const words = wordsOf(command);
    const env = { ...home.env, HOOKTRAIL_TIMEZONE: 'America/New_York' };
    const listed = await hooktrail(['events', ...words, '--ndjson'], { env });
    expect(listed.stdout.trim().split('\n')).toHaveLength(failed);
    expect(await countOf(command, { isFailed: false })).toBe(events);
  });
});
