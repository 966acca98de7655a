import type { Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { PAGE_SIZE } from '../paging/event-query.ts';
import { Flag, wholeNumber } from '../settings/flags.ts';
import type { FilterFlags } from './filter-flags.ts';

export const CONCURRENCY = 4;

/** The options of a read of many pages. */
export function addPageFlags(command: Command): Command {
  return command
    .addOption(
      new Flag(
        '--page-size <number>',
        `events per request, 1 to ${PAGE_SIZE}`,
        { preset: PAGE_SIZE },
        wholeNumber('--page-size', 1, PAGE_SIZE),
      ),
    )
    .addOption(concurrencyFlag());
}

/** The option of a read that asks for several things at once; its value without the flag is `usual`. */
export function concurrencyFlag(usual = CONCURRENCY): Option {
  const parse = wholeNumber('--concurrency', 1, 16);
  return new Flag('--concurrency <number>', 'requests at once, 1 to 16', { preset: usual }, parse);
}

export interface PreviewFlags {
  readonly dryRun?: true;
  readonly curl?: true;
}

/** For commands that can show their requests instead of sending them. */
export function addPreviewFlags(command: Command): Command {
  return command
    .option('--dry-run', 'print the request URLs and send nothing')
    .option('--curl', 'print curl commands for the requests and send nothing');
}

/**
 * Returns how to show the requests, or undefined to send them. Throws `UsageError` if both ways to show them
 * are given.
 */
export function previewForm({ dryRun, curl, from }: PreviewFlags & FilterFlags): 'urls' | 'curl' | undefined {
  if ((dryRun || curl) && from !== undefined)
    throw new UsageError('--from sends no requests: --dry-run and --curl have nothing to show');
  if (dryRun && curl) throw new UsageError('--dry-run and --curl contradict each other: give one');
  if (curl) return 'curl';
  return dryRun ? 'urls' : undefined;
}

/** Twice as many as for reading pages: the answer to a count holds a single event. */
export const COUNTS_AT_ONCE = 8;
export const GROUPS_SHOWN = 20;

/** For commands that show counts over time. */
export function addStatsFlags(command: Command): Command {
  return command
    .addOption(
      new Flag(
        '--buckets <number>',
        'number of equal parts of the time line, 1 to 500',
        { preset: 'parts that begin on the clock, such as full hours' },
        wholeNumber('--buckets', 1, 500),
      ),
    )
    .addOption(concurrencyFlag(COUNTS_AT_ONCE));
}
