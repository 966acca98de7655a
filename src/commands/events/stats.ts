import { type Command, Option } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  addStatsFlags,
  eventFilters,
  type FilterFlags,
  type FromFlags,
  type StatsFlags,
  statsOptions,
} from '../../events/event-filters.ts';
import { type FieldPath, parseFieldPaths } from '../../json/item-fields.ts';
import {
  addOutputFileFlag,
  addPagerFlag,
  addSummaryFlags,
  type SummaryFlags,
  summaryFormat,
} from '../../output/format-flags.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FromFlags, StatsFlags, SummaryFlags, SettingFlags {
  readonly by?: readonly FieldPath[];
  readonly limit?: number;
}

const GROUPS = 20;
const FORMATS = ['table', 'json', 'csv', 'markdown'] as const;

export const commonFlags = [
  '--since',
  '--until',
  '--failed',
  '--type',
  '--subscription',
  '--where',
  '--by',
  '--json',
  '--from',
];

export function declare(command: Command, action: Action): void {
  addFilterFlags(command);
  addStatsFlags(command);
  addFromFlag(command);
  command
    .addOption(
      new Option(
        '--by <a,b.c>',
        'group the events by these fields instead, the largest groups first',
      ).argParser((text: string) => parseFieldPaths(text, '--by')),
    )
    .option(
      '-n, --limit <number>',
      `with --by: groups to show (default: ${GROUPS})`,
      wholeNumber('--limit', 1),
    );
  addSummaryFlags(command, FORMATS, {
    json: 'the same numbers as one JSON object',
    csv: 'the table of types, without the time line',
  });
  addPagerFlag(command);
  addOutputFileFlag(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Counts from --since to --until, by default the last 24 hours by the service's
clock. The service counts, so no events are downloaded, except for --by, --where
and --grep. Types are listed worst first, by the share of their events that
failed. Events of types that the service does not list are shown together as
(not listed), in JSON with the eventType null.

Examples:
  $ hooktrail events stats
  $ hooktrail events stats --since 7d --buckets 7 --type document.signed
  $ hooktrail events stats --failed --by delivery.lastError,eventType
  $ hooktrail events stats --jq '.types[] | select(.failed > 0) | .eventType'`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, context }: Call<Flags>, zone: TimeZone) {
  if (flags.limit !== undefined && !flags.by)
    throw new UsageError('--limit needs --by: the fields to group by');
  if (flags.buckets !== undefined && flags.by)
    throw new UsageError('--buckets divides time and --by groups by fields: give one of them');
  return {
    ...summaryFormat(flags, FORMATS),
    ...statsOptions(flags),
    filters: eventFilters(flags, context.clock.now(), zone),
    by: flags.by,
    /** Groups to show. */
    limit: flags.limit ?? GROUPS,
    from: flags.from,
  };
}

async function run(call: Call<Flags>): Promise<void> {
  const options = optionsOf(call, await loadTimeZone(call.flags, call.context));
  const { by, limit } = options;
  const [{ askGroups, askStats }, { printGroups, printStats }] = await Promise.all([
    import('../../events/stats.ts'),
    import('../../output/statistics-text.ts'),
  ]);
  if (by) {
    await printGroups(await askGroups(call, { ...options, by }), { ...options, limit }, call);
    return;
  }
  const { stats, name } = await askStats(call, options);
  if (stats.moved)
    call.reporter.warning(
      'events changed while they were counted: numbers may be off by these; run it again',
    );
  await printStats(stats, { ...options, name }, call);
}
