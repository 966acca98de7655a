import { describe, expect, test } from 'vitest';
import { searchCommand, wideCommand } from '../../src/explain/cause-commands.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { knownInstant } from '../../src/time/instant.ts';
import { TimeZone } from '../../src/time/time-zone.ts';
import { conditionOf } from './made-tables.ts';

const instantOf = (hour: number) => knownInstant(Date.parse('2026-11-20T00:00:00Z') + hour * 3_600_000);
const given = (flag: string, hour: number) => {
  const instant = instantOf(hour);
  return { flag, text: instant.text, time: { kind: 'instant' as const, instant } };
};
const ago = (flag: string, hours: number) => ({
  flag,
  text: `${hours}h`,
  time: { kind: 'ago' as const, seconds: hours * 3600 },
});

const WINDOW = { after: instantOf(1), before: instantOf(9) };
const SINCE = '--since 2026-11-20T01:00:00Z';
const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';

const ofCause = (...texts: string[]) => ({
  conditions: texts.map(conditionOf),
  after: undefined,
  before: undefined,
});
const searchOf = (
  cause: Parameters<typeof searchCommand>[0],
  filters: Partial<EventFilters> = {},
  from?: string,
) => searchCommand(cause, WINDOW, new EventFilters(filters), from).textFor({});

describe('the command that lists the failures', () => {
  test('of no cause has the filters that were given, but for the status', () => {
    const filters = { values: { eventType: ['a.b', 'c'], publishStatus: ['FAILED', 'SUCCESS'] } };
    expect(searchOf(undefined, filters)).toBe(
      `hooktrail events search --failed --type a.b --type c ${SINCE}`,
    );
  });

  test.each([
    ['eventType = a.b', '--type a.b'],
    ['subscriptionId = ID', `--subscription ${ID}`],
    ['eventId = ID', `--id ${ID}`],
    ['subscriptionId = s1', "--where 'subscriptionId = s1'"],
    ['region = eu', "--where 'region = eu'"],
  ])('of a cause with %s has %s', (condition, words) =>
    expect(searchOf(ofCause(condition.replace('ID', ID)))).toBe(
      `hooktrail events search --failed ${words} ${SINCE}`,
    ),
  );

  test('has all conditions of the cause instead of what they narrow, without its span', () => {
    const filters = {
      values: { eventType: ['a.b', 'a.c'], subscriptionId: ['s'] },
      typePatterns: ['a.*'],
      conditions: [conditionOf('plan = pro').condition],
    };
    const cause = ofCause(
      'region = eu',
      `createdOn >= ${instantOf(2).text}`,
      'eventType = a.c',
      `createdOn <= ${instantOf(3).text}`,
      'retries = 3',
    );
    const where = ['plan = pro', 'region = eu', 'retries = 3'].map((text) => `--where '${text}'`).join(' ');
    expect(searchOf(cause, filters)).toBe(
      `hooktrail events search --failed --subscription s --type a.c ${where} ${SINCE}`,
    );
  });

  test('names the zone of an hour, unless it is in the filters that were given', () => {
    const zone = new TimeZone('Europe/Berlin');
    const [hour, region] = [ofCause('createdOn:hour = 3'), ofCause('region = eu')];
    const words = `hooktrail events search --failed --where 'createdOn:hour = 3'`;
    expect(searchOf(hour, { zone })).toBe(`${words} --timezone Europe/Berlin ${SINCE}`);
    expect(searchOf(hour, { zone, isZoneTyped: true })).toBe(
      `hooktrail events search --failed --timezone Europe/Berlin --where 'createdOn:hour = 3' ${SINCE}`,
    );
    expect(searchOf(region, { zone })).not.toContain('--timezone');
    const mixed = ofCause('region = eu', 'createdOn:hour = 3');
    expect(searchOf(mixed, { zone })).toContain('--timezone Europe/Berlin');
  });

  describe('has as its times', () => {
    const [after, before] = [given('--since', 4), given('--until', 8)];
    const from = 'e.ndjson';
    const bounded = { conditions: [], after: instantOf(5), before: instantOf(6) };
    test.each<[string, Parameters<typeof searchOf>, string]>([
      ['those of a span', [bounded], `${SINCE.replace('01:', '05:')} --until 2026-11-20T06:00:00Z`],
      [
        'those of a span instead of those that were given',
        [bounded, { after, before }],
        '--since 2026-11-20T05:00:00Z --until 2026-11-20T06:00:00Z',
      ],
      [
        'the start of a span beside the end that was given',
        [
          { ...bounded, before: undefined },
          { after, before },
        ],
        '--until 2026-11-20T08:00:00Z --since 2026-11-20T05:00:00Z',
      ],
      [
        'those that were given',
        [ofCause(), { after, before }],
        `--since 2026-11-20T04:00:00Z --until 2026-11-20T08:00:00Z`,
      ],
      [
        'the start of the events where only an end was given',
        [ofCause(), { before }],
        `--until 2026-11-20T08:00:00Z ${SINCE}`,
      ],
      [
        'what relative ones stand for',
        [ofCause(), { after: ago('--since', 8), before: ago('--until', 1) }],
        `${SINCE} --until 2026-11-20T09:00:00Z`,
      ],
      [
        'the start that a relative one stands for, without an end',
        [ofCause(), { after: ago('--since', 8) }],
        SINCE,
      ],
      [
        'those of a relative end',
        [ofCause(), { after, before: ago('--until', 1) }],
        `${SINCE} --until 2026-11-20T09:00:00Z`,
      ],
      ['none for a file', [ofCause(), {}, from], `--from ${from}`],
      [
        'those of relative ones for a file',
        [ofCause(), { after: ago('--since', 8) }, from],
        `${SINCE} --from ${from}`,
      ],
      [
        'those of a span in a file',
        [{ ...bounded, after: undefined }, {}, from],
        `--until 2026-11-20T06:00:00Z --from ${from}`,
      ],
    ])('%s', (_, args, words) => expect(searchOf(...args)).toBe(`hooktrail events search --failed ${words}`));
  });

  test('reads a pipe again', () => {
    expect(searchOf(ofCause('region = eu'), {}, '-')).toBe(
      "… | hooktrail events search --failed --where 'region = eu' --from -",
    );
  });
});

describe('the command that compares with all events of the same time', () => {
  const zone = new TimeZone('Europe/Berlin');
  const [after, before] = [given('--since', 4), given('--until', 8)];
  const wideOf = (filters: Partial<EventFilters>, from?: string) =>
    wideCommand(new EventFilters(filters), from)?.textFor({});

  test('has only the times that were given, and the typed zone', () => {
    const values = { eventType: ['a.b'], publishStatus: ['FAILED'] };
    expect(wideOf({ values, after, before })).toBe(
      'hooktrail events explain --since 2026-11-20T04:00:00Z --until 2026-11-20T08:00:00Z',
    );
    expect(wideOf({ values, zone, isZoneTyped: true }, 'e.ndjson')).toBe(
      'hooktrail events explain --timezone Europe/Berlin --from e.ndjson',
    );
    expect(wideOf({ values, zone })).toBe('hooktrail events explain');
    expect(wideOf({ conditions: [conditionOf('region = eu').condition] })).toBe('hooktrail events explain');
  });

  test('is none where the filters are times and a status: there are no other events', () => {
    expect(wideOf({ values: { publishStatus: ['FAILED'] }, after, before })).toBeUndefined();
    expect(wideOf({})).toBeUndefined();
  });
});
