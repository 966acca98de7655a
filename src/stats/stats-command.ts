import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addStatsFlags, COUNTS_AT_ONCE, GROUPS_SHOWN } from '../filters/event-filters.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';
import { type FieldPath, parseFieldPaths } from '../items/item-fields.ts';
import { Flag, wholeNumber } from '../settings/flags.ts';

interface Flags extends EventFlags {
  readonly buckets?: number;
  readonly by?: readonly FieldPath[];
  readonly limit?: number;
}

const FORMATS = ['table', 'json', 'csv', 'markdown'] as const;
/** Groups are many things, of which each can have a line. */
const GROUP_FORMATS = [...FORMATS, 'ndjson'] as const;

export const commonFlags = '--since --until --failed --type --subscription --where --by --json --from';

export const help = `
Counts from --since to --until, by default the last 24 hours by the service's
clock. The service counts, so no events are downloaded, except for --by, --where
and --grep. Types are listed worst first, by the least share of failures that
their numbers prove: 40 of 50 stand before 1 of 1. Events of types that the
service does not list are shown together as (not listed), in JSON with the
eventType null.

Examples:
  $ hooktrail events stats
  $ hooktrail events stats --since 7d --buckets 7 --type document.signed
  $ hooktrail events stats --failed --by eventData.topicVersion,eventType
  $ hooktrail events stats --jq '.types[] | select(.failed > 0) | .eventType'`;

export function declare(command: Command): void {
  addStatsFlags(command)
    .option('--by <a,b.c>', 'group the events by these fields instead, the largest groups first', (text) =>
      parseFieldPaths(text, '--by'),
    )
    .addOption(
      new Flag(
        '-n, --limit <number>',
        'with --by: groups to show; CSV and NDJSON have all of them',
        { preset: GROUPS_SHOWN },
        wholeNumber('--limit', 1),
      ),
    );
  addSummaryFlags(command, GROUP_FORMATS, {
    json: 'the same numbers as one JSON object',
    ndjson: 'with --by: one JSON object per group',
    csv: 'the table of types, without the time line',
  });
}

export async function run(call: Call<Flags>): Promise<void> {
  const { by, limit, buckets, ndjson, output, concurrency = COUNTS_AT_ONCE } = call.flags;
  if (limit !== undefined && !by) throw new UsageError('--limit needs --by: the fields to group by');
  if (!by && (ndjson || output?.toLowerCase() === 'ndjson'))
    throw new UsageError(`${ndjson ? '--ndjson' : '--output ndjson'} needs --by: the fields to group by`, {
      next: 'add --by, or take --json for the numbers of all types',
    });
  if (buckets !== undefined && by)
    throw new UsageError('--buckets divides time and --by groups by fields: give one of them');
  const options = { ...(await summaryOptions(call, by ? GROUP_FORMATS : FORMATS)), buckets, concurrency };
  const [{ askGroups, askStats }, { printGroups, printStats }] = await Promise.all([
    import('./stats.ts'),
    import('./statistics-text.ts'),
  ]);
  if (by) return await printGroups(await askGroups(call, { ...options, by }), { ...options, limit }, call);
  const { stats, ...asked } = await askStats(call, options);
  if (stats.moved)
    call.reporter.warning(
      'events changed while they were counted: numbers may be off by these; run it again',
    );
  await printStats(stats, { ...options, ...asked }, call);
}
