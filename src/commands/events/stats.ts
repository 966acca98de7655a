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
} from '../../events/event-flags.ts';
import type { EventGroups } from '../../events/group-events.ts';
import type { Stats } from '../../events/statistics.ts';
import type { StatsWindow } from '../../events/statistics-window.ts';
import type { Service } from '../../http/service.ts';
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
const FORMATS = ['table', 'json', 'csv'] as const;

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

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<void> {
  const options = optionsOf(call, await loadTimeZone(call.flags, call.context));
  const { filters, by, buckets, from } = options;
  const { context, reporter } = call;
  const { statsWindow } = await import('../../events/statistics-window.ts');
  // An invalid window is reported before any request is sent. The window is computed again from the service's clock.
  statsWindow(filters, context.clock.now());
  if (from !== undefined) {
    const { groupStored, tallyStored } = await import('../../events/stored-events.ts');
    const reading = { context, onDoubt: reporter.warning };
    if (by) await printGroups(await groupStored(from, filters, by, reading), options, call);
    else await print(await tallyStored(from, filters, buckets, reading), options, call);
    return;
  }
  if (by) {
    await printGroups(await group(options, by, call), options, call);
    return;
  }
  const stats = await gather(options, call);
  if (stats.moved)
    reporter.warning('events changed while they were counted: numbers may be off by these; run it again');
  await print(stats, options, call);
}

async function gather(options: Options, call: Call<Flags>): Promise<Stats> {
  const { withService } = await import('../../sign-in/session.ts');
  const { filters, buckets, concurrency } = options;
  const { context, reporter } = call;
  return withService(call, async (service, settings) => {
    const { statsWindow } = await import('../../events/statistics-window.ts');
    const { countQueries, gatherStats } = await import('../../events/statistics.ts');
    const { askEventTypes, eventTypeNames, keepEventTypes, warnOfUnlisted } = await import(
      '../../events/event-types.ts'
    );
    const { page, serviceTime } = await askEventTypes(service, context.clock);
    await keepEventTypes(page.items, settings, context);
    const window = statsWindow(filters, serviceTime ?? context.clock.now());
    if (filters.keep) {
      const { EventTally } = await import('../../events/tally-events.ts');
      const tally = new EventTally(window, buckets);
      for await (const { items } of await read(service, options, window, call)) tally.add(items);
      return tally.stats;
    }
    const types = filters.eventTypes.length > 0 ? null : eventTypeNames(page.items);
    const count = countQueries(service, concurrency, context, reporter);
    const stats = await gatherStats(window, types, buckets, count);
    if (stats.total === 0) warnOfUnlisted(filters, page.items, reporter);
    return stats;
  });
}

/** The events of the window, with progress. */
async function read(
  service: Service,
  { filters, concurrency }: Options,
  window: StatsWindow,
  { context, reporter }: Call,
) {
  const { readWithProgress } = await import('../../events/find-events.ts');
  return readWithProgress(service, filters, { concurrency, within: window }, context, reporter);
}

async function group(
  options: Options,
  fields: readonly FieldPath[],
  call: Call<Flags>,
): Promise<EventGroups> {
  const { withService } = await import('../../sign-in/session.ts');
  return withService(call, async (service) => {
    const { statsWindow } = await import('../../events/statistics-window.ts');
    const { askEventTypes } = await import('../../events/event-types.ts');
    const { EventGroups } = await import('../../events/group-events.ts');
    const { clock } = call.context;
    const { serviceTime } = await askEventTypes(service, clock);
    const window = statsWindow(options.filters, serviceTime ?? clock.now());
    const groups = new EventGroups(fields);
    for await (const { items } of await read(service, options, window, call)) groups.add(items);
    return groups;
  });
}

async function printGroups(
  groups: EventGroups,
  { filters, format, jq, limit }: Options,
  { context, reporter }: Call,
): Promise<void> {
  const { groupsCsv, groupsJson, groupsTable, otherGroups } = await import('../../output/groups-text.ts');
  const { stdout } = context;
  for (const { text } of groups.missing) reporter.warning(`--by: no event has the field '${text}'`);
  if (format === 'table')
    await stdout.write(await groupsTable(groups, limit, stdout, reporter, filters.zone));
  else if (format === 'csv') {
    await stdout.write(groupsCsv(groups, limit, stdout));
    const others = otherGroups(groups, limit);
    if (others !== undefined) reporter.notice(`not shown: ${others}`);
  } else {
    const { printJson } = await import('../../output/formats.ts');
    await printJson(groupsJson(groups, limit), jq, context, reporter);
  }
}

async function print(stats: Stats, { format, jq }: Options, { context, reporter }: Call): Promise<void> {
  const { stdout } = context;
  if (format === 'table') {
    const { statsText } = await import('../../output/statistics-text.ts');
    const { loadDraw } = await import('../../output/table.ts');
    const { loadWidths } = await import('../../terminal/cell-width.ts');
    const { paletteOf, takesUnicode } = await import('../../terminal/palette.ts');
    await loadWidths();
    const palette = await paletteOf(reporter.stdoutColor);
    const room = stdout.isTerminal ? stdout.columns : undefined;
    await stdout.write(
      statsText(stats, { room, unicode: takesUnicode(context), palette, draw: await loadDraw() }),
    );
    return;
  }
  const { statsCsv, statsJson } = await import('../../output/statistics-text.ts');
  if (format === 'csv') await stdout.write(statsCsv(stats, stdout));
  else {
    const { printJson } = await import('../../output/formats.ts');
    await printJson(statsJson(stats), jq, context, reporter);
  }
}
