import { type Command, Option } from 'commander';
import type { Call } from '../command.ts';
import { ExitCode, UsageError } from '../errors.ts';
import { addFilterFlags, addFromFlag } from '../filters/filter-flags.ts';
import { addPageFlags, addPreviewFlags, type PreviewFlags, previewForm } from '../filters/reading-flags.ts';
import { addListFlags, type EventFlags, eventOptions } from '../formats/format-flags.ts';
import { type NoteParts, tableNote } from '../formats/table-note.ts';
import type { Direction } from '../items/item-times.ts';
import { PAGE_SIZE } from '../paging/event-query.ts';
import { wholeNumber } from '../settings/flag-values.ts';

interface Flags extends EventFlags, PreviewFlags {
  readonly pageSize?: number;
  readonly limit?: number;
  readonly reverse?: boolean;
  readonly all?: true;
  readonly exitCode?: true;
}

/**
 * A person reads a table on a terminal: for more rows than this, a filter, a pipe or `--all` serves better.
 */
const TERMINAL_ROWS = 30;

export const commonFlags =
  '--since --until --failed --type --subscription --where --grep --limit --json --csv --fields --from';

export const examples = [
  'hooktrail events search --type document.signed --since 24h',
  'hooktrail events search --failed --since 7d --csv --output-file failed.csv',
  'hooktrail events search --failed --fields eventId --ndjson | wc -l',
];

export function declare(command: Command): void {
  addFilterFlags(command)
    .option('-n, --limit <number>', 'stop after this many events', wholeNumber('--limit', 1))
    .option('--reverse', 'the oldest first; with --limit the oldest ones')
    .addOption(new Option('--no-reverse', "the newest first, whatever the service's order").hideHelp())
    .option('--all', 'print every match on a terminal too, through the pager if they do not fit');
  addPageFlags(command).option('--exit-code', 'exit with 10 when anything matches');
  addListFlags(addFromFlag(addPreviewFlags(command)));
}

/** The command line in its final form. */
function optionsOf(call: Call<Flags>) {
  const { flags, context } = call;
  const options = eventOptions(call);
  if (flags.all && flags.limit !== undefined)
    throw new UsageError('--all and --limit contradict each other: give one');
  const isShown = options.format.format === 'table' && context.stdout.isTerminal;
  const isGlance = isShown && !flags.all && flags.limit === undefined;
  const direction: Direction = flags.reverse ? 'oldest first' : 'newest first';
  return {
    ...options,
    pageSize: flags.pageSize ?? PAGE_SIZE,
    preview: previewForm(flags),
    limit: isGlance ? TERMINAL_ROWS : flags.limit,
    isGlance,
    mustTell: flags.exitCode,
    noteOf: (parts: NoteParts) => tableNote(call, { ...parts, from: options.from }),
    direction: flags.reverse === undefined ? undefined : direction,
  };
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const options = optionsOf(call);
  const { searchEvents } = await import('./search-output.ts');
  const printed = await searchEvents(options, call);
  return call.flags.exitCode && printed > 0 ? ExitCode.matched : ExitCode.done;
}
