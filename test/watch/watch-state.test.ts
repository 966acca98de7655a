import { realpathSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { type Instant, instantAt } from '../../src/time/instant.ts';
import type { FollowerState } from '../../src/watch/watch-follower.ts';
import {
  EVENT_WATCH,
  type WatchKind,
  WatchStateFile,
  whileStateIsHeld,
} from '../../src/watch/watch-state.ts';
import { createContext } from '../support/context.ts';

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
    reader: <Kept>(kind: WatchKind<Kept>) =>
      new WatchStateFile('place.json', file, baseUrl, filters, kind).read(reporter),
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
    const refusal =
      /^--state: place.json (is not the state of a watch, or is damaged|belongs to another watch)$/;
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
          const { message } = error as Error;
          expect(message).toMatch(refusal);
          const isName = at[0] === 'command' || at[0] === 'service';
          if (isName && typeof value !== 'string') expect(message).toContain('damaged');
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

  test('with more or less than its watch keeps is not taken', async () => {
    const { file, save, read, reader } = await startKeeping();
    await save(STATE);
    const saved = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...saved, kept: 7 }));
    expect(read).toThrow('is not the state of a watch');
    const isKept = (value: unknown): value is number => value === 7;
    expect(reader({ ...EVENT_WATCH, isKept })).toEqual({ ...STATE, kept: 7 });
    await save(STATE);
    expect(() => reader({ ...EVENT_WATCH, isKept })).toThrow('is not the state of a watch');
  });

  test('that cannot be read is an error with its reason', async () => {
    const { file, read } = await startKeeping();
    await mkdir(file);
    expect(read).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^--state: place\.json cannot be read: \S/),
        cause: expect.objectContaining({ code: 'EISDIR' }),
      }),
    );
  });

  test('that cannot be written is an error with its reason', async () => {
    const { file, save } = await startKeeping();
    await rm(path.dirname(file), { recursive: true });
    await expect(save(STATE)).rejects.toMatchObject({
      message: expect.stringMatching(/^--state: place\.json cannot be written: \S/),
      next: 'name a file in a folder that exists and can be written',
    });
  });

  test('that is empty begins anew, with a warning', async () => {
    const { file, read, warnings } = await startKeeping();
    await writeFile(file, '');
    expect(read()).toBeUndefined();
    expect(warnings).toEqual(['--state: place.json is empty: the watch begins anew']);
  });
});

describe('while the state of a watch is held', () => {
  const startHolding = async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'held-'));
    const stopping = new AbortController();
    const call = { context: { ...createContext(), signal: stopping.signal }, name: 'watch' };
    return { folder, file: path.join(folder, 'place.json'), call, stopping };
  };
  type Call = Awaited<ReturnType<typeof startHolding>>['call'];
  /** Holds a state until the function that it returns is called. */
  const hold = async (file: string, call: Call) => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let finished: Promise<void> | undefined;
    const given = await new Promise<[held: Call, place: string | undefined]>((resolve, reject) => {
      finished = whileStateIsHeld(file, call, async (...args) => {
        resolve(args);
        await released;
      });
      finished.then(() => reject(new Error('nothing was done')), reject);
    });
    const end = async () => {
      release();
      await finished;
    };
    return { given, end };
  };

  test('another watch of the same file is refused, by whatever path, until the first has ended', async () => {
    const { folder, file, call } = await startHolding();
    await symlink(file, path.join(folder, 'link'));
    const first = await hold(file, call);
    for (const name of [file, path.join(folder, 'link')])
      await expect(hold(name, call)).rejects.toMatchObject({
        constructor: UsageError,
        message: `--state: another watch uses ${name}`,
        details: [`process ${process.pid}`],
        next: 'end it, or choose another file',
        cause: { message: expect.stringContaining(`the watch of ${name}`) },
      });
    const other = await hold(path.join(folder, 'other.json'), call);
    await other.end();
    await first.end();
    const next = await hold(file, call);
    await next.end();
    expect((await readdir(folder)).sort()).toEqual(['link', 'other.json.lock', 'place.json.lock']);
  });

  test('it is free again after work that failed', async () => {
    const { file, call } = await startHolding();
    const failure = new Error('failed');
    await expect(whileStateIsHeld(file, call, () => Promise.reject(failure))).rejects.toBe(failure);
    await (await hold(file, call)).end();
  });

  test('the work gets the call, the path without links, and a signal that also ends with the program', async () => {
    const { folder, file, call, stopping } = await startHolding();
    await symlink(file, path.join(folder, 'link'));
    const { given, end } = await hold(path.join(folder, 'link'), call);
    const [held, place] = given;
    expect([held.name, place, held.context.signal.aborted]).toEqual([
      'watch',
      path.join(realpathSync(folder), 'place.json'),
      false,
    ]);
    expect(held.context.signal).not.toBe(call.context.signal);
    const reason = new Error('over');
    stopping.abort(reason);
    expect(held.context.signal.reason).toBe(reason);
    await end();
  });

  test('nothing is held without a file', async () => {
    const { call } = await startHolding();
    let given: unknown[] = [];
    await whileStateIsHeld(undefined, call, async (...args) => {
      given = args;
    });
    expect(given).toEqual([call, undefined]);
    expect(given[0]).toBe(call);
  });

  test('a folder for the lock that cannot be made is the error of a state that cannot be written', async () => {
    const { folder, call } = await startHolding();
    const file = path.join(folder, 'place.json');
    await writeFile(`${file}.lock`, '');
    await expect(hold(file, call)).rejects.toThrow(`--state: ${file} cannot be written: `);
  });

  test('a lock that cannot be taken for another reason keeps its error', async () => {
    const { file, call } = await startHolding();
    const reason = new Error('no name');
    const machine = Object.defineProperty({ ...call.context.machine }, 'hostname', {
      get: () => {
        throw reason;
      },
    });
    await expect(hold(file, { ...call, context: { ...call.context, machine } })).rejects.toBe(reason);
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
