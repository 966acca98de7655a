import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventFilters, type FilterFlags } from '../../src/filters/filter-flags.ts';
import { type StoredOptions, storedEvents } from '../../src/sources/stored-events.ts';
import { parseInstant } from '../../src/time/instant.ts';
import { NOON } from '../support/clock.ts';
import { createContext, inputOf } from '../support/context.ts';
import { idsIn } from '../support/found.ts';
import { itemOf } from '../support/shape.ts';

const event = (eventId: string, more: Readonly<Record<string, unknown>> = {}) => ({
  eventId,
  eventType: 'order.paid',
  subscriptionId: 's',
  createdOn: '2026-11-20T11:00:00Z',
  publishStatus: 'FAILED',
  ...more,
});
type Fields = Readonly<Record<string, unknown>>;

/** Reads standard input of these events. `doubts`: of what kind they are, and their text. */
async function read(
  events: readonly Fields[],
  flags: FilterFlags,
  options: Partial<Omit<StoredOptions, 'onDoubt' | 'context'>> = {},
) {
  const doubts: string[] = [];
  const text = events.map((fields) => `${JSON.stringify(itemOf(fields))}\n`).join('');
  const pages = storedEvents('-', eventFilters({ ...flags, from: '-' }, NOON), {
    ...options,
    context: createContext({ stdin: inputOf(text) }),
    onDoubt: (doubt, kind = 'incomplete') => void doubts.push(`${kind}: ${doubt}`),
  });
  const ids: string[] = [];
  for await (const { items } of pages) ids.push(...idsIn(items));
  return { ids, doubts };
}

describe('stored events', () => {
  test('are those that the filters match, in their stored order', async () => {
    const events = [
      event('a'),
      event('b', { publishStatus: 'SUCCESS' }),
      event('c', { createdOn: '2026-11-20T09:00:00Z' }),
      event('d', { eventType: 'order.sent' }),
      event('e', { subscriptionId: 'other' }),
    ];
    expect((await read(events, {})).ids).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await read(events, { failed: true, after: '2h', type: ['ORDER.p*'] })).toEqual({
      ids: ['a', 'e'],
      doubts: [],
    });
    expect((await read(events, { where: ['subscriptionId = s', 'eventId != a'] })).ids).toEqual([
      'b',
      'c',
      'd',
    ]);
    expect((await read(events, {}, { limit: 2 })).ids).toEqual(['a', 'b']);
    expect((await read(events, { where: ['eventId != a'] }, { limit: 2 })).ids).toEqual(['b', 'c']);
  });

  test('within other times are those of these times, whatever the filters say', async () => {
    const events = [
      event('a'),
      event('b', { createdOn: '2026-11-20T05:00:00Z' }),
      event('c', { publishStatus: 'SUCCESS' }),
    ];
    const within = {
      after: parseInstant('2026-11-20T04:00:00Z'),
      before: parseInstant('2026-11-20T06:00:00Z'),
    };
    expect((await read(events, { after: '2h', failed: true }, { within })).ids).toEqual(['b']);
    expect((await read(events, { failed: true }, { within: {} })).ids).toEqual(['a', 'b']);
  });

  test('are told how many were read, matching or not', async () => {
    const seen: number[] = [];
    await read(
      [event('a'), event('b', { publishStatus: 'SUCCESS' })],
      { failed: true },
      {
        onRead: (events) => void seen.push(events),
      },
    );
    expect(seen.reduce((sum, count) => sum + count, 0)).toBe(2);
  });
});

describe('doubts about stored events', () => {
  test('tell statuses that no event has, and those in another case', async () => {
    const unknown = '--from: no event has the publishStatus SUCCESS or FAILED, so failures are unknown';
    expect(await read([event('a', { publishStatus: 'OPEN' })], { failed: true })).toEqual({
      ids: [],
      doubts: [`incomplete: ${unknown}`],
    });
    expect(
      (await read([event('a', { publishStatus: 'failed' }), event('b')], { failed: true })).doubts,
    ).toEqual([expect.stringMatching(/^incomplete: --status: 1 event left out: /)]);
    expect((await read([event('a', { publishStatus: 'OPEN' })], {})).doubts).toEqual([]);
  });

  test('are an error about outcomes, if a script relies on them', async () => {
    const events = [event('a', { publishStatus: 'OPEN' })];
    await expect(read(events, { failed: true }, { mustTell: true })).rejects.toThrow(
      '--from: no event has the publishStatus SUCCESS or FAILED, so failures are unknown',
    );
    expect((await read(events, {}, { mustTell: true })).ids).toEqual(['a']);
    expect((await read([event('b')], { failed: true }, { mustTell: true })).ids).toEqual(['b']);
    expect((await read([], { failed: true }, { mustTell: true })).ids).toEqual([]);
  });

  test('tell events older than the window', async () => {
    const old = [event('a', { createdOn: '2026-11-19T11:00:00Z' })];
    expect((await read(old, { after: '2h' })).doubts).toEqual([
      'incomplete: --from: no event was created after 2026-11-20T10:00:00Z',
    ]);
    expect((await read(old, { before: '2h' })).doubts).toEqual([]);
    expect((await read([...old, event('b')], { after: '2h' })).doubts).toEqual([]);
    expect((await read([], { after: '2h' })).doubts).toEqual([]);
  });

  test('tell events without a time that a window leaves out, and that match otherwise', async () => {
    const undated = [
      event('a', { createdOn: 'soon' }),
      event('b', { createdOn: null, publishStatus: 'SUCCESS' }),
    ];
    const left = (events: string) =>
      `incomplete: ${events} left out: createdOn is missing or not a time, which --since and --until need`;
    for (const flags of [{ after: '2h' }, { before: 'now' }]) {
      expect((await read([...undated, event('c')], flags)).doubts).toEqual([left('2 events')]);
      expect((await read([...undated, event('c')], { ...flags, failed: true })).doubts).toEqual([
        left('1 event'),
      ]);
      expect((await read([...undated, event('c')], { ...flags, where: ['eventId = c'] })).doubts).toEqual([]);
    }
    expect(await read(undated, {})).toEqual({ ids: ['a', 'b'], doubts: [] });
  });

  test('tell types that no event has, unless a limit ended the reading', async () => {
    const events = [event('a'), event('b'), event('c', { eventType: 'order.sent' })];
    const { doubts } = await read(events, { type: ['order.pai', 'order.sent'] });
    expect(doubts).toEqual([
      "incomplete: 'order.pai' is not among the event types of standard input; did you mean order.paid?",
    ]);
    expect((await read(events, { type: ['order.*', 'none'] }, { limit: 2 })).doubts).toEqual([]);
    expect((await read(events, { type: ['order.*', 'none'] }, { limit: 3 })).doubts).toEqual([]);
    expect((await read(events, { type: ['order.*', 'none'] }, { limit: 4 })).doubts).toHaveLength(1);
    const old = await read(
      [...events, event('d', { createdOn: null })],
      { type: ['order.paid'], after: '2h' },
      { limit: 2 },
    );
    expect([old.ids, old.doubts.length]).toEqual([['a', 'b'], 1]);
  });

  test('tell records that are there twice, among those that match', async () => {
    const twice = [
      event('a'),
      event('a'),
      event('b', { publishStatus: 'SUCCESS' }),
      event('b', { publishStatus: 'SUCCESS' }),
    ];
    expect((await read(twice, { failed: true })).doubts).toEqual([
      'incomplete: --from: 1 event has the eventId and subscription of an earlier one, and counts again',
    ]);
    expect((await read([event('a'), event('a', { subscriptionId: 't' })], {})).doubts).toEqual([]);
  });

  test('of conditions are about their usage', async () => {
    const { doubts } = await read([event('a')], { where: ['nothing = 1'] });
    expect(doubts).toEqual([expect.stringMatching(/^usage: .*nothing/)]);
  });
});

describe('a place whose doubts nobody takes', () => {
  test('gives its events all the same', async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'stored-events-'));
    try {
      const file = path.join(folder, 'events.ndjson');
      const events = [
        event('a'),
        event('b', { publishStatus: 'SUCCESS' }),
        event('c', { publishStatus: 'failed' }),
      ];
      await writeFile(file, events.map((fields) => `${JSON.stringify(itemOf(fields))}\n`).join(''));
      const filters = eventFilters(
        { status: ['FAILED', 'SUCCESS'], where: ['!nothing', 'nothin != 1'], from: file },
        NOON,
      );
      const ids: string[] = [];
      for await (const { items } of storedEvents(file, filters, { context: createContext() }))
        ids.push(...idsIn(items));
      expect(ids).toEqual(['a', 'b']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
