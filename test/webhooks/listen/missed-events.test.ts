import { describe, expect, test } from 'vitest';
import type { Call } from '../../../src/command.ts';
import { NotSignedInError, ServiceError, UsageError } from '../../../src/errors.ts';
import type { Service } from '../../../src/http/service.ts';
import type { FoundEvent } from '../../../src/webhooks/found-events.ts';
import type { Acceptance } from '../../../src/webhooks/journal.ts';
import {
  createFindMissed,
  keepRecovering,
  type Recovery,
  type RecoveryTimes,
} from '../../../src/webhooks/listen/missed-events.ts';
import { clock, clockWith, NOON } from '../../support/clock.ts';
import { createContext } from '../../support/context.ts';
import { foundOf } from '../../support/found.ts';
import { fakeReporter, reporterTo } from '../../support/outputs.ts';
import { itemOf } from '../../support/shape.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Listed {
  readonly id?: string | null;
  /** Minutes before noon. */
  readonly ago?: number;
  readonly status?: string;
}

const listed = (events: readonly Listed[]): FoundEvent[] =>
  foundOf(
    events.map(({ id = null, ago, status = 'FAILED' }) => {
      const createdOn = ago === undefined ? undefined : new Date(NOON - ago * MINUTE_MS).toISOString();
      return { eventId: id, createdOn, publishStatus: status };
    }),
  );

const ACCEPTED: Acceptance = { outcome: 'accepted' };
const ENOUGH = new Error('enough searches');

interface Setting {
  readonly times?: Partial<RecoveryTimes>;
  readonly known?: readonly string[];
  readonly leftBefore?: number;
  readonly accept?: (id: string) => Acceptance;
}

/**
 * Recovers from searches that find these events, or fail. `searched`: from and until of each, in milliseconds
 * ago; `handedOn`: the ids in their order.
 */
async function recover(searches: readonly (readonly Listed[] | Error)[], setting: Setting = {}) {
  const { times = {}, known = [], leftBefore, accept = () => ACCEPTED } = setting;
  const [searched, handedOn]: [number[][], string[]] = [[], []];
  const keys = new Set(listed(known.map((id) => ({ id }))).map(({ key }) => key));
  const said: string[] = [];
  const reporter = reporterTo((line) => said.push(line));
  const ending = new AbortController();
  const recovery = {
    find: async (from: number, until: number) => {
      const found = searches[searched.length];
      searched.push([from, until]);
      if (found instanceof Error) throw found;
      return listed(found ?? []);
    },
    intake: {
      acceptFound: async (body: Buffer) => {
        const { eventId } = JSON.parse(body.toString());
        handedOn.push(eventId);
        return accept(eventId);
      },
    },
    journal: { has: (key: string) => keys.has(key) },
    times: { recover: HOUR_MS, recoverInterval: 10 * MINUTE_MS, ...times },
    leftBefore,
    clock: clockWith({
      sleep: async (milliseconds, signal) => {
        clock.advance(milliseconds);
        if (searched.length >= searches.length) ending.abort(ENOUGH);
        signal?.throwIfAborted();
      },
    }),
    reporter,
  } as unknown as Recovery;
  const error = await keepRecovering(recovery, ending.signal).catch((thrown) => thrown);
  return { error, searched, handedOn, said };
}

describe('missed events', () => {
  test('are handed on once each, the oldest first, without those that the journal has', async () => {
    const { error, searched, handedOn, said } = await recover(
      [
        [
          { id: 'c', ago: 1 },
          { id: 'b', ago: 2 },
          { id: 'known', ago: 3 },
          { id: 'b', ago: 4 },
          { ago: 5 },
          { id: 'a', ago: 6 },
        ],
      ],
      { known: ['known'] },
    );
    expect(error).toBe(ENOUGH);
    expect([searched, handedOn]).toEqual([[[HOUR_MS, 0]], ['a', 'b', 'c']]);
    expect(said).toEqual(['notice: recovered 3 events of the last 1h']);
  });

  test('are searched for again after each interval, until ten seconds ago', async () => {
    const { searched, said } = await recover([[], [], [{ id: 'a', ago: 1 }]]);
    expect(searched).toEqual([
      [HOUR_MS, 0],
      [HOUR_MS, 10_000],
      [HOUR_MS, 10_000],
    ]);
    expect(said).toEqual([
      'notice: recovered 0 events of the last 1h',
      'incomplete: recovered 1 event whose delivery never came or was refused',
    ]);
  });

  test('are looked for since the last search that worked, for as long as the journal keeps ids', async () => {
    const down = new ServiceError('the service is down');
    const failed = Array(8).fill(down);
    const since = async (keep: Partial<RecoveryTimes>) => {
      const { searched } = await recover([[], ...failed, []], { times: keep });
      return searched.at(-1)?.[0];
    };
    // Ten minutes for each search, and the ten seconds in which an event may still be on its way.
    expect(await since({})).toBe(90 * MINUTE_MS + 10_000);
    expect(await since({ keep: 80 * MINUTE_MS })).toBe(80 * MINUTE_MS);
    expect(await since({ recover: 2 * HOUR_MS })).toBe(2 * HOUR_MS);
  });

  test('that could not be searched for are said to come later, with the reason', async () => {
    const down = new ServiceError('the service is down');
    const { said } = await recover([down, []]);
    expect(said).toEqual([`${down.kind}: events could not be recovered, again in 10m: the service is down`]);
  });

  test.each([new NotSignedInError('not signed in'), new UsageError('a wrong flag')])(
    'end the command where the first search shows that no other can work: %s',
    async (error) => {
      expect((await recover([error])).error).toBe(error);
      const later = await recover([[], error]);
      expect(later.error).toBe(ENOUGH);
      expect(later.said.at(-1)).toBe(
        `${error.kind}: events could not be recovered, again in 10m: ${error.message}`,
      );
    },
  );

  test('are handed on no further once the program stops', async () => {
    const ending = new AbortController();
    const handedOn: string[] = [];
    const recovery = {
      find: async () => listed([{ id: 'b' }, { id: 'a' }]),
      intake: {
        acceptFound: async () => {
          handedOn.push('one');
          ending.abort(ENOUGH);
          return ACCEPTED;
        },
      },
      journal: { has: () => false },
      times: { recover: HOUR_MS, recoverInterval: MINUTE_MS },
      clock,
      reporter: fakeReporter(),
    } as unknown as Recovery;
    await expect(keepRecovering(recovery, ending.signal)).rejects.toBe(ENOUGH);
    expect(handedOn).toEqual(['one']);
  });

  test('that the service calls delivered are counted', async () => {
    const found = ['a', 'b', 'c'].map((id) => ({ id, ago: 1, status: id === 'a' ? 'FAILED' : 'SUCCESS' }));
    expect((await recover([found])).said).toEqual([
      'notice: recovered 3 events of the last 1h; the service calls 2 of them delivered',
    ]);
  });

  test('of several subscriptions count as delivered only if each got them', async () => {
    const found = [
      { id: 'a', ago: 1, status: 'SUCCESS' },
      { id: 'a', ago: 2, status: 'FAILED' },
    ];
    expect((await recover([found])).said).toEqual(['notice: recovered 1 event of the last 1h']);
  });
});

describe('with a new journal', () => {
  test('what was delivered before it began, or at an unknown time, is left alone', async () => {
    const delivered = { status: 'SUCCESS' };
    const found = [
      { id: 'later', ago: 9, ...delivered },
      { id: 'then', ago: 10, ...delivered },
      { id: 'earlier', ago: 11, ...delivered },
      { id: 'undated', ...delivered },
      { id: 'failed', ago: 12 },
    ];
    const { handedOn, said } = await recover([found], { leftBefore: NOON - 10 * MINUTE_MS });
    expect(handedOn).toEqual(['failed', 'then', 'later']);
    expect(said).toEqual([
      'notice: recovered 3 events of the last 1h; the service calls 2 of them delivered',
      'notice: left alone 2 events that the service reports as delivered: the journal is new, so they may have been handled before (--new-journal hands them over too)',
    ]);
    expect((await recover([found])).handedOn).toHaveLength(5);
  });
});

describe('events that were not accepted', () => {
  const refused = (parts: Partial<Acceptance>): Setting => ({
    accept: () => ({ outcome: 'refused', ...parts }),
  });
  const found = [{ id: 'a', ago: 1 }];

  test('are said to be tried again', async () => {
    const some = { accept: (id: string) => ({ outcome: id === 'a' ? 'accepted' : 'refused' }) as Acceptance };
    const ids = (...names: string[]) => names.map((id) => ({ id, ago: 1 }));
    expect((await recover([ids('b')], some)).said.at(-1)).toBe(
      'incomplete: 1 found event was not accepted, and is tried again in 10m',
    );
    expect((await recover([[], ids('a', 'b', 'c')], some)).said.slice(1)).toEqual([
      'incomplete: recovered 1 event whose delivery never came or was refused',
      'incomplete: 2 found events were not accepted, and are tried again in 10m',
    ]);
  });

  test.each<[string, Partial<Acceptance>, boolean]>([
    ['a handler that is down', { answer: { failure: 'refused' } }, true],
    ['a handler that answers 500', { answer: { status: 500 } }, true],
    ['a fault of this program', { error: new Error('disk full'), answer: { status: 200 } }, true],
    ['no handler', {}, true],
    ['a handler that answers 400', { answer: { status: 400 } }, false],
  ])('because of %s may be later: the next search reaches as far back: %s', async (_, parts, mayPass) => {
    const searches = Array(9).fill(found);
    const { searched } = await recover(searches, refused(parts));
    // The searches began an hour before noon, 80 minutes ago.
    expect(searched.at(-1)?.[0]).toBe(mayPass ? HOUR_MS + 80 * MINUTE_MS : HOUR_MS);
  });

  test('are tried for a day at most', async () => {
    const { searched } = await recover(Array(30).fill(found), {
      ...refused({ answer: { status: 503 } }),
      times: { recoverInterval: HOUR_MS },
    });
    expect(searched.at(-1)?.[0]).toBe(25 * HOUR_MS);
  });

  test('and are duplicates count as neither', async () => {
    const { said } = await recover([found], { accept: () => ({ outcome: 'duplicate' }) });
    expect(said).toEqual(['notice: recovered 0 events of the last 1h']);
  });
});

describe('a search for missed events', () => {
  /** Searches between times so many milliseconds ago, with the queries that a service got. */
  async function search(
    from: number,
    until: number,
    subscription?: string,
    marketplaces?: readonly string[],
  ) {
    const asked: string[] = [];
    const { signal } = new AbortController();
    const items = [1, 2].map((market) =>
      JSON.stringify(itemOf({ eventId: `e${market}`, headers: { marketplaceIds: [String(market)] } })),
    );
    const service = {
      baseUrl: new URL('https://events.example.com/v1'),
      clock,
      signal,
      send: async ({ url }: { url: URL }) => {
        asked.push(decodeURIComponent(url.search.slice(1)));
        const page = `{"count":2,"items":[${items}]}`;
        return { status: 200, headers: {}, body: Buffer.from(page) };
      },
    } as unknown as Service;
    const context = createContext();
    const reporter = fakeReporter();
    const call = { context, reporter, settings: { marketplaces } } as unknown as Call;
    const found = await createFindMissed(service, subscription, 'event', call)(from, until);
    const ids: unknown[] = [];
    for await (const { eventId } of found) ids.push(eventId);
    expect([reporter.said, context.stderr]).toEqual([[], expect.objectContaining({ text: '' })]);
    return { ids, asked };
  }

  test('is between its times by the clock of the service, and prints nothing', async () => {
    const { ids, asked } = await search(HOUR_MS, 10_000);
    expect(ids).toEqual(['e1', 'e2']);
    expect(asked.at(-1)).toMatch(
      /^gt\(createdOn,2026-11-20T11:00:00Z\)&lt\(createdOn,2026-11-20T11:59:50Z\)&limit\(1,500\)$/,
    );
    expect((await search(HOUR_MS, 0)).asked.at(-1)).not.toContain('11:59:50Z');
  });

  test('is of one subscription, and of some marketplaces, if they are given', async () => {
    const { ids, asked } = await search(HOUR_MS, 0, 's-1', ['2']);
    expect([ids, asked.at(-1)]).toEqual([['e2'], expect.stringContaining('&eq(subscriptionId,s-1)&')]);
    expect((await search(HOUR_MS, 0)).asked.at(-1)).not.toContain('subscriptionId');
  });
});
