import { type Command, Option } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ExitCode, UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  addPageFlags,
  addPreviewFlags,
  eventFilters,
  type FilterFlags,
  type FromFlags,
  type PageFlags,
  type PreviewFlags,
  pageOptions,
  previewForm,
} from '../../events/event-filters.ts';
import type { Direction } from '../../json/item-fields.ts';
import {
  addFormatFlags,
  addOutputFileFlag,
  addPagerFlag,
  eventFormat,
  type FormatFlags,
  type FormatOptions,
} from '../../output/format-flags.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FromFlags, PageFlags, PreviewFlags, FormatFlags, SettingFlags {
  readonly limit?: number;
  readonly reverse?: boolean;
  readonly all?: true;
  readonly exitCode?: true;
}

/** A person reads a table on a terminal: for more rows than this, a filter, a pipe or `--all` serves better. */
const TERMINAL_ROWS = 30;

export const commonFlags = [
  '--since',
  '--until',
  '--failed',
  '--type',
  '--subscription',
  '--where',
  '--grep',
  '--limit',
  '--json',
  '--csv',
  '--fields',
  '--from',
];

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option('-n, --limit <number>', 'stop after this many events', wholeNumber('--limit', 1))
    .option('--reverse', 'the oldest first; with --limit the oldest ones')
    .addOption(new Option('--no-reverse', "the newest first, whatever the service's order").hideHelp())
    .option('--all', 'print every match on a terminal too, through the pager if they do not fit');
  addPagerFlag(command);
  addPageFlags(command).option('--exit-code', 'exit with 10 when anything matches');
  addPreviewFlags(command);
  addFromFlag(command);
  addFormatFlags(command);
  addOutputFileFlag(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail events search --type document.signed --since 24h
  $ hooktrail events search --failed --since 7d --csv --output-file failed.csv
  $ hooktrail events search --failed --fields eventId --ndjson | wc -l`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, context }: Call<Flags>, zone: TimeZone, format: FormatOptions) {
  if (flags.all && flags.limit !== undefined)
    throw new UsageError('--all and --limit contradict each other: give one');
  const preview = previewForm(flags);
  const filters = eventFilters(flags, context.clock.now(), zone);
  const isShown = format.format === 'table' && context.stdout.isTerminal;
  const isGlance = isShown && !flags.all && flags.limit === undefined;
  return {
    preview,
    from: flags.from,
    filters,
    format,
    ...pageOptions(flags),
    limit: isGlance ? TERMINAL_ROWS : flags.limit,
    isGlance,
    direction: directionOf(flags),
    exitCode: flags.exitCode === true,
  };
}

function directionOf({ reverse }: Flags): Direction | undefined {
  if (reverse === undefined) return undefined;
  return reverse ? 'oldest first' : 'newest first';
}

async function run(call: Call<Flags>): Promise<ExitCode> {
  const { flags, context } = call;
  const options = optionsOf(call, await loadTimeZone(flags, context), await eventFormat(flags, context));
  const { searchEvents } = await import('../../output/search-output.ts');
  const printed = await searchEvents(options, call);
  return options.exitCode && printed > 0 ? ExitCode.matched : ExitCode.done;
}
