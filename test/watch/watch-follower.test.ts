import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/errors.ts';
import type { Query } from '../../src/paging/event-query.ts';
import type { FetchPage } from '../../src/paging/page.ts';
import { readPage } from '../../src/paging/page.ts';
import { type Instant, instantAt } from '../../src/time/instant.ts';
import { Follower, type FollowerState } from '../../src/watch/watch-follower.ts';
import { faultRounds, sampleSize } from '../support/seed.ts';

const signal = new AbortController().signal;
const START = Date.parse('2026-11-01T00:00:00Z');
const instant = (ms: number) => instantAt(ms) as Instant;

interface Stored {
  readonly id: number;
  readonly createdOn: number;
  /** What the item has instead of its time. The service knows when it was created all the same. */
  readonly told?: 'nothing' | 'null' | 'no time';
}
const TOLD = { nothing: '', null: ',"createdOn":null', 'no time': ',"createdOn":"soon"' };

/** A service with its own clock that answers as the service description says, newest first. */
class FakeService {
  now = START;
  /** Milliseconds by which the service's clock is ahead of this machine's. */
  ahead = 0;
  down = false;
  /** False if its answers have no `Date`. */
  isDated = true;
  requests = 0;
  /** Called before each answer. */
  onRequest = () => {};
  readonly events: Stored[] = [];

  readonly fetchPage: FetchPage = async (url) => {
    this.requests++;
    this.onRequest();
    if (this.down) throw new ServiceError('down');
    const query = decodeURIComponent(url.search);
    const bound = (key: string) =>
      Date.parse(query.match(new RegExp(`${key}\\(createdOn,([^)]*)\\)`))?.[1] ?? '');
    const [gt, lt] = [bound('gt'), bound('lt')];
    const [start, size] = (query.match(/limit\((\d+),(\d+)\)/)?.slice(1) ?? []).map(Number) as [
      number,
      number,
    ];
    // The types are the last digits of the ids.
    const type = query.match(/eq\(eventType,(\d)\)/)?.[1];
    const found = this.events
      .filter(({ createdOn }) => !(createdOn <= gt) && !(createdOn >= lt))
      .filter(({ id }) => type === undefined || `${id}`.endsWith(type))
      .sort((a, b) => b.createdOn - a.createdOn || b.id - a.id);
    const items = found.slice(start - 1, start - 1 + size).map(textOf);
    const body = `{"count":${found.length},"items":[${items.join(',')}]}`;
    // `Date` has whole seconds.
    const date = Math.floor(this.now / 1000) * 1000;
    return { page: readPage(Buffer.from(body)), serviceTime: this.isDated ? date : undefined };
  };
}

function textOf({ id, createdOn, told }: Stored): string {
  const time = told ? TOLD[told] : `,"createdOn":"${new Date(createdOn).toISOString()}"`;
  return `{"eventId":"${id}"${time}}`;
}

function following(
  service: FakeService,
  overlap: number,
  most = 20_000,
  state?: FollowerState,
  before?: Instant,
  queries: readonly Query[] = [{}],
  ending = signal,
) {
  const parts = {
    fetchPage: service.fetchPage,
    baseUrl: new URL('http://service'),
    concurrency: () => 4,
    signal: ending,
    onForeignLinks: () => undefined,
  };
  const watch = { queries, start: instant(START), before, keep: undefined, overlap, most, isInOrder: false };
  const follower = new Follower(watch, { ...parts, now: () => service.now - service.ahead }, state);
  const printed: Stored[] = [];
  const poll = async () => {
    const batches: number[][] = [];
    try {
      for await (const items of follower.poll()) {
        const batch = items.map(({ text }) => JSON.parse(text.toString()));
        for (const { eventId, createdOn } of batch)
          printed.push({ id: Number(eventId), createdOn: Date.parse(createdOn) });
        follower.remember(items);
        batches.push(batch.map(({ createdOn }) => Date.parse(createdOn)));
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
    return batches;
  };
  return { follower, printed, poll };
}

describe('following', () => {
  test('passes on every event once, oldest first, whatever happens between polls', async () => {
    const OVERLAP = 60_000;
    const step = fc.record({
      // The time until the next poll, up to many times the overlap: outages and sleep.
      pause: fc.constantFrom(0, 300, 1000, 15_000, 59_999, 3_600_000),
      down: fc.boolean(),
      // The time between the creation of an event and its appearance.
      late: fc.array(fc.integer({ min: 0, max: OVERLAP - 1000 }), { maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.constantFrom(2, 5, 20_000),
        async (steps, most) => {
          const service = new FakeService();
          const { follower, printed, poll } = following(service, OVERLAP, most);
          let id = 0;
          for (const { pause, down, late } of [...steps, { pause: 0, down: false, late: [] }]) {
            service.now += pause;
            for (const age of late)
              service.events.push({ id: id++, createdOn: Math.max(START + 1, service.now - age) });
            service.down = down;
            for (const batch of await poll()) expect(batch).toEqual(batch.toSorted((a, b) => a - b));
          }
          expect(printed.map((event) => event.id).sort((a, b) => a - b)).toEqual(
            service.events.map((event) => event.id),
          );
          expect(follower.state.printed.length).toBeLessThanOrEqual(service.events.length);
        },
      ),
      { numRuns: faultRounds(sampleSize(10, 100), 3000) },
    );
  });

  test.each([undefined, 'nothing', 'null', 'no time'] as const)(
    'forgets events that no poll can return again, where an item has %s for its time',
    async (told) => {
      const service = new FakeService();
      const { follower, printed, poll } = following(service, 5000);
      for (let second = 0; second < 300; second++) {
        service.now += 1000;
        service.events.push({ id: second, createdOn: service.now, ...(told ? { told } : {}) });
        await poll();
      }
      expect(printed).toHaveLength(300);
      expect(follower.state.printed.length).toBeLessThan(20);
    },
  );

  test.each([
    // The service may date some later than its own clock.
    ['at once', 20_000, -20_000],
    ['in slices', 3, 0],
  ])('passes on each event once whose time only the service knows, read %s', async (_, most, youngest) => {
    const OVERLAP_MS = 5000;
    const step = fc.record({
      pause: fc.constantFrom(0, 300, 1000, 4999, 15_000, 3_600_000),
      ages: fc.array(fc.integer({ min: youngest, max: OVERLAP_MS - 1000 }), { maxLength: 4 }),
      told: fc.constantFrom('nothing' as const, 'null' as const, 'no time' as const),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const service = new FakeService();
        const { printed, poll } = following(service, OVERLAP_MS, most);
        let id = 0;
        for (const { pause, ages, told } of steps) {
          service.now += pause;
          for (const age of ages)
            service.events.push({ id: id++, createdOn: Math.max(START + 1, service.now - age), told });
          await poll();
        }
        expect(printed.map((event) => event.id).sort((a, b) => a - b)).toEqual([...Array(id).keys()]);
      }),
      { numRuns: faultRounds(sampleSize(10, 100), 3000) },
    );
  });

  test.each(['nothing', 'null', 'no time'] as const)(
    'passes on once what many polls find whose time only the service knows, where an item has %s',
    async (told) => {
      const service = new FakeService();
      const { printed, poll } = following(service, 5000);
      service.now += 1000;
      // Dated later than the service's own clock.
      service.events.push({ id: 1, createdOn: service.now + 20_000, told });
      for (let second = 0; second < 60; second++) {
        await poll();
        service.now += 1000;
      }
      expect(printed.map(({ id }) => id)).toEqual([1]);
    },
  );

  test('passes on once what was created after the whole second of `Date`, without a time and an overlap', async () => {
    const service = new FakeService();
    const { printed, poll } = following(service, 0);
    service.now += 1900;
    service.events.push({ id: 1, createdOn: service.now, told: 'nothing' });
    await poll();
    service.now += 1000;
    await poll();
    expect(printed.map(({ id }) => id)).toEqual([1]);
  });

  test("goes by this machine's clock where the service sends no time", async () => {
    const service = new FakeService();
    service.isDated = false;
    const { follower, printed, poll } = following(service, 5000);
    service.events.push({ id: 1, createdOn: START + 9000 });
    service.now += 10_700;
    await poll();
    expect([printed.map(({ id }) => id), follower.resumeAt.text]).toEqual([[1], '2026-11-01T00:00:05.700Z']);
  });

  test('passes on events of one moment in the order that the service has them in', async () => {
    const service = new FakeService();
    const { printed, poll } = following(service, 5000);
    for (const id of [1, 2, 3, 4]) service.events.push({ id, createdOn: START + 500 });
    service.now += 1000;
    await poll();
    expect(printed.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  });

  test('loses no event that is created while several searches are read, without an overlap', async () => {
    const pauses = fc.array(fc.constantFrom(0, 1, 400, 999, 1000, 2500), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(pauses, async (given) => {
        const service = new FakeService();
        const queries = [{ eventType: '0' }, { eventType: '1' }, { eventType: '2' }];
        const { printed, poll } = following(service, 0, 20_000, undefined, undefined, queries);
        let id = 0;
        const created: number[] = [];
        const rest = [...given];
        service.onRequest = () => {
          service.now += rest.shift() ?? 0;
          if (rest.length === 0) return;
          // One of each type, each before the next answer.
          for (const type of [0, 1, 2]) {
            created.push(10 * ++id + type);
            service.events.push({ id: 10 * id + type, createdOn: Math.max(START + 1, service.now) });
          }
        };
        while (rest.length > 0) await poll();
        service.now += 10_000;
        await poll();
        expect(printed.map((event) => event.id).sort((a, b) => a - b)).toEqual(created);
      }),
      { numRuns: faultRounds(sampleSize(8, 70), 2000) },
    );
  });

  test.each([
    ['as this machine', 0],
    ['a day ahead of this machine', 86_400_000],
  ])('catches up on a long gap in slices, in order across them, from a service %s', async (_, ahead) => {
    const service = new FakeService();
    service.ahead = ahead;
    const { printed, poll } = following(service, 5000, 50);
    for (let id = 0; id < 3000; id++) service.events.push({ id, createdOn: START + 1 + id * 1000 });
    service.now = START + 10 * 3_600_000;
    const batches = await poll();
    expect(printed.map(({ id }) => id)).toEqual(Array.from({ length: 3000 }, (_, id) => id));
    expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(50);
    expect(service.requests).toBeLessThan(400);
  });

  test('catches up on a long gap no further than --until', async () => {
    const service = new FakeService();
    const { follower, printed, poll } = following(service, 5000, 50, undefined, instant(START + 600_000));
    for (let id = 0; id < 3000; id++) service.events.push({ id, createdOn: START + 1 + id * 1000 });
    service.now = START + 10 * 3_600_000;
    await poll();
    expect(printed.map(({ id }) => id)).toEqual(Array.from({ length: 600 }, (_, id) => id));
    expect(follower.ended).toBe(true);
  });

  test('loses no event created where one slice ends and the next begins', async () => {
    const service = new FakeService();
    const { printed, poll } = following(service, 0, 2500);
    for (let id = 0; id < 6000; id++) service.events.push({ id, createdOn: START + 1 + id });
    service.now = START + 7000;
    expect((await poll()).length).toBeGreaterThan(2);
    expect(printed.map(({ id }) => id)).toEqual(Array.from({ length: 6000 }, (_, id) => id));
  });

  test('loses no event between a run that ends at --until and the run that continues it, without an overlap', async () => {
    const service = new FakeService();
    for (let id = 0; id < 100; id++) service.events.push({ id, createdOn: START + 1000 + id * 100 });
    let state: FollowerState | undefined;
    const ids: number[] = [];
    for (const until of [3000, 6000, 20_000]) {
      // The service answers later than the time at which the run ends.
      service.now = START + until + 2000;
      const { follower, printed, poll } = following(service, 0, 20_000, state, instant(START + until));
      await poll();
      expect(follower.ended).toBe(true);
      state = follower.state;
      ids.push(...printed.map(({ id }) => id));
    }
    expect(ids).toEqual(Array.from({ length: 100 }, (_, id) => id));
  });

  test('ends once the service has answered at --until or later, and never without it', async () => {
    const service = new FakeService();
    const limited = following(service, 0, 20_000, undefined, instant(START + 10_000));
    const endless = following(service, 0);
    const ends = async (now: number) => {
      service.now = START + now;
      await limited.poll();
      await endless.poll();
      return [limited.follower.ended, endless.follower.ended];
    };
    expect([limited.follower.ended, endless.follower.ended]).toEqual([false, false]);
    expect(await ends(9000)).toEqual([false, false]);
    expect(await ends(10_000)).toEqual([true, false]);
  });

  test('passes on what was read before the service failed, and the rest with the next poll', async () => {
    const service = new FakeService();
    const queries = [{ eventType: '0' }, { eventType: '1' }];
    const { printed, poll } = following(service, 0, 20_000, undefined, undefined, queries);
    for (const id of [10, 20, 11, 21]) service.events.push({ id, createdOn: START + id });
    service.now = START + 2000;
    service.onRequest = () => {
      service.down = service.requests === 2;
    };
    await poll();
    expect(printed.map(({ id }) => id)).toEqual([10, 20]);
    await poll();
    expect(printed.map(({ id }) => id)).toEqual([10, 20, 11, 21]);
  });

  test('passes on nothing more once it is told to end', async () => {
    const service = new FakeService();
    const ending = new AbortController();
    const queries = [{ eventType: '0' }, { eventType: '1' }];
    const { printed, poll } = following(service, 0, 20_000, undefined, undefined, queries, ending.signal);
    for (const id of [10, 11]) service.events.push({ id, createdOn: START + id });
    service.now = START + 2000;
    service.onRequest = () => {
      if (service.requests === 2) ending.abort(new ServiceError('ended'));
      service.down = ending.signal.aborted;
    };
    await poll();
    expect(printed).toEqual([]);
  });

  test('reads as many events as may be held at once, and those of two seconds however many they are', async () => {
    const asked = async (events: number, most: number) => {
      const service = new FakeService();
      for (let id = 0; id < events; id++) service.events.push({ id, createdOn: START + 500 });
      service.now = START + 1000;
      const { printed, poll } = following(service, 0, most);
      await poll();
      expect(printed).toHaveLength(events);
      return service.requests;
    };
    expect([await asked(50, 50), await asked(51, 50)]).toEqual([1, 2]);
  });

  test('a resumed run goes back by the overlap, so that late events are not lost', async () => {
    const service = new FakeService();
    const { follower, poll } = following(service, 5000);
    expect(follower.resumeAt.text).toBe('2026-11-01T00:00:00Z');
    service.now = START + 10_700;
    service.events.push({ id: 1, createdOn: START + 10_600 });
    await poll();
    expect(follower.resumeAt.text).toBe('2026-11-01T00:00:05Z');
    service.events.push({ id: 2, createdOn: START + 3_600_000 });
    service.now = START + 20_000;
    await poll();
    expect(follower.resumeAt.text).toBe('2026-11-01T00:00:15Z');
  });

  test('a clock of the service that was ahead for a time hides no event, across restarts too', async () => {
    const HOUR = 3_600_000;
    const service = new FakeService();
    const first = following(service, 60_000);
    const add = (id: number) => service.events.push({ id, createdOn: service.now - service.ahead - 500 });
    service.now += 2000;
    add(1);
    await first.poll();
    [service.now, service.ahead] = [service.now + HOUR, HOUR];
    add(2);
    await first.poll();
    [service.now, service.ahead] = [service.now - HOUR + 15_000, 0];
    add(3);
    await first.poll();
    const resumed = following(service, 60_000, 20_000, first.follower.state);
    service.now += 15_000;
    add(4);
    await resumed.poll();
    expect([...first.printed, ...resumed.printed].map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  });

  test('with a saved state, each event is passed on once across restarts', async () => {
    const OVERLAP = 60_000;
    const step = fc.record({
      pause: fc.constantFrom(0, 1000, 15_000, 59_999, 3_600_000),
      late: fc.array(fc.integer({ min: 0, max: OVERLAP - 1000 }), { maxLength: 6 }),
      restarts: fc.boolean(),
      /**
       * The number of events of the first batch that are printed before the run is killed; undefined: all of
       * every batch.
       */
      killedAfter: fc.option(fc.nat(3), { nil: undefined }),
      future: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        const service = new FakeService();
        let run = following(service, OVERLAP, 3);
        const printed: number[] = [];
        let id = 0;
        for (const { pause, late, restarts, killedAfter, future } of [
          ...steps,
          { pause: 0, late: [], restarts: true, killedAfter: undefined, future: false },
        ]) {
          service.now += pause;
          for (const age of late)
            service.events.push({ id: id++, createdOn: Math.max(START + 1, service.now - age) });
          if (future) service.events.push({ id: id++, createdOn: service.now + 86_400_000 });
          if (killedAfter !== undefined) {
            for await (const items of run.follower.poll()) {
              const some = items.slice(0, killedAfter);
              run.follower.remember(some);
              printed.push(...some.map(({ text }) => Number(JSON.parse(text.toString()).eventId)));
              break;
            }
          } else {
            await run.poll();
            printed.push(...run.printed.splice(0).map((event) => event.id));
          }
          if (restarts || killedAfter !== undefined) {
            const saved = JSON.parse(JSON.stringify(run.follower.state)) as FollowerState;
            run = following(service, OVERLAP, 3, saved);
          }
        }
        expect(printed.sort((a, b) => a - b)).toEqual(service.events.map((event) => event.id));
      }),
      { numRuns: faultRounds(sampleSize(8, 70), 2000) },
    );
  });
});
