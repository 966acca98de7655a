import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';
import { FORMAT_NAMES } from '../formats/format-registry.ts';
import { type FieldPath, parseFieldPath, parseFieldPaths } from '../items/field-path.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import type { Division } from './buckets.ts';
import { addStatsFlags, COUNTS_AT_ONCE, GROUPS_SHOWN } from './stats-flags.ts';

interface Flags extends EventFlags {
  readonly buckets?: Division;
  readonly by?: readonly FieldPath[];
  readonly limit?: number;
  readonly percentiles?: FieldPath;
}

/** A summary is not a list, so it has no lines of JSON. */
const FORMATS = FORMAT_NAMES.filter((name) => name !== 'ndjson');
const GROUP_FORMATS = [...FORMATS, 'ndjson'] as const;

export const commonFlags =
  '--since --until --failed --type --subscription --where --by --percentiles --json --from';

export const help = `
Counts from --since to --until, by default the last 24 hours by the service's
clock, or with --from all events. The service counts, so no events are
downloaded, except for --by, --where and --grep. Types are listed worst first,
by the lower bound of the failure rate: 40 of 50 comes before 1 of 1. Events of
types that the service does not list are shown together as (not listed), in JSON
with the eventType null. --percentiles prints the median, the 95th and the 99th
percentile and the maximum of a number, for all events, by group, or over time
with --buckets. Tables by createdOn:hour or createdOn:weekday are in the order
of the clock.`;

export const examples = [
  'hooktrail events stats',
  'hooktrail events stats --since 7d --buckets day --type document.signed',
  'hooktrail events stats --failed --by eventData.topicVersion,eventType',
  'hooktrail events stats --percentiles delivery.durationMs --by eventType',
  "hooktrail events stats --jq '.types[] | select(.failed > 0) | .eventType'",
];

export function declare(command: Command): void {
  addStatsFlags(command)
    .option(
      '--by <a,b.c>',
      'group the events by these fields instead, the largest groups first; a[] is every element of a list',
      (text) => parseFieldPaths(text, '--by'),
    )
    .option(
      '--percentiles <path>',
      'p50, p95, p99 and the maximum of this number instead, by group with --by, over time with --buckets',
      (text) => parseFieldPath(text, '--percentiles'),
    )
    .addOption(
      new Flag(
        '-n, --limit <number>',
        'with --by: groups to show in a table on a terminal; other outputs have all of them',
        { preset: GROUPS_SHOWN },
        wholeNumber('--limit', 1),
      ),
    );
  addSummaryFlags(command, GROUP_FORMATS, {
    json: 'the same numbers as one JSON object',
    ndjson: 'with --by or --percentiles: one JSON object per group',
    csv: 'the table of types, without the chart over time',
  });
}

export async function run(call: Call<Flags>): Promise<void> {
  const { by, percentiles, buckets, limit, concurrency = COUNTS_AT_ONCE } = call.flags;
  checkFlags(call.flags);
  const isGrouped = by !== undefined || percentiles !== undefined;
  const options = { ...summaryOptions(call, isGrouped ? GROUP_FORMATS : FORMATS), concurrency };
  if (!isGrouped) return await printCounts(call, options);
  if (percentiles && buckets !== undefined) {
    const { askOverTime, printOverTime } = await import('./percentiles-over-time.ts');
    const asked = await askOverTime(call, { ...options, percentiles, buckets });
    return await printOverTime(asked, options, call);
  }
  const [{ askGroups }, { printGroups }] = await Promise.all([
    import('./stats.ts'),
    import('./groups-text.ts'),
  ]);
  const asked = await askGroups(call, { ...options, by: by ?? [], percentiles });
  await printGroups(asked, { ...options, limit }, call);
}

function checkFlags({ by, percentiles, limit, buckets, ndjson, output }: Flags): void {
  if (limit !== undefined && !by) throw new UsageError('--limit needs --by: the fields to group by');
  const asksNdjson = ndjson || output?.toLowerCase() === 'ndjson';
  if (asksNdjson && !by && !percentiles)
    throw new UsageError(`${ndjson ? '--ndjson' : '--output ndjson'} needs --by: the fields to group by`, {
      next: 'add --by, or take --json for the numbers of all types',
    });
  if (buckets !== undefined && by)
    throw new UsageError('--buckets divides time and --by groups by fields: give one of them');
}

async function printCounts(call: Call<Flags>, options: ReturnType<typeof summaryOptions>): Promise<void> {
  const [{ askStats }, { printStats }] = await Promise.all([import('./stats.ts'), import('./stats-text.ts')]);
  const { stats, ...asked } = await askStats(call, { ...options, buckets: call.flags.buckets });
  if (stats.moved)
    call.reporter.warning(
      'events changed while they were counted: numbers may be off by these; run it again',
      { kind: 'incomplete' },
    );
  await printStats(stats, { ...options, ...asked }, call);
}
