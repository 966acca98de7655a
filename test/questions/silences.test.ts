import { describe, expect, test } from 'vitest';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { memberPath } from '../../src/items/field-path.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import type { SubscriptionNames } from '../../src/names/subscription-names.ts';
import { foldPages } from '../../src/questions/fold.ts';
import { HealthFold } from '../../src/questions/health-fold.ts';
import { NO_EVENTS } from '../../src/questions/health-row.ts';
import { findSilences } from '../../src/questions/silence.ts';
import { quietSubscriptions, silencesOf, withSilence } from '../../src/questions/silent-rows.ts';
import { knownInstant } from '../../src/time/instant.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/time/lengths.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { eventSource, type HeldEvent } from './memory-source.ts';

const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const now = knownInstant(NOW_MS);

/** Events of a subscription, the last so many hours before now. */
function regular(
  subscriptionId: string,
  { everyMs = 40 * MINUTE_MS, days = 30, silentHours = 0 } = {},
): HeldEvent[] {
  const last = NOW_MS - silentHours * HOUR_MS;
  return Array.from({ length: Math.floor((days * DAY_MS) / everyMs) }, (_, index) => ({
    createdOn: last - index * everyMs,
    publishStatus: 'SUCCESS',
    subscriptionId,
  }));
}

const SILENT = regular('silent', { silentHours: 14 });
const since = new Date(NOW_MS - 14 * HOUR_MS).toISOString();

describe('the silences of searches', () => {
  const of = (id: string, last?: number) => ({
    id,
    chosen: new EventFilters().withSubscriptions([id]),
    last: last === undefined ? undefined : knownInstant(last),
  });
  async function silences(
    kind: 'service' | 'file',
    events: readonly HeldEvent[],
    watched: ReturnType<typeof of>[],
  ) {
    const { source, asked } = eventSource(events, { kind, pageEvents: 500 });
    const found = await findSilences(source, watched, now);
    const shown = [...found].map(([{ id }, silence]) => [id, silence.since.text, silence.usualGapSeconds]);
    return { shown, asked };
  }

  test.each(['service', 'file'] as const)(
    'are those of searches whose events stopped, of a %s',
    async (kind) => {
      const events = [
        ...SILENT,
        ...regular('well'),
        ...regular('young', { silentHours: 14, days: 13 }),
        ...regular('rare', { silentHours: 14, everyMs: DAY_MS }),
      ];
      const watched = ['silent', 'well', 'young', 'rare', 'unknown'].map((id) => of(id));
      expect((await silences(kind, events, watched)).shown).toEqual([['silent', since, 2400]]);
      expect((await silences(kind, events, [])).shown).toEqual([]);
    },
  );

  test('need two counts each, of a service that knows the last event, where the same hours were quiet', async () => {
    const rare = regular('rare', { silentHours: 14, everyMs: DAY_MS });
    const known = (rare[0] as HeldEvent).createdOn;
    expect((await silences('service', rare, [of('rare', known)])).asked).toEqual({ pages: 0, counts: 2 });
    expect((await silences('service', rare, [of('rare')])).asked).toEqual({ pages: 1, counts: 2 });
    const short = regular('short', { silentHours: 1.9 });
    expect((await silences('service', short, [of('short')])).asked).toEqual({ pages: 1, counts: 0 });
    const young = regular('young', { silentHours: 14, days: 13 });
    expect((await silences('service', young, [of('young')])).asked).toEqual({ pages: 1, counts: 2 });
    const last = (SILENT[0] as HeldEvent).createdOn;
    expect((await silences('service', SILENT, [of('silent', last)])).asked).toEqual({ pages: 3, counts: 3 });
  });

  test('of more than 5,000 events are judged by their counts', async () => {
    const busy = regular('busy', { everyMs: 5 * MINUTE_MS, silentHours: 14 });
    const { shown, asked } = await silences('service', busy, [of('busy')]);
    expect(shown).toEqual([['busy', since, 300]]);
    // The newest event; then two weeks, the total, 28 days and four weeks.
    expect(asked).toEqual({ pages: 1, counts: 2 + 1 + 28 + 4 });
    const young = regular('busy', { everyMs: 2 * MINUTE_MS, silentHours: 6 * 24, days: 9 });
    expect((await silences('service', young, [of('busy')])).shown).toEqual([]);
    const short = regular('busy', { everyMs: 5 * MINUTE_MS, silentHours: 2.5 });
    expect((await silences('service', short, [of('busy')])).shown).toEqual([]);
  });

  test('of conditions that the service cannot apply are read', async () => {
    const conditions = [parseCondition('subscriptionId = silent', '--where', 0)];
    const chosen = new EventFilters({ conditions });
    const { source, asked } = eventSource(SILENT, { kind: 'service', pageEvents: 500 });
    const found = await findSilences(source, [of('silent'), { chosen, last: undefined }], now);
    expect([found.size, asked.counts]).toEqual([2, 0]);
  });
});

/** Names that know the state and the marketplaces of subscriptions. */
function namesOf(
  states: Readonly<Record<string, 'on' | 'off' | 'gone'>>,
  marketplaces: readonly string[] = [],
) {
  const all = Object.entries(states).map(([id, state]) => ({ id, state, marketplaces }));
  return { all, of: (id: string) => all.find((one) => one.id === id) } as unknown as SubscriptionNames;
}

describe('the silences of rows', () => {
  type Given = Parameters<typeof eventSource>[1] & {
    readonly by?: string;
    readonly names?: SubscriptionNames;
    /** The rows are of this many hours before now. */
    readonly hours?: number;
  };
  async function silentRows(
    events: readonly HeldEvent[],
    { by = 'subscriptionId', names, hours, ...given }: Given,
  ) {
    const after = hours === undefined ? undefined : knownInstant(NOW_MS - hours * HOUR_MS);
    const window = after && ({ after, before: now } as never);
    const { source, asked } = eventSource(events, { pageEvents: 500, window, ...given });
    const fields = [memberPath(by)];
    const table = new HealthFold([fields], UTC);
    await foldPages(source.readOutcomes(source.filters, source.window), [table]);
    const read = { ...asked };
    const quiet = names ? quietSubscriptions(names, table.result(), source.filters) : [];
    const rows = [...table.result(), ...quiet];
    const watching = { by: fields, isBySubscription: by === 'subscriptionId', names, before: now };
    const silences = await silencesOf(source, table, rows, watching);
    const isMoreAsked = asked.pages + asked.counts > read.pages + read.counts;
    return { silent: [...silences].map(([key, silence]) => [key, silence.since.text]), isMoreAsked };
  }

  test('are found in a service and in files, also before the window', async () => {
    const events = [...SILENT, ...regular('well')];
    const silent = [['"silent"', since]];
    expect(await silentRows(events, { kind: 'service', hours: 24 })).toEqual({ silent, isMoreAsked: true });
    expect(await silentRows(events, { kind: 'file', hours: 24 })).toEqual({ silent, isMoreAsked: true });
    expect(await silentRows(events, { kind: 'file' })).toEqual({ silent, isMoreAsked: false });
    expect(await silentRows(events, { kind: 'pipe' })).toEqual({ silent, isMoreAsked: false });
    expect(await silentRows(events, { kind: 'pipe', hours: 24 })).toEqual({ silent: [], isMoreAsked: false });
  });

  test('include subscriptions without events in the window, but not those that are off', async () => {
    const given = { kind: 'service', hours: 6 } as const;
    const on = await silentRows(SILENT, { ...given, names: namesOf({ silent: 'on' }) });
    expect(on.silent).toEqual([['"silent"', since]]);
    const off = await silentRows(SILENT, { ...given, names: namesOf({ silent: 'off' }) });
    expect(off).toEqual({ silent: [], isMoreAsked: false });
    expect(await silentRows(SILENT, given)).toEqual({ silent: [], isMoreAsked: false });
    const unlisted = await silentRows(SILENT, { kind: 'service', hours: 24, names: namesOf({}) });
    expect(unlisted.silent).toEqual([['"silent"', since]]);
  });

  test('are not ended by events after the window', async () => {
    const later = regular('silent', { silentHours: -24, days: 1 });
    expect((await silentRows([...SILENT, ...later], { kind: 'file', hours: 24 })).silent).toEqual([
      ['"silent"', since],
    ]);
  });

  test.each(['service', 'file'] as const)('are not looked for within two hours, in a %s', async (kind) => {
    const asked = async (silentHours: number) =>
      (await silentRows(regular('one', { silentHours }), { kind, hours: 24 })).isMoreAsked;
    expect([await asked(1.9), await asked(2.1)]).toEqual([false, true]);
  });

  test('of other fields, or of filters that run here, are not asked of a service', async () => {
    const given = { kind: 'service', hours: 24 } as const;
    expect(await silentRows(SILENT, { ...given, by: 'eventType' })).toEqual({
      silent: [],
      isMoreAsked: false,
    });
    const filters = new EventFilters({ grepTexts: ['silent'] });
    expect(await silentRows(SILENT, { ...given, filters })).toEqual({ silent: [], isMoreAsked: false });
    expect((await silentRows(SILENT, { kind: 'file', by: 'eventType', hours: 24 })).silent).toEqual([
      ['null', since],
    ]);
  });

  test('are asked for the hundred that lack most events', async () => {
    const hundred = (everyMs: number, silentHours: number) =>
      Array.from({ length: 100 }, (_, index) => regular(`n${index}`, { days: 1, everyMs, silentHours }));
    const silentBeside = async (others: readonly HeldEvent[][]) =>
      (await silentRows([...others.flat(), ...SILENT], { kind: 'service', hours: 24 })).silent;
    expect(await silentBeside(hundred(2 * HOUR_MS, 14))).toEqual([['"silent"', since]]);
    expect(await silentBeside(hundred(20 * MINUTE_MS, 3))).toEqual([['"silent"', since]]);
    expect(await silentBeside(hundred(30 * MINUTE_MS, 14))).toEqual([]);
  });
});

test('a silence is the state of a row that is not failing', () => {
  const row = { ...NO_EVENTS, key: '"one"', values: ['one'] };
  const silence = { since: now, usualGapSeconds: 2400 };
  const silent = { silentSince: now, usualGapSeconds: 2400 };
  expect(withSilence(row, silence)).toEqual({ ...row, ...silent, state: 'silent' });
  expect(withSilence({ ...row, state: 'failing' }, silence)).toEqual({ ...row, ...silent, state: 'failing' });
  expect(withSilence(row, undefined)).toBe(row);
});

describe('the subscriptions without events', () => {
  const [ONE, TWO] = ['22284310-c2cd-4a3e-a9e8-1d7b8995da7f', 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da'];
  const names = namesOf({ [ONE]: 'on', [TWO.toUpperCase()]: 'off', third: 'gone' }, ['m', 'other']);
  const quiet = (
    filters: ConstructorParameters<typeof EventFilters>[0] = {},
    seen: readonly string[] = [],
  ) => {
    const rows = seen.map((id) => ({ ...NO_EVENTS, key: JSON.stringify(id), values: [id] }));
    return quietSubscriptions(names, rows, new EventFilters(filters));
  };
  const ids = (...given: Parameters<typeof quiet>) => quiet(...given).map(({ values: [id] }) => id);

  test('are silent, off or gone, and only those that have no row', () => {
    expect(quiet({}, [ONE.toUpperCase(), 'fourth'])).toEqual([
      { ...NO_EVENTS, values: [TWO.toUpperCase()], key: JSON.stringify(TWO.toUpperCase()), state: 'off' },
      { ...NO_EVENTS, values: ['third'], key: '"third"', state: 'gone' },
    ]);
    expect(quiet().map(({ state }) => state)).toEqual(['silent', 'off', 'gone']);
  });

  test('are those that were asked for, and none if other filters may have left their events out', () => {
    expect(ids({ values: { subscriptionId: [TWO, 'THIRD'] } })).toEqual([TWO.toUpperCase(), 'third']);
    expect(ids({ values: { publishStatus: ['FAILED'] } })).toHaveLength(3);
    const time = { kind: 'instant' as const, instant: now };
    expect(ids({ after: { flag: '--since', text: now.text, time } })).toHaveLength(3);
    expect([ids({ values: { eventType: ['a'] } }), ids({ grepTexts: ['a'] })]).toEqual([[], []]);
  });

  test('are those of the marketplaces, or of unknown ones', () => {
    expect(ids({ marketplaces: ['m', 'n'] })).toHaveLength(3);
    expect(ids({ marketplaces: ['n'] })).toEqual([]);
    const unknown = namesOf({ [ONE]: 'on' });
    expect(quietSubscriptions(unknown, [], new EventFilters({ marketplaces: ['n'] }))).toHaveLength(1);
  });
});
