import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { memberPath } from '../../src/items/field-path.ts';
import { HealthFold } from '../../src/questions/health-fold.ts';
import { findLargestOutage, findOutage, type Outage } from '../../src/questions/outage.ts';
import { type Instant, instantAt, milliseconds } from '../../src/time/instant.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/time/lengths.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { eventSource, type HeldEvent } from './memory-source.ts';
import { at, eventsOf, pageOf } from './outcome-pages.ts';

const START_MS = Date.parse('2026-11-20T00:00:00Z');
const instant = (time: number) => instantAt(time) as Instant;

const STATUSES = { F: 'FAILED', S: 'SUCCESS', P: 'PENDING' } as const;

/** An event a minute for each letter: `F` failed, `S` delivered, `P` neither; digits are gaps in hours. */
function historyOf(outcomes: string): HeldEvent[] {
  let time = START_MS;
  return [...outcomes].flatMap((outcome) => {
    const hours = Number(outcome);
    time += Number.isNaN(hours) ? MINUTE_MS : hours * HOUR_MS;
    const publishStatus = STATUSES[outcome as keyof typeof STATUSES];
    return publishStatus ? [{ createdOn: time, publishStatus }] : [];
  });
}

type Given = Omit<Parameters<typeof eventSource>[1], 'kind'> & {
  /** The window begins before this event, and ends before another. */
  readonly from?: number;
  readonly to?: number;
  /** The outage is followed back to the first event, or to another. */
  readonly earliest?: number;
};

/** The outage as `since-lastFailed-until`, by the positions of its events. */
async function outageIn(kind: 'service' | 'file' | 'pipe', outcomes: string, given: Given = {}) {
  const events = historyOf(outcomes);
  const { from = 0, to = events.length, earliest = 0, ...others } = given;
  const { source, asked } = eventSource(events, { kind, ...others });
  const end = (events.at(-1)?.createdOn ?? START_MS) + MINUTE_MS;
  const timeOf = (index: number) => (events[index]?.createdOn ?? end) - 1;
  const window = { after: instant(timeOf(from)), before: instant(timeOf(to)) };
  const lastFailed = events.slice(from, to).findLast(({ publishStatus }) => publishStatus === 'FAILED');
  const found = await findOutage(
    source,
    new EventFilters(),
    lastFailed && instant(lastFailed.createdOn),
    window,
    instant(timeOf(earliest)),
  );
  return { outage: found && shownOutage(found, events), pages: asked.pages };
}

function shownOutage({ since, edge, lastFailed, until }: Outage, events: readonly HeldEvent[]): string {
  const positionOf = (time: Instant) => events.findIndex(({ createdOn }) => createdOn === milliseconds(time));
  const end = until ? positionOf(until) : 'open';
  return `${edge ? 'edge ' : ''}${positionOf(since)}-${positionOf(lastFailed)}-${end}`;
}

const BOTH = ['service', 'file'] as const;

describe('the latest outage', () => {
  test.each([
    ['SSFFFSS', '2-4-5'],
    ['SSFFF', '2-4-open'],
    ['SSFFFS', '2-4-open'],
    ['FFSS', 'edge 0-1-2'],
    ['SFF', '1-2-open'],
    ['SSFSFSSS', '2-4-5'],
    ['SSFFSSFFSSF', '6-7-8'],
    ['SSFFSSFSSFSSF', '2-3-4'],
    ['SSFSSFSS', undefined],
    ['SSSS', undefined],
    ['', undefined],
    ['SSFF2S3S', '2-3-4'],
    ['SSFF5S9S9S', '2-3-4'],
    ['SSFF9999999S9999999S', '2-3-4'],
    ['SSFPPFPP', '2-5-open'],
    ['PPSSFF', '4-5-open'],
  ])('of %s is %s, from a file and from a service, whatever its pages', async (outcomes, outage) => {
    expect((await outageIn('file', outcomes)).outage).toBe(outage);
    for (const pageEvents of [1, 2, 3, 20])
      for (const hasStatuses of [true, false]) {
        const found = await outageIn('service', outcomes, { pageEvents, hasStatuses });
        expect(found.outage).toBe(outage);
      }
  });

  test('is the same whether a service is read in parts or all events are', async () => {
    const position = fc.nat({ max: 12 });
    const given = fc.record({
      pageEvents: fc.integer({ min: 1, max: 8 }),
      hasStatuses: fc.boolean(),
      positions: fc.tuple(position, position, position),
    });
    const history = fc.array(fc.constantFrom('S', 'SS', 'F', 'FF'), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(history, given, async (outcomes, { positions, ...parts }) => {
        const [earliest = 0, from = 0, to = 0] = positions.toSorted((a, b) => a - b);
        const times = { earliest, from, to };
        const all = await outageIn('file', outcomes.join(''), times);
        expect((await outageIn('service', outcomes.join(''), { ...times, ...parts })).outage).toBe(
          all.outage,
        );
      }),
    );
  });

  test('is followed back before the window, and not before the earliest time', async () => {
    for (const kind of BOTH) {
      const outageOf = async (from: number, earliest = 0) =>
        (await outageIn(kind, 'SSFFFFSSSS', { from, earliest })).outage;
      expect([await outageOf(4), await outageOf(8)]).toEqual(['2-5-6', '2-5-6']);
      expect([await outageOf(5, 3), await outageOf(8, 6)]).toEqual(['edge 3-5-6', undefined]);
    }
  });

  test('is not looked for in events that can be read only once', async () => {
    expect((await outageIn('pipe', 'SSFFF')).outage).toBeUndefined();
  });

  test('is read no further back than two deliveries before it, and passes over 20 lone failures', async () => {
    const early = 'S'.repeat(40);
    expect(await outageIn('service', `${early}SSFFF`, { pageEvents: 5 })).toEqual({
      outage: '42-44-open',
      pages: 1,
    });
    expect((await outageIn('service', 'F')).pages).toBe(1);
    const lone = (failures: number) => outageIn('service', `SSFF${'SSF'.repeat(failures)}`);
    expect((await lone(19)).outage).toBe('2-3-4');
    expect((await lone(20)).outage).toBeUndefined();
  });

  test('has no failures and no end that are after the window', async () => {
    for (const kind of BOTH) {
      const outageOf = async (outcomes: string, from: number, to: number) =>
        (await outageIn(kind, outcomes, { from, to })).outage;
      expect(await outageOf('SSFFSSSFFF', 6, 7)).toBe('2-3-4');
      expect([await outageOf('SSFFSS', 0, 4), await outageOf('SSFFSS', 0, 5)]).toEqual([
        '2-3-open',
        '2-3-open',
      ]);
      expect(await outageOf('SSFFSS', 0, 6)).toBe('2-3-4');
    }
  });

  test('of a file takes one reading', async () => {
    expect((await outageIn('file', 'SSFFSSFSSF')).pages).toBe(5);
  });
});

describe('the largest outage', () => {
  const largestOf = (...pages: readonly (readonly object[])[]) => {
    const fold = new HealthFold([[memberPath('subscriptionId')]], UTC);
    for (const events of pages) fold.see(pageOf(events));
    const largest = findLargestOutage(fold);
    return (
      largest && {
        ...largest,
        since: largest.since.text,
        lastFailed: largest.lastFailed.text,
        until: largest.until?.text,
      }
    );
  };

  test('has the most failures, whatever the order of the pages', () => {
    const events = eventsOf('SSFFFSFSSSFFSS');
    const largest = { since: at(2), edge: false, lastFailed: at(6), until: at(7), failed: 4 };
    expect(largestOf(events)).toEqual(largest);
    expect(largestOf(events.slice(5).reverse(), events.slice(0, 5))).toEqual(largest);
    expect(largestOf(eventsOf('FFF'))).toEqual({
      since: at(0),
      edge: true,
      lastFailed: at(2),
      until: undefined,
      failed: 3,
    });
  });

  test('is none without two failures in a row that have a time', () => {
    const undated = eventsOf('FFF', { createdOn: null });
    expect([largestOf(eventsOf('SSFSSF')), largestOf(undated), largestOf()]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(largestOf(undated, eventsOf('FF'))).toMatchObject({ since: at(0), failed: 2 });
  });
});
