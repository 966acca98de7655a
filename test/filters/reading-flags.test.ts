import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import {
  addPageFlags,
  addPreviewFlags,
  concurrencyFlag,
  previewForm,
} from '../../src/filters/reading-flags.ts';

const command = () => addPreviewFlags(addPageFlags(new Command()));
const parsed = (...argv: string[]) => command().parse(argv, { from: 'user' }).opts();

test('the flags of reading are described with their limits', () => {
  const facts = command().options.map((option) => [
    option.flags,
    option.description,
    (option as { facts?: object }).facts,
  ]);
  expect(facts).toEqual([
    ['--page-size <number>', 'events per request, 1 to 500', { preset: 500 }],
    ['--concurrency <number>', 'requests at once, 1 to 16', { preset: 4 }],
    ['--dry-run', 'print the request URLs and send nothing', undefined],
    ['--curl', 'print curl commands for the requests and send nothing', undefined],
  ]);
  expect(concurrencyFlag(8)).toMatchObject({ facts: { preset: 8 } });
});

describe('the numbers of --page-size and --concurrency', () => {
  test('are within their limits', () => {
    expect(parsed()).toEqual({});
    expect(parsed('--page-size', '1', '--concurrency', '16')).toEqual({ pageSize: 1, concurrency: 16 });
    expect(parsed('--page-size', '500', '--concurrency', '1')).toEqual({ pageSize: 500, concurrency: 1 });
  });

  test.each([
    ['--page-size', '0', '1 to 500'],
    ['--page-size', '501', '1 to 500'],
    ['--concurrency', '0', '1 to 16'],
    ['--concurrency', '17', '1 to 16'],
  ])('%s %s is refused', (flag, text, range) => {
    expect(() => parsed(flag, text)).toThrow(
      `${flag}: invalid value '${text}': must be a whole number from ${range}`,
    );
  });
});

describe('a preview of requests', () => {
  test('is of their URLs, or of curl commands', () => {
    expect(previewForm({ dryRun: true })).toBe('urls');
    expect(previewForm({ curl: true })).toBe('curl');
    expect(previewForm({})).toBeUndefined();
    expect(previewForm({ from: 'old' })).toBeUndefined();
    expect(previewForm(parsed('--dry-run'))).toBe('urls');
  });

  test.each([{ dryRun: true }, { curl: true }, { dryRun: true, curl: true }] as const)(
    'with %j is refused of stored events, for which nothing is sent',
    (flags) => {
      expect(() => previewForm({ ...flags, from: '' })).toThrow(
        '--from sends no requests: --dry-run and --curl have nothing to show',
      );
    },
  );

  test('is of one form', () => {
    expect(() => previewForm({ dryRun: true, curl: true })).toThrow(
      '--dry-run and --curl contradict each other: give one',
    );
  });
});
