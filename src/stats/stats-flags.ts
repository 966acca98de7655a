import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { Flag } from '../settings/flags.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import { DAY_MS, HOUR_MS } from '../time/lengths.ts';

/** Groups in a table on a terminal, unless `--limit` is given. */
export const GROUPS_SHOWN = 20;

/** Twice as many as for pages, since the answer to a count holds a single event. */
export const COUNTS_AT_ONCE = 8;

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
