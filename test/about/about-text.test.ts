import { describe, expect, test } from 'vitest';
import type { About } from '../../src/about/about.ts';
import { aboutJson } from '../../src/about/about-json.ts';
import { printAbout } from '../../src/about/about-text.ts';
import type { Call } from '../../src/command.ts';
import type { Cause } from '../../src/explain/exact-counts.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import type { FormatOptions } from '../../src/formats/format-options.ts';
import { memberPath } from '../../src/items/field-path.ts';
import { NO_EVENTS } from '../../src/questions/health-row.ts';
import { type Instant, knownInstant, parseInstant } from '../../src/time/instant.ts';
import { TimeZone } from '../../src/time/time-zone.ts';
import { clock } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput, fakeReporter, readCsv } from '../support/outputs.ts';

const instant = (time: string) => parseInstant(`2026-11-20T${time}Z`) as Instant;
const ABOUT: About = {
  by: 'id',
  word: 'one',
  after: instant('00:00:00'),
  before: knownInstant(clock.now()),
  subscriptionIds: ['one'],
  name: null,
  address: null,
  endpoint: null,
  health: { ...NO_EVENTS, events: 1 },
  ofSubscriptions: [],
  ofNames: [],
  earlier: undefined,
  outage: undefined,
  largestOutage: undefined,
  causes: [],
  shared: { subscriptions: 1, withFailures: 0, failing: 0 },
  others: { subscriptions: 0, withFailures: 0, failing: 0 },
  isOfSeveral: false,
  latency: undefined,
};
const FAILING: Partial<About> = {
  health: {
    ...NO_EVENTS,
    state: 'failing',
    failed: 1200,
    events: 2400,
    failingSince: instant('08:00:00.123'),
    firstFailed: instant('07:00:00.5'),
    lastFailed: instant('11:00:00'),
    lastError: '503 down',
    lastSuccess: instant('07:30:00'),
    recent: 'FFFFFFFFFS',
  },
};

interface Given {
  readonly format?: FormatOptions['format'];
  readonly zone?: string;
  /** The time of `--until`. */
  readonly until?: string;
  readonly from?: string;
  readonly filters?: Partial<EventFilters>;
  readonly width?: number;
  readonly color?: 1;
  readonly locale?: string;
}

/** Returns the lines that are printed. */
async function printed(parts: Partial<About>, given: Given = {}): Promise<string[]> {
  const { format = 'table', zone = 'UTC', until, from, width, color = 0, locale = 'C.UTF-8' } = given;
  const stdout = fakeOutput(width);
  const call = {
    context: createContext({ stdout, environment: { LC_ALL: locale } }),
    reporter: { ...fakeReporter(color), runFlags: { profile: 'night' } },
    commands: { root: { rawArgs: ['events', 'about', 'one'] } },
  } as unknown as Call;
  const end = until === undefined ? undefined : instant(until);
  const before = end && { flag: '--until', text: end.text, time: { kind: 'instant' as const, instant: end } };
  const values = { eventType: ['order.paid'] };
  const filters = new EventFilters({ zone: new TimeZone(zone), before, values, ...given.filters });
  const options = { format: { format, list: 'events' } as const, filters, from };
  await printAbout({ ...ABOUT, ...parts, before: end ?? ABOUT.before }, options, call);
  return stdout.text.split('\n');
}

const PAST = { until: '11:00:00' };

/** Returns the texts of a label, or the commands that come next. */
async function factsOf(label: string, parts: Partial<About>, given?: Given): Promise<string[]> {
  const start = label === 'next' ? 'next: ' : label.padEnd(15);
  const lines = await printed(parts, given);
  return lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length));
}
/** Returns the text of a label, now and where the time is over. */
async function nowAndThen(label: string, parts: Partial<About>) {
  return [...(await factsOf(label, parts)), ...(await factsOf(label, parts, PAST))];
}
const healthOf = (parts: Partial<About['health']>): Partial<About> => ({
  health: { ...NO_EVENTS, events: 1, ...parts },
});

describe('the page of events about', () => {
  test('has what decides first, and the commands that come next', async () => {
    expect(await printed(FAILING)).toEqual([
      'one, found by its id',
      'since 2026-11-20 00:00Z',
      '',
      'state          failing since 2026-11-20 08:00:00Z',
      'events         1,200 of 2,400 failed (50.0 %), 1,200 delivered',
      'last failure   2026-11-20 11:00:00Z',
      'reason         503 down',
      'last success   2026-11-20 07:30:00Z',
      'shared         no other subscription has events in this time',
      'last ten       ✗✗✗✗✗✗✗✗✗·',
      '',
      'next: hooktrail events search --failed --subscription one --since 2026-11-20T06:59:59Z --type order.paid --profile night',
      'next: hooktrail webhooks recover --forward-to URL --subscription one --since 2026-11-20T06:59:59Z --type order.paid --profile night',
      '',
    ]);
  });

  test('is wrapped to the terminal, of a past time, in its zone, without characters beyond ASCII', async () => {
    const given = { ...PAST, zone: 'Asia/Kolkata', locale: 'C', width: 60 };
    const lines = (await printed(FAILING, given)).slice(0, 13);
    expect(lines.map((line) => line.replaceAll(/\u001b\[[\d;]*m/g, ''))).toEqual([
      'one, found by its id',
      'from 2026-11-20 05:30+05:30 to 2026-11-20 16:30+05:30',
      '',
      'state          was failing at the end of this time, from',
      '               2026-11-20 13:30:00+05:30 on',
      'events         1,200 of 2,400 failed (50.0 %), 1,200',
      '               delivered',
      'last failure   2026-11-20 16:30:00+05:30',
      'reason         503 down',
      'last success   2026-11-20 13:00:00+05:30',
      'shared         no other subscription has events in this time',
      'last ten       FFFFFFFFF.',
      '',
    ]);
  });

  test('is a table in Markdown', async () => {
    expect(await printed(healthOf({}), { from: 'events.ndjson', format: 'markdown' })).toEqual([
      '| one, found by its id | from 2026-11-20 00:00Z to 2026-11-20 12:00Z |',
      '| --- | --- |',
      '| state | ok |',
      '| events | 0 of 1 failed (0 %), 1 delivered |',
      '| next | hooktrail events search --subscription one --since 2026-11-19T23:59:59Z --type order.paid --from events.ndjson |',
      '',
      '*one, found by its id; from events.ndjson; --type order.paid: `hooktrail events about one`*',
      '',
    ]);
  });

  test.each<[string, Partial<About>]>([
    ["'one', which no event has in the name-field", { by: 'name', ...healthOf({ events: 0 }) }],
    ['one, found by its id', healthOf({ events: 0 })],
    [
      "one, found by 'one' in the name-field",
      {
        by: 'name',
        ...healthOf({ events: 0 }),
        outage: {
          since: instant('01:00:00'),
          edge: false,
          lastFailed: instant('02:00:00'),
          until: undefined,
        },
      },
    ],
    [
      "a.example (one), found by 'one' in its address, switched on",
      { by: 'address', address: 'a.example', endpoint: 'on' },
    ],
    ['Ann (one), found by its id, switched off', { name: 'Ann', endpoint: 'off' }],
    ['Ann, a.example (one), found by its id, gone', { name: 'Ann', address: 'a.example', endpoint: 'gone' }],
    [
      "Ann (2 subscriptions), found by 'one' in the name-field",
      { by: 'name', name: 'Ann', subscriptionIds: ['a', 'b'] },
    ],
    ["Ann (no events), found by 'one' in the name-field", { by: 'name', name: 'Ann', subscriptionIds: [] }],
    ["one, found by 'one' in the name-field", { by: 'name', subscriptionIds: [] }],
  ])('is titled %s', async (title, parts) => {
    expect((await printed(parts))[0]).toBe(title);
  });

  const SILENCE = { silentSince: instant('02:30:00'), usualGapSeconds: 1230 };
  const OUTAGE = {
    since: instant('06:00:00'),
    edge: true,
    lastFailed: instant('10:00:00'),
    until: undefined,
  };
  test.each<[string, string, Partial<About>]>([
    [
      'off: the subscription is switched off, so the service sends it nothing',
      '',
      healthOf({ state: 'off' }),
    ],
    ['gone: the service no longer knows the subscription', '', healthOf({ state: 'gone' })],
    ['silent for unusually long', 'was silent for unusually long', healthOf(SILENCE)],
    ['no events in this time', '', healthOf({ events: 0 })],
    ['recovered', 'had recovered', healthOf({ state: 'recovered' })],
    ['ok', 'was ok', {}],
    ['failing', 'was failing at the end of this time', healthOf({ state: 'failing', ...SILENCE })],
    [
      'failing since 2026-11-20 08:00:00Z or earlier',
      'was failing at the end of this time, from 2026-11-20 08:00:00Z or earlier on',
      {
        ...healthOf({ state: 'failing', failingSince: instant('08:00:00'), edge: true }),
        outage: { ...OUTAGE, until: instant('07:00:00') },
      },
    ],
    [
      'failing since 2026-11-20 06:00:00Z or earlier',
      'was failing at the end of this time, from 2026-11-20 06:00:00Z or earlier on',
      { ...healthOf({ state: 'failing', failingSince: instant('08:00:00') }), outage: OUTAGE },
    ],
  ])('has the state %s, or %s', async (now, then, parts) => {
    expect(await nowAndThen('state', parts)).toEqual([now, then || now]);
  });

  test('compares with the time before, and shows a silence and percentiles', async () => {
    const earlier = { after: instant('00:00:00'), before: instant('01:00:00'), events: 2000, failed: 1000 };
    const percentiles = { count: 1, p50: '1000', p95: '2', p99: '3', most: '4' };
    const parts = { ...healthOf(SILENCE), earlier, latency: { field: 'took.ms', percentiles } };
    expect((await printed(parts)).slice(3, -3)).toEqual([
      'state          silent for unusually long',
      'events         0 of 1 failed (0 %), 1 delivered; 1,000 of 2,000 in the same time before',
      'silent         since 2026-11-20 02:30:00Z, for 9 h 30 min; usually one every 20 min at these hours',
      'latency        p50 1,000, p95 2, p99 3, max 4 (took.ms, 1 event)',
    ]);
    expect(await factsOf('events', healthOf({ events: 0 }))).toEqual(['0 of 0 failed, 0 delivered']);
  });

  const ENDED = {
    since: instant('06:00:00'),
    edge: false,
    lastFailed: instant('07:00:00'),
    until: instant('08:30:00'),
  };
  test.each<[string, string, About['outage'], Partial<About>]>([
    ['from 2026-11-20 06:00Z to 2026-11-20 08:30Z, 2 h 30 min', '', ENDED, {}],
    ['from 2026-11-20 06:00Z or earlier to 2026-11-20 08:30Z, 2 h 30 min', '', { ...ENDED, edge: true }, {}],
    [
      'from 2026-11-20 06:00Z or earlier, goes on, last failure after 4 h',
      'from 2026-11-20 06:00Z or earlier, not over by the end of this time, last failure after 4 h',
      OUTAGE,
      healthOf({ state: 'failing' }),
    ],
    ['from 2026-11-20 06:00Z or earlier, last failure after 4 h', '', OUTAGE, {}],
    ['from 2026-11-20 06:00Z or earlier', '', { ...OUTAGE, lastFailed: OUTAGE.since }, {}],
  ])('has the outage %s, or %s', async (now, then, outage, parts) => {
    expect(await nowAndThen('outage', { ...parts, outage })).toEqual([now, then || now]);
  });

  test('names the largest outage only where it is not the last one', async () => {
    const largest = { ...ENDED, failed: 1000 };
    const shown = (parts: Partial<About>) => factsOf('largest', parts);
    expect(await shown({ outage: OUTAGE, largestOutage: largest })).toEqual([
      'from 2026-11-20 06:00Z to 2026-11-20 08:30Z, 2 h 30 min, 1,000 failures',
    ]);
    expect([
      ...(await shown({ outage: ENDED, largestOutage: largest })),
      ...(await shown({ largestOutage: largest })),
      ...(await shown({ outage: OUTAGE })),
    ]).toEqual([]);
  });

  test('lists names and subscriptions if there are several, the first ones of many', async () => {
    const part = {
      state: 'failing',
      failed: 1000,
      events: 2000,
      failingSince: instant('08:00:00.5'),
      edge: true,
    } as const;
    const names = Array.from({ length: 1006 }, (_, index) => ({ ...part, name: `n${index}` }));
    const calm = { ...part, name: 'calm', state: 'ok', failingSince: undefined } as const;
    const text = 'failing since 2026-11-20 08:00:00Z or earlier, 1,000 of 2,000 failed';
    expect(await factsOf('name', { ofNames: names })).toEqual([
      ...[0, 1, 2, 3, 4].map((index) => `n${index}: ${text}`),
      '1,001 more: give more of the name',
    ]);
    expect(await factsOf('name', { ofNames: names.slice(0, 5) })).toHaveLength(5);
    expect(await factsOf('name', { ofNames: names.slice(0, 1) })).toEqual([]);
    expect(await factsOf('name', { ofNames: [{ ...part, edge: false, name: 'x' }, calm] }, PAST)).toEqual([
      'x: was failing at the end, from 2026-11-20 08:00:00Z, 1,000 of 2,000 failed',
      'calm: was ok, 1,000 of 2,000 failed',
    ]);
    const of = ['a', 'b', 'c', 'd'].map((id) => ({ ...part, id, lastFailed: undefined }));
    expect(await factsOf('subscription', { ofSubscriptions: of })).toEqual(
      ['a', 'b', 'c'].map((id) => `${id}: ${text}`),
    );
    expect(await factsOf('subscription', { ofSubscriptions: of.slice(0, 2) })).toHaveLength(2);
    expect(await factsOf('subscription', { ofSubscriptions: of.slice(0, 1) })).toEqual([]);
  });

  test.each<[string, string, About['others']]>([
    ['no other subscription has events in this time', '', { subscriptions: 0, withFailures: 0, failing: 0 }],
    [
      "the other subscription did not fail: it is this one's endpoint",
      "the other subscription did not fail: it was this one's endpoint",
      { subscriptions: 1, withFailures: 0, failing: 0 },
    ],
    [
      "none of the 1,999 other subscriptions failed: it is this one's endpoint",
      "none of the 1,999 other subscriptions failed: it was this one's endpoint",
      { subscriptions: 1999, withFailures: 0, failing: 0 },
    ],
    [
      '1,001 of the 1,999 other subscriptions failed too, 1 of them still does',
      '1,001 of the 1,999 other subscriptions failed too, 1 of them until the end of this time',
      { subscriptions: 1999, withFailures: 1001, failing: 1 },
    ],
    [
      '2 of the 2 other subscriptions failed too, 2 of them still do',
      '2 of the 2 other subscriptions failed too, 2 of them until the end of this time',
      { subscriptions: 2, withFailures: 2, failing: 2 },
    ],
  ])('is about failures that are shared: %s, or %s', async (now, then, others) => {
    expect(await nowAndThen('shared', { ...healthOf({ state: 'failing', failed: 1 }), others })).toEqual([
      now,
      then || now,
    ]);
  });

  test('has three causes at most, with all their conditions', async () => {
    const cause = (field: string) =>
      ({
        conditions: [
          { field, op: '=', value: 'x' },
          { field: 'n', op: 'exists', value: undefined },
        ],
        failed: 1000,
        events: 2000,
      }) as unknown as Cause;
    const causes = ['a', 'b', 'c', 'd'].map(cause);
    expect(await factsOf('cause here', { causes })).toEqual(
      ['a', 'b', 'c'].map((field) => `${field} = x and n exists: 1,000 of 2,000 failed`),
    );
  });

  const COUNTS = { failed: 1, events: 2, failingSince: undefined, edge: false };
  const FAILING_NAME = { name: 'n', state: 'failing', ...COUNTS } as const;
  test.each<[string, Partial<About>, boolean]>([
    ['state', healthOf({ state: 'failing' }), true],
    ['state', healthOf({ state: 'off' }), true],
    ['state', healthOf({ state: 'gone' }), true],
    ['state', healthOf({ state: 'recovered' }), false],
    ['events', healthOf({ state: 'failing' }), false],
    ['silent', healthOf(SILENCE), true],
    ['name', { ofNames: [FAILING_NAME, FAILING_NAME] }, true],
    ['name', { ofNames: [{ ...FAILING_NAME, state: 'ok' }, FAILING_NAME] }, false],
  ])('has the fact %s of %j marked as bad: %s', async (label, parts, isBad) => {
    const fact = (await printed(parts, { width: 80, color: 1 })).find((line) => line.startsWith(label));
    expect(fact?.slice(15).startsWith('\u001b[31m')).toBe(isBad);
  });
});

describe('the commands that come next', () => {
  const next = (parts: Partial<About>, given?: Given) => factsOf('next', parts, given);
  const words = (since: string) => `--subscription one --since 2026-11-${since}Z --type order.paid`;

  test('begin before the first failure of the time or of the outage', async () => {
    const outage = {
      since: instant('05:00:00'),
      edge: false,
      lastFailed: instant('10:00:00'),
      until: undefined,
    };
    const search = async (parts: Partial<About>) => (await next(parts))[0];
    expect([
      await search({ ...FAILING, outage }),
      await search({ ...FAILING, outage: { ...outage, since: instant('08:00:00') } }),
      await search({ outage }),
      await search({}),
    ]).toEqual([
      `hooktrail events search --failed ${words('20T04:59:59')} --profile night`,
      `hooktrail events search --failed ${words('20T06:59:59')} --profile night`,
      `hooktrail events search --failed ${words('20T04:59:59')} --profile night`,
      `hooktrail events search ${words('19T23:59:59')} --profile night`,
    ]);
  });

  test('check an endpoint that is known, if it seems to be at fault', async () => {
    const known = {
      address: 'a.example',
      endpoint: 'on',
      others: { subscriptions: 2, withFailures: 1, failing: 0 },
    } as const;
    const recovered = healthOf({ state: 'recovered', failed: 1 });
    const ended = {
      since: instant('00:00:00'),
      edge: false,
      lastFailed: instant('00:00:00'),
      until: instant('00:00:00'),
    };
    const isChecked = async (parts: Partial<About>, given?: Given) =>
      (await next({ ...known, ...parts }, given)).some((command) =>
        command.startsWith('hooktrail subscriptions check one'),
      );
    expect([
      await isChecked(FAILING),
      await isChecked({ ...recovered, others: { ...known.others, withFailures: 0 } }),
    ]).toEqual([true, true]);
    expect([
      await isChecked(recovered),
      await isChecked({ ...FAILING, address: null }),
      await isChecked({ ...FAILING, endpoint: 'gone' }),
      await isChecked(healthOf({ state: 'failing', failed: 0 })),
      await isChecked({ outage: ended, others: { ...known.others, withFailures: 0 } }),
      await isChecked(FAILING, { from: 'events.ndjson' }),
    ]).toEqual([false, false, false, false, false, false]);
  });

  test('replay stored events, and keep the end of the time', async () => {
    expect(await next(FAILING, { ...PAST, from: 'events.ndjson' })).toEqual([
      'hooktrail events search --failed --subscription one --since 2026-11-20T06:59:59Z --until 2026-11-20T11:00:00Z --type order.paid --from events.ndjson',
      'hooktrail webhooks replay --failed --forward-to URL --subscription one --since 2026-11-20T06:59:59Z --until 2026-11-20T11:00:00Z --type order.paid --from events.ndjson',
    ]);
  });

  test('keep to the names of the subject, if its subscription also gets events of others', async () => {
    const filters = { nameField: memberPath('customer') };
    const of = { state: 'failing', failed: 1, events: 1, failingSince: undefined, edge: false } as const;
    const conditionFor = async (...names: readonly string[]) => {
      const ofNames = names.map((name) => ({ ...of, name }));
      const [search = ''] = await next({ ...FAILING, isOfSeveral: true, ofNames }, { filters });
      return /--subscription one (?:--where (.*) )?--since/.exec(search)?.[1];
    };
    expect(await conditionFor('Harbour')).toBe("'customer = Harbour'");
    expect(await conditionFor('4.5')).toBe("'customer = 4.5'");
    expect(await conditionFor('Freight, Inc.', 'a "b"', '-42', 'true', 'false', '007', 'B5', '5B')).toBe(
      `'customer in ("Freight, Inc.", "a \\"b\\"", -42, true, false, "007", "B5", "5B")'`,
    );
    expect(
      await next({ ...FAILING, isOfSeveral: false, ofNames: [{ ...of, name: 'x' }] }, { filters }),
    ).toEqual(await next(FAILING));
  });

  test('replace the times and subscriptions that were given', async () => {
    const time = { kind: 'instant' as const, instant: instant('00:00:00') };
    const filters = {
      after: { flag: '--since', text: time.instant.text, time },
      values: { eventType: ['order.paid'], subscriptionId: ['given'] },
    };
    expect(await next(FAILING, { filters })).toEqual(await next(FAILING));
    const failing = { id: 'a', state: 'failing', failed: 1, events: 1, failingSince: undefined } as const;
    const ofSubscriptions = [{ ...failing, edge: false, lastFailed: undefined }];
    expect(await next({ subscriptionIds: ['a', 'b'], ofSubscriptions }, { filters })).toEqual([
      'hooktrail events about a --since 2026-11-20T00:00:00Z --type order.paid --profile night',
    ]);
  });

  test('are the pages of the first three subscriptions that failed, if there are several', async () => {
    const part = {
      state: 'failing',
      failingSince: undefined,
      edge: false,
      lastFailed: undefined,
      events: 1,
    } as const;
    const ofSubscriptions = ['a', 'b', 'c', 'd'].map((id, index) => ({
      ...part,
      id,
      failed: index === 1 ? 0 : 1,
    }));
    expect(await next({ subscriptionIds: ['a', 'b'], ofSubscriptions }, PAST)).toEqual(
      ['a', 'c'].map(
        (id) => `hooktrail events about ${id} --until 2026-11-20T11:00:00Z --type order.paid --profile night`,
      ),
    );
    expect(await next({ subscriptionIds: [] })).toEqual([]);
  });
});

describe('the JSON and CSV of events about', () => {
  const outage = {
    since: instant('06:00:00'),
    edge: true,
    lastFailed: instant('07:00:00'),
    until: undefined,
  };
  const WHOLE: Partial<About> = {
    ...FAILING,
    health: { ...NO_EVENTS, ...FAILING.health, silentSince: instant('02:30:00'), usualGapSeconds: 5 },
    name: '=Ann',
    address: 'a.example',
    endpoint: 'on',
    subscriptionIds: ['one', 'two'],
    earlier: { after: instant('00:00:00'), before: instant('01:00:00'), events: 2, failed: 1 },
    outage,
    largestOutage: { ...outage, until: instant('08:00:00'), failed: 7 },
    causes: [
      {
        conditions: [{ field: 'a', op: '=', value: 'x', other: 'not shown' }],
        failed: 1,
        events: 2,
      } as unknown as Cause,
    ],
    ofNames: [
      { name: 'n', state: 'failing', failed: 1, events: 2, failingSince: instant('08:00:00'), edge: false },
      { name: 'm', state: 'ok', failed: 0, events: 2, failingSince: undefined, edge: false },
    ],
    latency: { field: 'took', percentiles: { count: 1, p50: '1', p95: '2', p99: '3', most: '4' } },
  };

  test('JSON has every answer', () => {
    expect(aboutJson({ ...ABOUT, ...WHOLE }, ['next'])).toEqual({
      word: 'one',
      foundBy: 'id',
      subscriptionIds: ['one', 'two'],
      name: '=Ann',
      address: 'a.example',
      endpoint: 'on',
      after: '2026-11-20T00:00:00Z',
      before: '2026-11-20T12:00:00Z',
      state: 'failing',
      failed: 1200,
      events: 2400,
      failingSince: '2026-11-20T08:00:00.123Z',
      edge: false,
      lastFailed: '2026-11-20T11:00:00Z',
      lastError: '503 down',
      lastSuccess: '2026-11-20T07:30:00Z',
      silentSince: '2026-11-20T02:30:00Z',
      usualGapSeconds: 5,
      recent: 'FFFFFFFFFS',
      earlier: { after: '2026-11-20T00:00:00Z', before: '2026-11-20T01:00:00Z', events: 2, failed: 1 },
      outage: { since: '2026-11-20T06:00:00Z', edge: true, until: null, lastFailed: '2026-11-20T07:00:00Z' },
      largestOutage: {
        since: '2026-11-20T06:00:00Z',
        edge: true,
        until: '2026-11-20T08:00:00Z',
        lastFailed: '2026-11-20T07:00:00Z',
        failed: 7,
      },
      causes: [{ conditions: [{ field: 'a', op: '=', value: 'x' }], failed: 1, events: 2 }],
      names: [
        { name: 'n', state: 'failing', failed: 1, events: 2, failingSince: '2026-11-20T08:00:00Z' },
        { name: 'm', state: 'ok', failed: 0, events: 2, failingSince: null },
      ],
      shared: { subscriptions: 1, withFailures: 0, failing: 0 },
      latency: { field: 'took', count: 1, p50: 1, p95: 2, p99: 3, most: 4 },
      next: ['next'],
    });
  });

  test('JSON has null for what there is not', async () => {
    const json = JSON.parse((await printed({}, { format: 'json' })).join('\n'));
    expect(json).toMatchObject({
      earlier: null,
      outage: null,
      largestOutage: null,
      latency: null,
      names: [],
    });
    expect(json.next).toEqual(await factsOf('next', {}));
    expect(JSON.parse((await printed({}, { format: 'ndjson' }))[0] as string)).toEqual(json);
  });

  test('CSV has one line, and no cell that a spreadsheet runs', async () => {
    const csv = async (parts: Partial<About>) => {
      const lines = await printed(parts, { format: 'csv' });
      const [titles = [], values = [], more] = readCsv(lines.join('\n').replaceAll(/\r?\n/g, '\r\n'));
      expect(more).toBeUndefined();
      return Object.fromEntries(titles.map((title, index) => [title, values[index]]));
    };
    const empty = {
      word: 'one',
      foundBy: 'id',
      name: '',
      address: '',
      endpoint: '',
      after: '2026-11-20T00:00:00Z',
      before: '2026-11-20T12:00:00Z',
      state: 'ok',
      failed: '0',
      events: '1',
      failingSince: '',
      edge: 'false',
      lastFailed: '',
      lastError: '',
      lastSuccess: '',
      silentSince: '',
      usualGapSeconds: '',
      recent: '',
      subscriptionIds: 'one',
      'earlier.events': '',
      'earlier.failed': '',
      'outage.since': '',
      'outage.until': '',
      'largestOutage.since': '',
      'largestOutage.until': '',
      'largestOutage.failed': '',
      'shared.subscriptions': '1',
      'shared.withFailures': '0',
      'shared.failing': '0',
      'latency.count': '',
      'latency.p50': '',
      'latency.p95': '',
      'latency.p99': '',
      'latency.most': '',
    };
    expect(await csv({})).toEqual(empty);
    const percentiles = { count: 1, p50: '-1', p95: '2', p99: '3', most: '4' };
    expect(await csv({ latency: { field: 'took', percentiles } })).toMatchObject({ 'latency.p50': '-1' });
    expect(await csv({ ...WHOLE, outage: { ...outage, until: instant('09:00:00') } })).toMatchObject({
      name: "'=Ann",
      subscriptionIds: 'one two',
      'earlier.events': '2',
      'earlier.failed': '1',
      'outage.since': '2026-11-20T06:00:00Z',
      'outage.until': '2026-11-20T09:00:00Z',
      'largestOutage.since': '2026-11-20T06:00:00Z',
      'largestOutage.until': '2026-11-20T08:00:00Z',
      'largestOutage.failed': '7',
      'latency.count': '1',
      'latency.p50': '1',
      'latency.p95': '2',
      'latency.p99': '3',
      'latency.most': '4',
    });
  });
});
