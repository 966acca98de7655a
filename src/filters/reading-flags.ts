import type { Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { PAGE_SIZE } from '../paging/event-query.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import { DAY_MS, HOUR_MS } from '../time/lengths.ts';
import type { FilterFlags } from './filter-flags.ts';

export const CONCURRENCY = 4;

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

export function concurrencyFlag(usual = CONCURRENCY): Option {
  const parse = wholeNumber('--concurrency', 1, 16);
  return new Flag('--concurrency <number>', 'requests at once, 1 to 16', { preset: usual }, parse);
}

export interface PreviewFlags {
  readonly dryRun?: true;
  readonly curl?: true;
}

export function addPreviewFlags(command: Command): Command {
  return command
    .option('--dry-run', 'print the request URLs and send nothing')
    .option('--curl', 'print curl commands for the requests and send nothing');
}

/** Undefined to send the requests. Throws `UsageError` for contradicting flags. */
export function previewForm({ dryRun, curl, from }: PreviewFlags & FilterFlags): 'urls' | 'curl' | undefined {
  if ((dryRun || curl) && from !== undefined)
    throw new UsageError('--from sends no requests: --dry-run and --curl have nothing to show');
  if (dryRun && curl) throw new UsageError('--dry-run and --curl contradict each other: give one');
  if (curl) return 'curl';
  return dryRun ? 'urls' : undefined;
}

/** Twice as many as for pages, since the answer to a count holds a single event. */
export const COUNTS_AT_ONCE = 8;
export const GROUPS_SHOWN = 20;

/** Maximum buckets, since each costs two counts. */
export const MAX_BUCKETS = 500;
/** Calendar units, in milliseconds. */
export const BUCKET_UNITS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS } as const;
export type BucketUnit = keyof typeof BUCKET_UNITS;

function readBuckets(text: string): number | BucketUnit {
  const units = Object.keys(BUCKET_UNITS) as BucketUnit[];
  const unit = units.find((one) => [one, `${one}s`, one[0]].includes(text.trim().toLowerCase()));
  if (unit) return unit;
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_BUCKETS) return count;
  throw new UsageError(
    `--buckets: invalid value '${text}': must be hour, day, week or a whole number from 1 to ${MAX_BUCKETS}`,
    didYouMean(text, units, 'such as --buckets day'),
  );
}

export function addStatsFlags(command: Command): Command {
  return command
    .addOption(
      new Flag(
        '--buckets <number|unit>',
        `bars of the chart over time: hour, day, week, or a number of bars, 1 to ${MAX_BUCKETS}`,
        { preset: 'bars that begin on the clock, such as full hours' },
        readBuckets,
      ),
    )
    .addOption(concurrencyFlag(COUNTS_AT_ONCE));
}
