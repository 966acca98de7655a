import { expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import {
  decimalNumber,
  duration,
  fileName,
  oneOf,
  orList,
  share,
  wholeNumber,
} from '../../src/settings/flag-values.ts';
import { JQ_FLAG, listFlag } from '../../src/settings/flags.ts';

/** The values of some texts; of those that are refused, what has to be given instead. */
const readBy = (parse: (text: string) => unknown, ...texts: string[]) =>
  texts.map((text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      const [start, wanted] = error.message.split(': must be ');
      expect(start).toBe(`--x: invalid value '${text}'`);
      return wanted;
    }
  });

test('a whole number is one of its range, in digits alone', () => {
  const from2to10 = 'a whole number from 2 to 10';
  const bounded = wholeNumber('--x', 2, 10);
  expect(
    readBy(bounded, '2', '10', '007', '1', '11', '-3', '+3', '3.0', '1e1', '0x3', ' 3', '3 ', ''),
  ).toEqual([2, 10, 7, ...Array(10).fill(from2to10)]);
  const open = wholeNumber('--x', 1);
  expect(readBy(open, '9007199254740991', '9007199254740992', '0')).toEqual([
    9_007_199_254_740_991,
    'a whole number from 1 to 9007199254740991',
    'a whole number of at least 1',
  ]);
  expect([bounded.takes, open.takes]).toEqual([
    { type: 'integer', minimum: 2, maximum: 10 },
    { type: 'integer', minimum: 1 },
  ]);
});

test('a number may have decimals, and a share is one of at most 1', () => {
  const number = decimalNumber('--x', 0.5, 20);
  const wanted = 'a number from 0.5 to 20';
  expect(
    readBy(number, '0.5', '20', '.75', '3', '0.49', '20.1', '-1', '3.', '1e1', 'x', 'x3', '3x', ''),
  ).toEqual([0.5, 20, 0.75, 3, ...Array(9).fill(wanted)]);
  const part = share('--x');
  expect(readBy(part, '0', '1', '0.05', '.5', '1.01', '-0.1', '5%', 'x1', '')).toEqual([
    0,
    1,
    0.05,
    0.5,
    ...Array(5).fill('a share from 0 to 1, such as 0.05'),
  ]);
  expect([number.takes, part.takes]).toEqual([
    { type: 'number', minimum: 0.5, maximum: 20 },
    { type: 'number', minimum: 0, maximum: 1 },
  ]);
});

test('a length of time lies in its range, and is one that a timer can wait unless that says more', () => {
  const length = 'a length of time such as 15s, 2m or 1h';
  const short = duration('--x', 1000, 60_000);
  expect(readBy(short, '1s', '60s', '1m', '999ms', '61s', '5', 'soon')).toEqual([
    1000,
    60_000,
    60_000,
    ...Array(4).fill(`${length}, from 1s to 1m`),
  ]);
  expect(readBy(duration('--x', 0), '24d', '25d')).toEqual([2_073_600_000, `${length}, from 0s to 24d`]);
  const endless = duration('--x', 1000, Number.POSITIVE_INFINITY);
  expect(readBy(endless, '365d', '1ms')).toEqual([31_536_000_000, `${length}, at least 1s`]);
  expect(readBy(duration('--x', 0, 60_000, 's'), '5')).toEqual([5000]);
  expect(readBy(duration('--x', 0, 60_000, 'ms'), '5')).toEqual([5]);
  expect(short.takes).toEqual({ type: 'duration' });
});

test('one of a few words is taken in any case of letters, and suggested for a synonym or what is near', () => {
  const parse = oneOf('--x', ['Success', 'Failed'], { ok: 'Success' });
  expect(readBy(parse, 'success', 'FAILED', 'ok', 'faild', 'other')).toEqual([
    'Success',
    'Failed',
    ...Array(3).fill('Success or Failed'),
  ]);
  const meant = (text: string) => {
    try {
      return parse(text);
    } catch (error) {
      return (error as UsageError).next;
    }
  };
  expect(['OK', 'faild', 'other'].map(meant)).toEqual([
    'did you mean Success?',
    'did you mean Failed?',
    undefined,
  ]);
});

test('a file has a name', () => {
  expect(readBy(fileName('--x'), 'a', ' ', '')).toEqual(['a', ' ', 'the name of a file']);
});

test('texts are listed with `or` before the last', () => {
  expect([orList([]), orList(['a']), orList(['a', 'b']), orList(['a', 'b', 'c'])]).toEqual([
    '',
    'a',
    'a or b',
    'a, b or c',
  ]);
});

test('a flag that may be given several times has a list of its values', () => {
  const flag = listFlag('--x <text>', 'texts');
  expect(flag.facts).toEqual({ isRepeatable: true });
  const values = ['a', 'b'].reduce<unknown>(
    (list, text) => flag.parseArg?.(text, list as string[]),
    undefined,
  );
  expect(values).toEqual(['a', 'b']);
});

test.each([
  ['-r', true],
  ['-c', true],
  ['-rc', true],
  ['--raw-output', true],
  ['--compact-output', true],
  ['-rx', false],
  ['x-r', false],
  ['--raw-output0', false],
  ['-', false],
])('%s is a flag of jq: %s', (flag, expected) => {
  expect(JQ_FLAG.test(flag)).toBe(expected);
});
