import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ExitCode, UsageError } from '../../errors.ts';
import type { EventFilters } from '../../events/event-filters.ts';
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
} from '../../events/event-flags.ts';
import type { FoundPage } from '../../events/merge-pages.ts';
import { isGuid } from '../../json/guid.ts';
import {
  addFormatFlags,
  addOutputFileFlag,
  type FormatFlags,
  formatOptions,
} from '../../output/format-flags.ts';
import type { Search } from '../../output/print-search.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FromFlags, PageFlags, PreviewFlags, FormatFlags, SettingFlags {
  readonly limit?: number;
  readonly reverse?: true;
  readonly all?: true;
  readonly pager: boolean;
  readonly exitCode?: true;
}

/** A person reads a table on a terminal: for more rows than this, a filter, a pipe or `--all` serves better. */
const TERMINAL_ROWS = 30;

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option('-n, --limit <number>', 'stop after this many events', wholeNumber('--limit', 1))
    .option('--reverse', 'the oldest first; with --limit the oldest ones')
    .option('--all', 'print every match on a terminal too, through the pager if they do not fit')
    .option('--no-pager', 'print to the terminal itself [HOOKTRAIL_PAGER, PAGER]');
  addPageFlags(command).option('--exit-code', 'exit with 10 when anything matches');
  addPreviewFlags(command);
  addFromFlag(command);
  addFormatFlags(command);
  addOutputFileFlag(command);
  addConnectionFlags(command)
    .allowExcessArguments()
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
function optionsOf({ flags, args, context }: Call<Flags>, zone: TimeZone) {
  if (args.length > 0) throw wordsInSearch(args, flags);
  if (flags.all && flags.limit !== undefined)
    throw new UsageError('--all and --limit contradict each other: give one');
  const preview = previewForm(flags);
  const filters = eventFilters(flags, context.clock.now(), zone);
  const format = formatOptions(flags, 'events');
  const isShown = format.format === 'table' && context.stdout.isTerminal;
  const isGlance = isShown && !flags.all && flags.limit === undefined;
  return {
    preview,
    from: flags.from,
    filters,
    format,
    ...pageOptions(flags),
    limit: isGlance ? TERMINAL_ROWS : flags.limit,
    /** True if the limit is the default for a terminal, and nobody asked for it. */
    isGlance,
    isPaged: flags.pager && !isGlance,
    direction: flags.reverse ? ('oldest first' as const) : undefined,
    exitCode: flags.exitCode === true,
  };
}

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<ExitCode> {
  const options = optionsOf(call, await loadTimeZone(call.flags, call.context));
  const { preview, filters, pageSize, limit, isGlance } = options;
  if (preview) {
    const { previewRequests } = await import('../../events/request-preview.ts');
    const size = isGlance ? pageSize : Math.min(pageSize, limit ?? pageSize);
    await previewRequests(call, filters, size, preview);
    return ExitCode.done;
  }
  const found = await search(options, call);
  return options.exitCode && found.printed > 0 ? ExitCode.matched : ExitCode.done;
}

/** A search takes no arguments: the error names the flags that take them. */
function wordsInSearch(args: readonly string[], flags: Flags): UsageError {
  const [word = ''] = args;
  const next = args.every(isGuid)
    ? `\`hooktrail events get ${args.join(' ')}\` prints events by their ids`
    : flags.json && /^[\w.-]+(,[\w.-]+)*$/.test(word)
      ? `--json takes no value; fields are chosen with --fields ${word}`
      : 'events are chosen by filters: see `hooktrail help filters`';
  return new UsageError(`events search takes no words, but was given '${word}'`, { next });
}

type Find = Search['find'];

interface Found {
  readonly printed: number;
  /** The number of all matching events, if the service gives it. */
  readonly total: number | undefined;
  readonly more: boolean;
}

async function search(options: Options, call: Call<Flags>): Promise<Found> {
  const { context, reporter } = call;
  const { clock, signal } = context;
  const { from, filters, format, limit, pageSize, concurrency, isGlance, isPaged, direction } = options;
  const { searchAll } = await import('../../output/print-search.ts');
  const printing = { filters, limit, format, context, reporter, isPaged };
  const tellMore = (found: Found) => {
    if (!isGlance || !found.more) return;
    const all = found.total === undefined ? 'more' : `${found.total}`;
    reporter.notice(`the first ${found.printed} of ${all} events; --all prints all of them`);
  };
  if (from !== undefined) {
    const { storedEvents } = await import('../../events/stored-events.ts');
    const { readInDirection } = await import('../../events/find-events.ts');
    const find: Find = ({ onDoubt }) => {
      const read = (limit: number) => storedEvents(from, filters, { limit, context, onDoubt });
      const most = limit ?? Number.POSITIVE_INFINITY;
      return direction ? readInDirection(read, direction, most) : read(most);
    };
    const found = await searchAll({ ...printing, find });
    tellMore(found);
    return found;
  }
  const { withService } = await import('../../sign-in/session.ts');
  const { findEvents } = await import('../../events/find-events.ts');
  const { resolveTypes, warnOfTypes } = await import('../../events/event-types.ts');
  return withService(call, async (service, settings) => {
    const isTable = format.format === 'table';
    const hints = isTable ? await hintsFor(call, filters) : undefined;
    const reading = { direction, limit, pageSize, concurrency, clock, signal };
    const chosen = await resolveTypes(filters, service, settings, context);
    const find: Find = (watching) => askedAtOnce(findEvents(service, chosen, { ...reading, ...watching }));
    const found = await searchAll({ ...printing, filters: chosen, find, onItems: hints?.see });
    tellMore(found);
    if (found.printed === 0) {
      await warnOfTypes(chosen, service, context, reporter);
    }
    hints?.tell();
    return found;
  });
}

/** Asks for the first page at once, so that the code that prints it is loaded while the service answers. */
function askedAtOnce(pages: AsyncGenerator<FoundPage>): AsyncIterable<FoundPage> {
  const first = pages.next();
  // A failure is thrown to the reader of the pages.
  first.catch(() => undefined);
  return (async function* () {
    try {
      const { done, value } = await first;
      if (done) return;
      yield value;
      yield* pages;
    } finally {
      await pages.return(undefined);
    }
  })();
}

async function hintsFor(call: Call<Flags>, filters: EventFilters) {
  if (!call.context.stdout.isTerminal) return undefined;
  const { searchHints } = await import('../../events/search-hints.ts');
  return searchHints(call, filters);
}
