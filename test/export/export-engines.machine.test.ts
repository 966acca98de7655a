import { describe, expect, test } from 'vitest';
import type { Random } from '../../src/sandbox/random.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { hasDuckdb, hasPolars } from '../support/machine/requirement.ts';
import { randomOf } from '../support/seed.ts';
import { itemOf, useShape } from '../support/shape.ts';
import { type Engine, type EngineRow, type Filter, openDuckdb, openPolars } from './engines.ts';

const EVENTS = 10_000;
const FILTERS = 60;

/** Parts of texts that readers, quoting and statistics get wrong. */
const ODD_PARTS = [
  ...['', ' ', '\u0000', '\t', '\r\n', '"', "'", '\\', '\u007f', '\u0085', '\u2028', '\ufeff', '\uffff', '%'],
  ...['null', 'NaN', '0', '-1', '1e400', '__HIVE_DEFAULT_PARTITION__', '2026-11-20', 'É', 'e\u0301', 'ß'],
  ...[
    '\u202e',
    '\u{1f469}\u200d\u{1f52c}',
    '\u{10ffff}',
    '\ud800',
    '\udc00',
    'x'.repeat(300),
    'é'.repeat(40),
  ],
];

function oddText(random: Random): string {
  const drawn = () =>
    random.below(3) > 0
      ? random.pick(ODD_PARTS)
      : String.fromCodePoint(random.below(random.pick([0x80, 0x800, 0xd800, 0x110000])));
  return Array.from({ length: random.below(6) }, drawn).join('');
}

/** A value of a known field that should be a text: rarely another one, null or none. */
function oddValue(random: Random): unknown {
  const other = [null, undefined, 7, -0.5, true, false, [], { a: [null, 'b'] }];
  return random.below(5) === 0 ? random.pick(other) : oddText(random);
}

/** A time of one of four days in any of its forms, or none. */
function oddTime(random: Random): unknown {
  if (random.below(50) === 0) return random.pick([null, undefined, 'yesterday', 20_261_120, '']);
  const day = random.pick(['2026-11-17', '2026-11-18', '2026-11-19', '1969-12-31']);
  const second = random.pick([0, 86_399, random.below(86_400)]);
  const time = new Date(second * 1000).toISOString().slice(11, 19);
  const fraction = random.pick(['', '.5', '.999999', '.9999999', '.0000001']);
  return `${day}T${time}${fraction}${random.pick(['Z', '+00:00', '-11:30', '+14:00'])}`;
}

interface DrawnEvent {
  readonly json: string;
  /** The time that the service sorts it by: its own, if it has one. */
  readonly createdOn: string;
  /** The row that an engine has to find of it. */
  readonly row: EngineRow;
}

function drawEvent(random: Random, index: number): DrawnEvent {
  const eventId = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const fields = {
    subscriptionId: oddValue(random),
    publishStatus: random.pick<unknown>(['SUCCESS', 'FAILED', null, undefined, 'é']),
    createdOn: oddTime(random),
    eventId,
    eventType: oddValue(random),
    [`k${oddText(random)}`]: { values: [oddValue(random), oddValue(random)] },
    numbers: 1,
  };
  const numbers = '9007199254740993,"numbers":1.10,"float":1e400,"again":-0.0';
  const json = JSON.stringify(itemOf(fields)).replace(/"numbers":1(?=[,}])/, `"numbers":${numbers}`);
  const { createdOn, eventType, publishStatus, subscriptionId } = fields;
  const time = utcText(createdOn);
  const row = {
    ...{ eventId, eventType: textOf(eventType), subscriptionId: textOf(subscriptionId) },
    ...{ publishStatus: textOf(publishStatus), createdOnText: textOf(createdOn), item: json },
    createdOn: time === undefined ? null : microseconds(time),
    date: time?.slice(0, 10) ?? null,
  };
  return { json, row, createdOn: time ?? '2026-11-18T06:00:00.0000000Z' };
}

/** A lone surrogate has no form in UTF-8. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);
}

/** A time in UTC with seven digits of a second; undefined for what is none. */
function utcText(time: unknown): string | undefined {
  const [, second, fraction = '', zone] =
    /^(\d.*?:\d\d:\d\d)(?:\.(\d+))?(Z|[-+].*)$/.exec(String(time)) ?? [];
  if (second === undefined) return undefined;
  return `${new Date(`${second}${zone}`).toISOString().slice(0, 19)}.${fraction.padEnd(7, '0')}Z`;
}

/** Microseconds since the epoch of what `utcText` returns. */
function microseconds(time: string): string {
  return String(BigInt(Date.parse(`${time.slice(0, 19)}Z`)) * 1000n + BigInt(time.slice(20, 26)));
}

const ENGINES: readonly (readonly [string, boolean, () => Promise<Engine>])[] = [
  ['DuckDB', hasDuckdb, openDuckdb],
  ['Polars', hasPolars, openPolars],
];

const byId = (rows: readonly EngineRow[]) =>
  rows.toSorted((one, other) => (String(one['eventId']) < String(other['eventId']) ? -1 : 1));

async function exportTo(at: Exporting, flags: readonly string[]): Promise<void> {
  const { code, stderr } = await at.export('--format', 'parquet', ...flags);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^exported: /)]);
}

describe.skipIf(!hasDuckdb && !hasPolars).each(['published', 'flat'] as const)(
  'ten thousand odd events of the %s shape',
  (shape) => {
    test.each([
      ['by day', ['--partition', 'day']],
      ['without folders', []],
    ])(
      'exported %s: each engine finds what our own reading finds',
      { timeout: 300_000 },
      async (_, flags) => {
        useShape(shape);
        await using at = await startExporting({ events: 0, shape });
        const random = randomOf(`engines ${shape}`);
        const drawn = Array.from({ length: EVENTS }, (_, index) => drawEvent(random, index));
        for (const { json, createdOn, row } of drawn)
          at.control.addEvent({ eventId: row['eventId'] as string, json, createdOn });
        await exportTo(at, flags);
        const hasFolders = flags.length > 0;
        const own = (await at.search('--ndjson', '--from', at.directory)).stdout.trimEnd().split('\n');
        expect(own.sort()).toEqual(drawn.map(({ json }) => json).sort());
        const wanted = byId(
          drawn.map(({ row: { date, ...row } }) => ({
            ...row,
            ...(hasFolders ? { date: date ?? null } : {}),
          })),
        );
        const filters = Array.from({ length: FILTERS }, (): Filter => {
          const column = random.pick(['eventType', 'subscriptionId', 'createdOnText'] as const);
          return { column, value: random.pick(wanted)[column] ?? null };
        });
        if (hasFolders)
          filters.push({ column: 'date', value: '1969-12-31' }, { column: 'date', value: null });
        const counts = filters.map(
          ({ column, value }) => wanted.filter((row) => (row[column] ?? null) === value).length,
        );
        for (const [name, isHere, open] of ENGINES) {
          if (!isHere) continue;
          using engine = await open();
          const rows = byId(await engine.rows(at.directory, hasFolders));
          expect(rows.length, name).toBe(EVENTS);
          for (const [index, row] of rows.entries()) expect(row, name).toEqual(wanted[index]);
          expect(await engine.counts(at.directory, hasFolders, filters), name).toEqual(counts);
        }
      },
    );
  },
);
