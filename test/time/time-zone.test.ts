import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { offsetMsIn } from '../../src/time/date-time.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { resolveTime } from '../../src/time/resolve-time.ts';
import { parseTime } from '../../src/time/time-text.ts';
import { localZone, TimeZone, zoneNamed, zoneNames, zoneOf } from '../../src/time/time-zone.ts';
import { thisMachine } from '../support/context.ts';
import { sampleSize } from '../support/seed.ts';

const sentIn = (name: string, now: string) => {
  const zone = new TimeZone(name);
  return (text: string) => {
    const time = parseTime(text, zone);
    return time && resolveTime(time, Date.parse(now))?.text;
  };
};

describe('a time without a zone', () => {
  const sent = sentIn('Europe/Berlin', '2026-11-20T23:30:00Z');

  test.each([
    ['2026-11-01', '2026-10-31T23:00:00Z'],
    ['2026-07-01', '2026-06-30T22:00:00Z'],
    ['2026-11-01T08:30:00.1234567', '2026-11-01T07:30:00.1234567Z'],
    ['2026-11-01 08:30', '2026-11-01T07:30:00Z'],
    ['today', '2026-11-20T23:00:00Z'],
    ['yesterday', '2026-11-19T23:00:00Z'],
    ['00:15', '2026-11-20T23:15:00Z'],
    // With one, it is in that.
    ['2026-11-01T08:30Z', '2026-11-01T08:30Z'],
    ['2026-11-01 08:30 gmt', '2026-11-01T08:30Z'],
    ['2026-11-01 08:30 Z', '2026-11-01T08:30Z'],
    ['yesterday 8am', '2026-11-20T07:00:00Z'],
    ['11-21 00:10:00', '2026-11-20T23:10:00Z'],
    ['11-21 00:40:00', '2025-11-20T23:40:00Z'],
  ])("'%s' is read in the zone", (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['2026-11-01T08:30:00Z', '2026-11-01T08:30:00Z'],
    ['2026-11-01T08:30:00-03:30', '2026-11-01T12:00:00Z'],
    ['08:00Z', '2026-11-20T08:00:00Z'],
    ['11-20 08:00:00Z', '2026-11-20T08:00:00Z'],
    ['2h', '2026-11-20T21:30:00Z'],
    ['now', '2026-11-20T23:30:00Z'],
  ])("'%s' has its own", (text, expected) => expect(sent(text)).toBe(expected));

  test('of a day on which clocks change is counted on the calendar', () => {
    // 25 hours: put back at 01:00Z on 31 October.
    expect(sentIn('Europe/Berlin', '2027-10-31T22:30:00Z')('yesterday')).toBe('2027-10-29T22:00:00Z');
    expect(sentIn('Europe/Berlin', '2027-10-31T22:30:00Z')('today')).toBe('2027-10-30T22:00:00Z');
    // 23 hours: put forward at 01:00Z on 28 March.
    expect(sentIn('Europe/Berlin', '2027-03-28T22:30:00Z')('today')).toBe('2027-03-28T22:00:00Z');
    expect(sentIn('Europe/Berlin', '2027-03-28T22:30:00Z')('yesterday')).toBe('2027-03-27T23:00:00Z');
  });
});

describe('a clock change', () => {
  test.each([
    ['Europe/Berlin', '2027-10-31 02:30', '2027-10-31T00:30:00Z'],
    ['Europe/Berlin', '2027-10-31 02:30+02:00', '2027-10-31T00:30:00Z'],
    ['Europe/Berlin', '2027-10-31 02:30+01:00', '2027-10-31T01:30:00Z'],
    ['Australia/Lord_Howe', '2027-04-04 01:45:00.5', '2027-04-03T14:45:00.5Z'],
  ])('%s: %s, which occurs twice, is the first', (name, text, expected) =>
    expect(sentIn(name, '2027-01-01T00:00:00Z')(text)).toBe(expected),
  );

  test.each([
    ['Europe/Berlin', '2027-03-28 02:30:00.25', '2027-03-28T01:00:00Z'],
    ['America/Santiago', '2027-09-05', '2027-09-05T04:00:00Z'],
    ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T10:00:00Z'],
    ['Australia/Lord_Howe', '2027-10-03 02:15', '2027-10-02T15:30:00Z'],
  ])('%s: %s, which never occurs, is the change that leaves it out', (name, text, expected) =>
    expect(sentIn(name, '2028-01-01T00:00:00Z')(text)).toBe(expected),
  );
});

describe('a time is shown', () => {
  test.each([
    ['UTC', '2026-11-21T08:00:00.1234567Z', '2026-11-21T08:00:00.1234567Z'],
    ['UTC', '2026-11-21T08:00Z', '2026-11-21T08:00Z'],
    ['UTC', '2026-11-21 08:00:00Z', '2026-11-21T08:00:00Z'],
    ['UTC', '2026-11-21T20:00:00.10-05:30', '2026-11-22T01:30:00.10Z'],
    ['Europe/Berlin', '2026-11-21T08:00:00.1234567Z', '2026-11-21T09:00:00.1234567+01:00'],
    ['Asia/Kolkata', '2026-11-21T20:00:00Z', '2026-11-22T01:30:00+05:30'],
    ['America/St_Johns', '2026-11-21T02:00:00.10Z', '2026-11-20T22:30:00.10-03:30'],
    ['Europe/London', '2026-11-21T08:00:00Z', '2026-11-21T08:00:00+00:00'],
    ['Europe/Berlin', '2026-11-21T08:00:00+05:00', '2026-11-21T04:00:00+01:00'],
    ['Europe/Berlin', '2026-11-21T08:00:00+0000', '2026-11-21T09:00:00+01:00'],
    ['Europe/Berlin', '2026-11-21 08:00:00,5z', '2026-11-21T09:00:00.5+01:00'],
    ['Europe/Berlin', '2026-11-21 08:00:00+00', '2026-11-21T09:00:00+01:00'],
    ['Europe/Berlin', '2026-11-21T24:00:00Z', '2026-11-22T01:00:00+01:00'],
    ['Europe/Berlin', '2026-11-21T08:00Z', '2026-11-21T09:00:00+01:00'],
    ['Europe/Berlin', '2026-11-30T08:00:00Z', '2026-11-30T09:00:00+01:00'],
  ])('in %s: %s', (name, text, expected) => expect(new TimeZone(name).shown(text)).toBe(expected));

  test.each([
    '2026-11-21',
    // A wall clock's.
    '2026-11-21T08:00:00',
    '2026-11',
    'soon',
    'x2026-11-21T08:00:00Z',
    '2026-02-30T00:00:00Z',
    '9999-12-31T23:30:00Z',
    '2026-11-21T08:00:00Z ',
  ])("but '%s' as it is", (text) => expect(new TimeZone('Europe/Berlin').shown(text)).toBe(text));
});

test('a zone that platforms list by its former name can be chosen by its present one', () => {
  const names = zoneNames();
  expect(names.slice(0, 2)).toEqual(['UTC', 'local']);
  expect(names.slice(2)).toEqual([...new Set(names.slice(2))].sort());
  expect(names.indexOf('UTC', 1)).toBe(-1);
  for (const name of [
    ...['Asia/Ho_Chi_Minh', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Yangon', 'America/Nuuk'],
    ...['Atlantic/Faroe', 'Europe/Kyiv', 'Pacific/Chuuk', 'Pacific/Pohnpei', 'Europe/Berlin'],
  ])
    expect([names.includes(name), zoneNamed(name.toLowerCase())]).toEqual([true, name]);
});

test.each(['xlocal', 'localx', 'UTCx', 'xUTC', '+02:00', '', 'Europe/Berln'])("'%s' names no zone", (text) =>
  expect(zoneNamed(text)).toBeUndefined(),
);

test('the zone of the machine is UTC where it is not known', () => {
  const zoneOn = (timezone: string) => localZone({ machine: { ...thisMachine(), timezone } }).name;
  expect([zoneOn('Asia/Kolkata'), zoneOn('Mars/Olympus')]).toEqual(['Asia/Kolkata', 'UTC']);
});

test('the zone of the machine is not that of a text without one, nor a zone that is named', ({
  onTestFinished,
}) => {
  const before = process.env['TZ'];
  onTestFinished(() => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  });
  process.env['TZ'] = 'Asia/Tokyo';
  expect(parseInstant('2026-11-21T08:00:00', new TimeZone('Europe/Berlin'))?.text).toBe(
    '2026-11-21T07:00:00Z',
  );
  const machine = { ...thisMachine(), timezone: 'Asia/Tokyo' };
  expect(zoneOf('Europe/Berlin', { machine }).name).toBe('Europe/Berlin');
});

describe('every zone', () => {
  const zones = Intl.supportedValuesOf('timeZone').map((name) => new TimeZone(name));
  const anyZone = fc.constantFrom(...zones);
  // From 1850 on, to include local mean time with its seconds.
  const anyTime = fc.integer({ min: Date.parse('1850-01-01T00:00:00Z') / 1000, max: 4_102_444_800 });
  const anyFraction = fc.stringMatching(/^(\.\d{1,7})?$/);
  const key = (instant: Instant | undefined) => [instant?.seconds, instant?.fraction];

  test('prints times that read back as the same time', () => {
    fc.assert(
      fc.property(anyZone, anyTime, anyFraction, (zone, seconds, fraction) => {
        const text = `${new Date(seconds * 1000).toISOString().slice(0, 19)}${fraction}Z`;
        const shown = zone.shown(text);
        expect(key(parseInstant(shown, zone))).toEqual(key(parseInstant(text)));
        const spaced = parseTime(shown.replace('T', ' '), zone);
        expect(spaced && key(resolveTime(spaced, 0))).toEqual(key(parseInstant(text)));
      }),
      { numRuns: sampleSize(50, 500) },
    );
  });

  test('shows a wall time at each of its times, earliest first, or never', () => {
    fc.assert(
      fc.property(anyZone, anyTime, (zone, seconds) => {
        const wall = Math.floor(seconds / 60) * 60_000;
        const times = zone.timesAt(wall);
        expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
        const isShown = (time: number) => time + zone.offsetAt(time) === wall;
        if (times.every(isShown)) return;
        // The clock skips a time: the minute before the change shows an earlier time, the change itself a
        // later one.
        expect(times).toHaveLength(1);
        const [change] = times as [number];
        expect(change + zone.offsetAt(change)).toBeGreaterThan(wall);
        expect(change - 60_000 + zone.offsetAt(change - 60_000)).toBeLessThan(wall);
      }),
      { numRuns: sampleSize(50, 500) },
    );
  });
});

test.each([
  ['+05:45', 345],
  ['+0545', 345],
  ['-03', -180],
  ['-00:30', -30],
  ['11/1/2026, GMT+0100', 60],
  ['11/1/2026, GMT', 0],
  ['+24:00', Number.NaN],
  ['+23:60', Number.NaN],
])('the offset in %s is %i minutes', (text, minutes) => expect(offsetMsIn(text)).toBe(minutes * 60_000));

test('white space around the name of a zone is none of it', () => expect(zoneNamed(' utc ')).toBe('UTC'));
