import { mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { type Instant, instantAt } from '../../src/time/instant.ts';
import type { FollowerState } from '../../src/watch/watch-follower.ts';
import { EVENT_WATCH, WatchStateFile } from '../../src/watch/watch-state.ts';

const BASE_URL = new URL('https://events.example.com/v1/');
const FILTERS = new EventFilters({ values: { eventType: ['a.b', 'c.d'], publishStatus: ['FAILED'] } });
const STATE: FollowerState = {
  start: instantAt(1_790_000_000_000) as Instant,
  watermark: 1_790_000_600_000,
  printed: [
    [4_503_599_627_370_497, 1_790_000_500_000],
    [7, 1_790_000_600_001],
  ],
};

async function startKeeping({ baseUrl = BASE_URL, filters = FILTERS } = {}) {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'state-')), 'place.json');
  const warnings: string[] = [];
  const reporter = { warning: (text: string) => void warnings.push(text) } as never;
  const kept = new WatchStateFile('place.json', file, baseUrl, filters, EVENT_WATCH);
  return {
    file,
    warnings,
    save: (state: FollowerState) => kept.save({ ...state, kept: undefined }),
    read: () => kept.read(reporter),
  };
}

describe('the state of a watch', () => {
  test('reads back as it was written', async () => {
    const { file, save, read, warnings } = await startKeeping();
    expect(read()).toBeUndefined();
    const time = fc.integer({ min: 0, max: 4_102_444_800_000 });
    const state = fc.record({
      start: time.map((at) => instantAt(at) as Instant),
      watermark: time,
      printed: fc.array(fc.tuple(fc.maxSafeNat(), time), { maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(state, async (given) => {
        await save(given);
        expect(read()).toEqual(given);
      }),
      { numRuns: 50 },
    );
    expect(warnings).toEqual([]);
    expect((await stat(file)).mode & 0o077).toBe(0);
  });

  test('that is damaged anywhere is refused, and never reads as another place', async () => {
    const { file, save, read, warnings } = await startKeeping();
    await save(STATE);
    const text = await readFile(file, 'utf8');
    const damage = [null, 7, -1, 1.5, 'x', '', true, [], [null], {}, undefined];
    const accepted: Record<string, unknown[]> = {};
    for (const at of placesIn(JSON.parse(text))) {
      for (const value of damage) {
        const saved: Record<string, unknown> = JSON.parse(text);
        let holder = saved;
        for (const step of at.slice(0, -1)) holder = holder[step] as Record<string, unknown>;
        holder[at.at(-1) as string] = value;
        await writeFile(file, JSON.stringify(saved));
        try {
          read();
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
          expect((error as Error).message).toMatch(
            /^--state: place.json (is not the state of a watch, or is damaged|belongs to another watch)$/,
          );
          continue;
        }
        const place = at.join('.');
        accepted[place] = [...(accepted[place] ?? []), value === undefined ? 'absent' : value];
      }
    }
    // Numbers are places and keys whatever they are.
    const numbers = [7, -1, 1.5];
    expect(accepted).toEqual({
      watermark: numbers,
      printed: [[]],
      'printed.0.0': numbers,
      'printed.0.1': numbers,
      'printed.1.0': numbers,
      'printed.1.1': numbers,
    });
    expect(warnings).toEqual([]);
  });

  test.each([
    ['another service', { baseUrl: new URL('https://other.example.com/v1/') }],
    [
      'another filter',
      { filters: new EventFilters({ values: { eventType: ['a.b'], publishStatus: ['FAILED'] } }) },
    ],
    ['no filters', { filters: new EventFilters({}) }],
  ])('of %s is refused, with what is there and what is here', async (_, other) => {
    const here = await startKeeping();
    const there = await startKeeping(other);
    await there.save(STATE);
    await writeFile(here.file, await readFile(there.file));
    expect(here.read).toThrow(
      expect.objectContaining({
        message: '--state: place.json belongs to another watch',
        details: [
          expect.stringMatching(/^there: events watch at https:/),
          'here: events watch at https://events.example.com/v1/ --status FAILED --type a.b --type c.d',
        ],
        next: 'choose another file, or give the same filters',
      }),
    );
  });

  test('of another version is not taken', async () => {
    const { file, save, read } = await startKeeping();
    await save(STATE);
    const saved = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...saved, version: 2 }));
    expect(read).toThrow('is not the state of a watch');
  });

  test('that is refused says what to do', async () => {
    const { file, read } = await startKeeping();
    await writeFile(file, '{"half');
    expect(read).toThrow(
      expect.objectContaining({
        message: '--state: place.json is not the state of a watch, or is damaged',
        next: 'choose another file, or remove this one to start over',
      }),
    );
  });

  test('that cannot be read is an error with its reason', async () => {
    const { file, read } = await startKeeping();
    await mkdir(file);
    expect(read).toThrow(/^--state: place\.json cannot be read: \S/);
  });

  test('that is empty begins anew, with a warning', async () => {
    const { file, read, warnings } = await startKeeping();
    await writeFile(file, '');
    expect(read()).toBeUndefined();
    expect(warnings).toEqual(['--state: place.json is empty: the watch begins anew']);
  });
});

/** Returns the path of every member, at any depth. */
function placesIn(value: unknown, path: readonly string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [...path, name],
    ...placesIn(member, [...path, name]),
  ]);
}
