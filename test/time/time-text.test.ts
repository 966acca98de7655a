import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Advice, adviceText } from '../../src/advice.ts';
import { timeWithin } from '../../src/formats/table-columns.ts';
import { compareInstants, type Instant, parseInstant } from '../../src/time/instant.ts';
import { resolveTime, type Time } from '../../src/time/resolve-time.ts';
import { notATime, timeAdvice } from '../../src/time/time-advice.ts';
import { parseTime } from '../../src/time/time-text.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { sampleSize } from '../support/seed.ts';

const NOW = Date.parse('2026-11-21T10:11:12.345Z');
const sent = (text: string) => {
  const time = parseTime(text);
  return time && resolveTime(time, NOW)?.text;
};

describe('a point in time as people type it', () => {
  test.each([
    '2026-11-01',
    '2026-11-01T08:30:00Z',
    '2026-11-01T08:30Z',
    '2026-11-01T08:30:00.1234567Z',
    '2024-02-29',
    '0000-01-01T00:00:00Z',
  ])('%s is in UTC and is sent as typed', (text) => expect(sent(text)).toBe(text));

  test.each([
    ['2026-11-01T08:30:00', '2026-11-01T08:30:00Z'],
    ['2026-11-01T08:30', '2026-11-01T08:30Z'],
    ['2026-11-01T08:30:00.100', '2026-11-01T08:30:00.100Z'],
    ['1 Nov 2026, 08:30', '2026-11-01T08:30:00Z'],
    ['Nov 1, 2026, 08:30', '2026-11-01T08:30:00Z'],
  ])('%s has no zone: it is UTC', (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['2026-11-01T08:30:00+02:00', '2026-11-01T06:30:00Z'],
    ['2026-11-01T08:30:00.1234567890+0200', '2026-11-01T06:30:00.1234567890Z'],
    ['2026-12-31T23:30:00-01', '2027-01-01T00:30:00Z'],
    ['2026-11-01T08:30+05:45', '2026-11-01T02:45:00Z'],
    ['2026-11-01t08:30:00z', '2026-11-01T08:30:00Z'],
    ['2026-11-01 08:30 +05:45', '2026-11-01T02:45:00Z'],
  ])('%s is converted to Z with its fraction kept', (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['now', '2026-11-21T10:11:12.345Z'],
    ['today', '2026-11-21T00:00:00Z'],
    ['yesterday', '2026-11-20T00:00:00Z'],
    ['Yesterday', '2026-11-20T00:00:00Z'],
    ['90s', '2026-11-21T10:09:42.345Z'],
    ['15m', '2026-11-21T09:56:12.345Z'],
    ['10min', '2026-11-21T10:01:12.345Z'],
    ['2h', '2026-11-21T08:11:12.345Z'],
    [' 2h ', '2026-11-21T08:11:12.345Z'],
    ['2 hours ago', '2026-11-21T08:11:12.345Z'],
    ['1 hour 30 minutes ago', '2026-11-21T08:41:12.345Z'],
    ['1d12h', '2026-11-19T22:11:12.345Z'],
    ['7d', '2026-11-14T10:11:12.345Z'],
    ['7D', '2026-11-14T10:11:12.345Z'],
    ['2w', '2026-11-07T10:11:12.345Z'],
    ['1 week', '2026-11-14T10:11:12.345Z'],
    ['2  hours', '2026-11-21T08:11:12.345Z'],
    ['+1h', '2026-11-21T11:11:12.345Z'],
    ['+ 1h', '2026-11-21T11:11:12.345Z'],
    ['in 2 hours', '2026-11-21T12:11:12.345Z'],
    ['in 1 month', '2026-12-21T10:11:12.345Z'],
  ])("'%s' counts from now", (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['08:00', '2026-11-21T08:00:00Z'],
    ['8:05', '2026-11-21T08:05:00Z'],
    ['08:00:15.25', '2026-11-21T08:00:15.25Z'],
    ['08:00:15,25', '2026-11-21T08:00:15.25Z'],
    ['08:00Z', '2026-11-21T08:00:00Z'],
    ['9:00 UTC+2', '2026-11-21T07:00:00Z'],
    ['8am', '2026-11-21T08:00:00Z'],
    ['8:30 PM', '2026-11-21T20:30:00Z'],
    ['1am', '2026-11-21T01:00:00Z'],
    ['12am', '2026-11-21T00:00:00Z'],
    ['12pm', '2026-11-21T12:00:00Z'],
    ['T08:00', '2026-11-21T08:00:00Z'],
    ['08:00 America/New_York', '2026-11-21T13:00:00Z'],
    ['08:00 Etc/GMT+5', '2026-11-21T13:00:00Z'],
    ['yesterday8am', '2026-11-20T08:00:00Z'],
    ['yesterdayT08:00', '2026-11-20T08:00:00Z'],
    ['8am yesterday CET', '2026-11-20T07:00:00Z'],
    ['08:00 on monday Europe/Berlin', '2026-11-16T07:00:00Z'],
    ['yesterday 8am', '2026-11-20T08:00:00Z'],
    ['today at 23:59', '2026-11-21T23:59:00Z'],
  ])("'%s' is a time of day", (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['2026-11-21 19:19:51.4257828Z', '2026-11-21T19:19:51.4257828Z'],
    ['2026-11-21 08:00', '2026-11-21T08:00Z'],
    ['2026-11-21 08:00:00 UTC', '2026-11-21T08:00:00Z'],
    ['11-20 19:19:51Z', '2026-11-20T19:19:51Z'],
    ['11-21 19:19:51Z', '2025-11-21T19:19:51Z'],
    ['02-29 00:00:00Z', '2024-02-29T00:00:00Z'],
  ])("'%s', as tables print it, is that time", (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['1795328922', '2026-11-22T06:28:42Z'],
    ['@1795328922', '2026-11-22T06:28:42Z'],
    ['1795328922000', '2026-11-22T06:28:42Z'],
    ['@1795328922123', '2026-11-22T06:28:42.123Z'],
    ['@1795328922.1234567', '2026-11-22T06:28:42.1234567Z'],
    ['@0', '1970-01-01T00:00:00Z'],
    ['@123456789012', '1973-11-29T21:33:09.012Z'],
    ['1795328922.5', '2026-11-22T06:28:42.5Z'],
  ])("'%s' counts from the epoch", (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['Fri, 20 Nov 2026 08:30:00 GMT', '2026-11-20T08:30:00Z'],
    ['Fri, 20 Nov 2026 08:30:00 +0100', '2026-11-20T07:30:00Z'],
    ['20 Nov 2026 08:30:15 EST', '2026-11-20T13:30:15Z'],
    ['20 Nov 2026 08:30', '2026-11-20T08:30:00Z'],
    ['20 Nov 2026', '2026-11-20'],
    ['20-Nov-2026', '2026-11-20'],
    ['20 november 2026', '2026-11-20'],
    ['20. Nov 2026', '2026-11-20'],
    ['20. Nov. 2026', '2026-11-20'],
    ['20 Nov, 2026', '2026-11-20'],
    ['Nov. 20, 2026', '2026-11-20'],
    ['08:30 20 Nov 2026 CET (in Berlin)', '2026-11-20T07:30:00Z'],
    ['November 20th, 2026 8:30 pm', '2026-11-20T20:30:00Z'],
    ['Nov 20, 2026', '2026-11-20'],
    ['Nov 20 08:30', '2026-11-20T08:30:00Z'],
    ['Nov 22 08:30', '2025-11-22T08:30:00Z'],
    ['Fri Nov 20 08:30:00 2026', '2026-11-20T08:30:00Z'],
    ['Fri Nov 20 08:30:00 CET 2026', '2026-11-20T07:30:00Z'],
    ['Fri Nov 20 08:30:00 +01 2026', '2026-11-20T07:30:00Z'],
    ['Fri Nov 20 08:30:00 PM UTC 2026', '2026-11-20T20:30:00Z'],
    ['Fri 20 Nov 08:30:00 UTC 2026', '2026-11-20T08:30:00Z'],
    ['Fri Nov 20 08:30:00 XYZ 2026', undefined],
    ['Fri Nov 20 2026 09:30:00 GMT+0100 (Central European Standard Time)', '2026-11-20T08:30:00Z'],
    ['Friday, 20 Nov 2026 08:30', '2026-11-20T08:30:00Z'],
    ['Wednesday, 18 Nov 2026 08:30', '2026-11-18T08:30:00Z'],
    ['Sat, 21 Nov 2026 08:30', '2026-11-21T08:30:00Z'],
    ['20/Nov/2025:08:30:00 +0000', '2025-11-20T08:30:00Z'],
    ['20 Nov 08:30', '2026-11-20T08:30:00Z'],
    ['Fri Nov 20 08:30', '2026-11-20T08:30:00Z'],
    ['20 Nov 2026 09:30 +01', '2026-11-20T08:30:00Z'],
    ['20.11.2026', '2026-11-20'],
    ['1.5.2026', '2026-05-01'],
    ['20.11.2026 08:30', '2026-11-20T08:30:00Z'],
    ['20.11.2026, 08:30:15', '2026-11-20T08:30:15Z'],
    ['2026/11/20 08:30', '2026-11-20T08:30:00Z'],
    ['2026-11-20T08', '2026-11-20T08:00:00Z'],
    ['2026-11-20 08', '2026-11-20T08:00:00Z'],
    ['2026-11-20T08Z', '2026-11-20T08:00:00Z'],
    ['2026-11', '2026-11-01'],
    ['20261120', '2026-11-20'],
    ['20261120T083000Z', '2026-11-20T08:30:00Z'],
    ['2026-11-20 8:30 pm', '2026-11-20T20:30:00Z'],
    ['2026-11-20 8:30pm +01:00', '2026-11-20T19:30:00Z'],
    ['2026-11-20 08:30 Europe/Berlin', '2026-11-20T07:30:00Z'],
    ['2026-11-20 08:30 UTC+01:00', '2026-11-20T07:30:00Z'],
    ['2026-11-20 9:30 UTC+2', '2026-11-20T07:30:00Z'],
    ['2026-11-20T08:30GMT-3', '2026-11-20T11:30:00Z'],
    ['2026-11-20 13:00 utc+5:30', '2026-11-20T07:30:00Z'],
    ['2026-11-20 08:30 UTC-10', '2026-11-20T18:30:00Z'],
    ['20261120T0830Z', '2026-11-20T08:30:00Z'],
    ['2026-11-20 16:06:31,123', '2026-11-20T16:06:31.123Z'],
    ['2026-11-20 16:06:31,123Z', '2026-11-20T16:06:31.123Z'],
    ['2026-11-20 16:06:31,123 +01:00', '2026-11-20T15:06:31.123Z'],
    ['2026-11-20 08:30 America/New_York', '2026-11-20T13:30:00Z'],
    ['2026-11-20 8pm america/argentina/buenos_aires', '2026-11-20T23:00:00Z'],
    ['8am 2026-11-20', '2026-11-20T08:00:00Z'],
    ['8am 2026-11-20 -05:00', '2026-11-20T13:00:00Z'],
    ['noon, Nov 20 2026', '2026-11-20T12:00:00Z'],
    ['20261120T083000 +0100', '2026-11-20T07:30:00Z'],
    ['20261120T083000,25Z', '2026-11-20T08:30:00.25Z'],
    ['20261120 0830', '2026-11-20T08:30:00Z'],
    ['Fri Nov 20 08:30:00 2026 +0100', '2026-11-20T07:30:00Z'],
    ['Fri Nov 20 08:30:00 +0100 2026', '2026-11-20T07:30:00Z'],
    ['20/Nov/2025:08:30:00 America/New_York', '2025-11-20T13:30:00Z'],
    ['2026-11 08:30', '2026-11-01T08:30:00Z'],
    ['2026-11-20 08:30Z (UTC)', '2026-11-20T08:30Z'],
    ['20 Nov 2026 (a Friday)', '2026-11-20'],
    ['2026-11-20 at 08', '2026-11-20T08:00:00Z'],
  ])("'%s', as other programs write it, is that time", (text, expected) => expect(sent(text)).toBe(expected));

  // 21 November 2026 is a Saturday.
  test.each([
    ['friday', '2026-11-20T00:00:00Z'],
    ['Fri', '2026-11-20T00:00:00Z'],
    ['saturday', '2026-11-21T00:00:00Z'],
    ['last saturday', '2026-11-14T00:00:00Z'],
    ['last monday', '2026-11-16T00:00:00Z'],
    ['tuesday 08:00', '2026-11-17T08:00:00Z'],
    ['8am sunday', '2026-11-15T08:00:00Z'],
    ['sat 8:30', '2026-11-21T08:30:00Z'],
    ['last sat, at noon', '2026-11-14T12:00:00Z'],
    ['Fri 11-20 08:00', '2026-11-20T08:00:00Z'],
    ['noon', '2026-11-21T12:00:00Z'],
    ['midnight', '2026-11-21T00:00:00Z'],
    ['yesterday noon', '2026-11-20T12:00:00Z'],
    ['8am yesterday', '2026-11-20T08:00:00Z'],
    ['tomorrow', '2026-11-22T00:00:00Z'],
    ['08:00+01:00', '2026-11-21T07:00:00Z'],
    ['06:18:16.25Z', '2026-11-21T06:18:16.25Z'],
    ['1mo', '2026-10-21T10:11:12.345Z'],
    ['1 month ago', '2026-10-21T10:11:12.345Z'],
    ['9 months', '2026-02-21T10:11:12.345Z'],
    ['1y', '2025-11-21T10:11:12.345Z'],
    ['1 year and 2 days ago', '2025-11-19T10:11:12.345Z'],
    ['PT2H', '2026-11-21T08:11:12.345Z'],
    [' PT2H ', '2026-11-21T08:11:12.345Z'],
    ['P1DT12H', '2026-11-19T22:11:12.345Z'],
    ['P1M', '2026-10-21T10:11:12.345Z'],
    ['PT1M', '2026-11-21T10:10:12.345Z'],
    ['P10D', '2026-11-11T10:11:12.345Z'],
    ['P1Y2M3W4DT5H6M7S', '2025-08-27T05:05:05.345Z'],
    ['P1M2M', '2026-08-21T10:11:12.345Z'],
    ['1h, 30m, and 10 s', '2026-11-21T08:41:02.345Z'],
    ['PT1H30M', '2026-11-21T08:41:12.345Z'],
    ['1Month', '2026-10-21T10:11:12.345Z'],
  ])("'%s' counts from today", (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['s', 'sec', 'secs', 'second', 'seconds', '2026-11-21T10:11:10.345Z'],
    ['m', 'min', 'mins', 'minute', 'minutes', '2026-11-21T10:09:12.345Z'],
    ['h', 'hr', 'hrs', 'hour', 'hours', '2026-11-21T08:11:12.345Z'],
    ['d', 'day', 'days', '2026-11-19T10:11:12.345Z'],
    ['w', 'wk', 'wks', 'week', 'weeks', '2026-11-07T10:11:12.345Z'],
    ['mo', 'mos', 'mth', 'mths', 'month', 'months', '2026-09-21T10:11:12.345Z'],
    ['y', 'yr', 'yrs', 'year', 'years', '2024-11-21T10:11:12.345Z'],
  ])('spans are counted in %s and what else it is called', (...names) => {
    const expected = names.pop();
    for (const name of names) expect([name, sent(`2${name}`)]).toEqual([name, expected]);
    for (const name of names)
      expect([name, sent(`2x${name}`), sent(`2${name}x`)]).toEqual([name, undefined, undefined]);
  });

  test('each month and each day of the week has its names', () => {
    const at = (text: string) => [text, sent(text)];
    for (let month = 1; month <= 12; month++) {
      const date = `2025-${String(month).padStart(2, '0')}-20`;
      for (const style of ['short', 'long'] as const) {
        const name = new Date(date).toLocaleString('en-US', { month: style, timeZone: 'UTC' });
        expect(at(`20 ${name} 2025`)).toEqual([`20 ${name} 2025`, date]);
        expect(at(`${name} 20, 2025`)).toEqual([`${name} 20, 2025`, date]);
      }
    }
    for (let day = 14; day <= 20; day++) {
      for (const weekday of ['short', 'long'] as const) {
        const name = new Date(`2026-11-${day}`).toLocaleString('en-US', { weekday, timeZone: 'UTC' });
        expect(at(`last ${name}`)).toEqual([`last ${name}`, `2026-11-${day}T00:00:00Z`]);
      }
    }
  });

  test.each([
    ['Z', '08'],
    ['GMT', '08'],
    ['UTC', '08'],
    ['UT', '08'],
    ['CET', '07'],
    ['CEST', '06'],
    ['EST', '13'],
    ['EDT', '12'],
    ['CST', '14'],
    ['CDT', '13'],
    ['MST', '15'],
    ['MDT', '14'],
    ['PST', '16'],
    ['PDT', '15'],
  ])('%s is a zone', (zone, hour) =>
    expect(sent(`20 Nov 2026 08:30 ${zone}`)).toBe(`2026-11-20T${hour}:30:00Z`),
  );

  test('a date without its year is the latest that is not in the future', () => {
    const time = parseTime('11-20 00:00:00Z') as Time;
    expect(resolveTime(time, Date.parse('2026-11-20T00:00:00Z'))?.text).toBe('2026-11-20T00:00:00Z');
    expect(resolveTime(time, Date.parse('2026-11-19T23:59:59.999Z'))?.text).toBe('2025-11-20T00:00:00Z');
  });

  test('a month back from the 31st is the last day of a shorter month', () => {
    const at = (text: string, now: string) => {
      const time = parseTime(text);
      return time && resolveTime(time, Date.parse(now))?.text;
    };
    expect(at('1mo', '2026-03-31T10:00:00Z')).toBe('2026-02-28T10:00:00Z');
    expect(at('1y', '2028-02-29T10:00:00Z')).toBe('2027-02-28T10:00:00Z');
  });

  test('days, days of the week and dates without a zone are those of the zone', () => {
    const berlin = new TimeZone('Europe/Berlin');
    const late = Date.parse('2026-11-20T23:30:00Z');
    const at = (text: string) => {
      const time = parseTime(text, berlin);
      return time && resolveTime(time, late)?.text;
    };
    expect(at('saturday')).toBe('2026-11-20T23:00:00Z');
    expect(at('20.11.2026 08:30')).toBe('2026-11-20T07:30:00Z');
    expect(at('20 Nov 2026')).toBe('2026-11-19T23:00:00Z');
    expect(at('noon')).toBe('2026-11-21T11:00:00Z');
    expect(at('20 Nov 2026 08:30 GMT')).toBe('2026-11-20T08:30:00Z');
  });

  test.each([
    ['11/12/2026', 'write 2026-11-12 or 2026-12-11'],
    ['20/11/2026 08:30', 'write 2026-11-20 08:30'],
    ['11-20-2026', 'write 2026-11-20'],
    ['1/2/2026', 'write 2026-01-02 or 2026-02-01'],
    ['1M', 'write 1mo for months, 1m for minutes'],
    [' 12M ', 'write 12mo for months, 12m for minutes'],
    ['1M ago', 'write 1mo for months, 1m for minutes'],
    ['-2h', 'write 2h: a span counts back from now'],
    ['-15m', 'write 15m: a span counts back from now'],
  ])("'%s' is refused with the right form", (text, advice) => {
    expect(sent(text)).toBeUndefined();
    expect(adviceText(timeAdvice(text), {})).toBe(advice);
  });

  test.each(['soon', '-8', '-soon', '5-2h', 'x1M', '1Mx', '13/13/2026', 'x11/12/2026'])(
    "'%s' is refused with the usual forms",
    (text) => {
      expect(sent(text)).toBeUndefined();
      const { message, next } = notATime('--since', text);
      expect(message).toBe(`--since: invalid value '${text}': must be a time`);
      expect(adviceText(next as Advice, {})).toBe(
        'write a time as 2026-11-20 08:30, 08:00, 2h, 7d, yesterday or monday; see `hooktrail help times`',
      );
    },
  );

  test('a span that leads out of the years that can be written is none', () =>
    expect(sent('999999999w')).toBeUndefined());

  test.each([
    '',
    ' ',
    'soon',
    '8',
    '800',
    '25:00',
    '08:60',
    '13pm',
    '0am',
    '2026-02-30',
    '2026-13-01',
    '2026-00-10',
    '2025-02-29',
    '2026-11-01T10:60:00Z',
    '2026-11-01T10:00:60Z',
    '2026-11-01T10:00:00+24:00',
    '2026-11-01T10:00:00+01:60',
    '02-30 10:00:00Z',
    '2026-11-1',
    '-2h',
    '2x',
    '1.5h',
    'ago',
    'hours ago',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2026-11-01T10:00:00Z)&eq(eventId,x',
    'Thu, 20 Nov 2026 08:30:00 GMT',
    '31.11.2026',
    '30 Feb 2026',
    '20261301',
    '12345678901',
    '08.00',
    'this morning',
    'monday 25:00',
    'P',
    'PT',
    '2026-11-20 CET',
    '2026-11-20 08:30 Mars/Olympus',
    '2026-11-20 08:30 local',
    'x2026-11-20 08',
    '2026-11-20 08x',
    '20 Nov 2026 (Fri) 08:30',
    'nowhere',
    'unknow',
    'x1795328922',
    '1795328922x',
    'xP1D',
    'P1Dx',
    'x20261120',
    'x2026/11/20',
    '2026/11/20x',
    'x20.11.2026',
    '20.11.2026x',
    'x11-20',
    '11-20x',
    'x 11-20 08:30',
    '11-20 x 08:30',
    'constructor',
    '__proto__',
    '08:00 constructor',
    'last constructor',
    '08:00+24:00',
    '08:00 +01:60',
    '11-20 08:00 UTC+24',
    '08:00 +1',
    '08:00 Europe',
    '08:00 Europe/Berlin x',
    '08:00 CET yesterday',
    '08:00 (CET',
    '08:00 (C(E)T)',
    '08:00 x)',
    '(CET)',
    '2026-1120',
    '2026/1120',
    '2026/11/20T08',
    '20261120T08300',
    '20261120T0830.5',
    '20261120T086000',
    '20261120T083060',
    '2026-11-20T',
    '2026-11-20,',
    '2026-11-20 at',
    '2026-11-20 0830',
    '11-20 08',
    '20 Nov 2026 08',
    '20 Nov 2026 08:30 2026',
    '11-20 08:30 2026',
    'friday 08:30 2026',
    '20 Nov:08:30',
    '2026-11-20:08:30',
    'last 20 Nov',
    'today, 20 Nov',
    'Fri,Nov 20',
    '20Nov2026',
    'Nov20',
    '20. 11. 2026',
    // A part of a date is missing.
    ', 20 Nov 2026',
    '.11.2026',
    '20..2026',
    '20.11',
    '20.11.',
    '/11/20',
    '2026//20',
    '2026/11',
    '-11-20',
    '-20',
    'Nov',
    'Nov ,2026',
    '1d,12h',
    '1d and',
    '1d and, 12h',
    'and 1d',
    '1d ago ago',
    '+1h ago',
    'in 2 hours ago',
    'in2 hours',
    'in PT2H',
    '+ now',
    'now ago',
    '1M2D',
    '5 M 1 s',
    '1234567890h',
    'P1H',
    'PT1D',
    'P1W2',
    'P1.5D',
    'PT1H ago',
    '@',
    '@1795328922.',
    '@1795328922,5',
    '1795328922 5',
    '1795328922Z',
    '999999999999999999999999',
    '@999999999999999999999999',
    'Fri Nov 20 2026 08:30:00 GMT+0100 (CET',
    'Fri Nov 20 2026 08:30:00 GMT+0100 (CET(',
    'Fri Nov 20 2026 08:30:00 GMT+0100 (CET (x)',
  ])("'%s' is not a point in time", (text) => expect(parseTime(text)).toBeUndefined());
});

describe('every form in which a time is printed is read as that time', () => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kolkata',
    'Pacific/Apia',
    'America/St_Johns',
  ];
  const anyZone = fc.constantFrom(...zones.map((name) => (name === 'UTC' ? UTC : new TimeZone(name))));
  // From the year before on: forms without a year mean the latest such time.
  const anyTime = fc.integer({ min: NOW - 300 * 86_400_000, max: NOW - 1 });
  const anyFraction = fc.stringMatching(/^(\.\d{1,9})?$/);
  const isSame = (text: string, zone: TimeZone, meant: Instant) => {
    const time = parseTime(text, zone);
    const read = time && resolveTime(time, NOW);
    return read !== undefined && compareInstants(read, meant) === 0;
  };
  const SECOND = 1_000;
  const MINUTE = 60_000;

  /** Milliseconds that a printed time may have left out. */
  const precisionOf = (printed: string) => (/ \d\d:\d\d:\d\d/.test(printed) ? SECOND : MINUTE);

  test('in tables of any width', () => {
    const forms = new Set<string>();
    const anyWidth = fc.integer({ min: 17, max: 40 });
    fc.assert(
      fc.property(anyZone, anyTime, anyFraction, anyWidth, (zone, at, fraction, width) => {
        const exact = `${new Date(at).toISOString().slice(0, 19)}${fraction}Z`;
        const printed = timeWithin(zone.shown(exact), width);
        const precision = precisionOf(printed);
        const coarse = new Date(Math.floor(at / precision) * precision).toISOString();
        const meant = parseInstant(printed.includes('.') ? exact : coarse) as Instant;
        expect([printed, isSame(printed, zone, meant)]).toEqual([printed, true]);
        forms.add(printed.replaceAll(/\d+/g, '0'));
      }),
      { numRuns: sampleSize(50, 500) },
    );
    // All forms but the time of day alone, which belongs to a table of today.
    for (const form of ['0-0-0 0:0:0.0+0:0', '0-0-0 0:0:0+0:0', '0-0 0:0:0+0:0', '0-0 0:0+0:0'])
      expect([...forms]).toContain(form);
  });

  test('in tables: a time of today without its date', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_399 }), (second) => {
        const exact = new Date(Date.parse('2026-11-21T00:00:00Z') + second * SECOND).toISOString();
        const printed = timeWithin(exact.replace('.000', ''), 10);
        expect(printed).toMatch(/^\d\d:\d\d:\d\dZ$/);
        expect(isSame(printed, UTC, parseInstant(exact) as Instant)).toBe(true);
      }),
    );
  });

  test('in other programs: of JavaScript, RFC 2822, date and git', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800 }), (seconds) => {
        const date = new Date(seconds * SECOND);
        const [weekday, day, month, year, clock] = date.toUTCString().replace(',', '').split(' ');
        const texts = [
          date.toUTCString(),
          date.toISOString(),
          `${weekday} ${month} ${day} ${year} ${clock} GMT+0000 (Coordinated Universal Time)`,
          `${weekday} ${month} ${Number(day)} ${clock} UTC ${year}`,
          `${weekday} ${month} ${Number(day)} ${clock} ${year} +0000`,
          `${day}/${month}/${year}:${clock} +0000`,
          date.toISOString().replace(/[-:]|\.000/g, ''),
          date.toLocaleString('en-US', { timeZone: 'UTC', dateStyle: 'long', timeStyle: 'medium' }),
          date.toLocaleString('de-DE', { timeZone: 'UTC', dateStyle: 'medium', timeStyle: 'medium' }),
        ];
        const meant = parseInstant(date.toISOString()) as Instant;
        for (const text of texts) expect([text, isSame(text, UTC, meant)]).toEqual([text, true]);
      }),
    );
  });
});

describe('a very long text', () => {
  // In a time that grew with the square of the length, a few of them would take minutes.
  const LENGTH = 100_000;
  const PIECES = [
    ...[
      'a',
      'Z',
      'T',
      'aT1',
      'ago ',
      ' and',
      '1 ',
      '1,',
      '12:',
      ':',
      '/',
      'a/',
      '_',
      '+',
      '-',
      '+1',
      '.',
      ' (',
    ],
    ...[
      '(',
      ')',
      ' ',
      '\n\t',
      'é',
      '😀',
      '08:30 ',
      '8am',
      '8 pm ',
      'noon',
      '2026-',
      '20 Nov ',
      'Fri, ',
      'last ',
    ],
    ...['M', '1M', 'P', 'P1D', '1d', '1d, and ', 'at ', 'on ', '@', '0', '20261120T'],
  ];

  test.each(PIECES)('of %j is refused in a time that grows with its length', (piece) => {
    const long = piece.repeat(LENGTH / piece.length);
    for (const start of ['', '08:30 ', '08:30 (', '2h'])
      expect([start, parseTime(`${start}${long}!`)]).toEqual([start, undefined]);
    expect(adviceText(timeAdvice(`-1${long}!`), {})).toMatch(/^write a time as /);
  });

  test('may be a time: spans are added up, and a fraction has any number of digits', () => {
    expect(sent('0h'.repeat(LENGTH / 2))).toBe('2026-11-21T10:11:12.345Z');
    expect(sent(`P${'0D'.repeat(LENGTH / 2)}`)).toBe('2026-11-21T10:11:12.345Z');
    const digits = '1'.repeat(LENGTH);
    expect(sent(`20 Nov 2026 08:30:00.${digits}`) === `2026-11-20T08:30:00.${digits}Z`).toBe(true);
    expect(sent(`2026-11-20${' '.repeat(LENGTH)}08:30`)).toBe('2026-11-20T08:30Z');
  });
});
