import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ExitCode, UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  eventFilters,
  type FilterFlags,
  type FromFlags,
} from '../../events/event-flags.ts';
import { getAll, getStored, idsOfArguments, idsOfLines } from '../../events/get/get-events.ts';
import {
  addFormatFlags,
  addOutputFileFlag,
  type FormatFlags,
  formatOptions,
} from '../../output/format-flags.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FromFlags, FormatFlags, SettingFlags {
  readonly concurrency?: number;
}

const CONCURRENCY = 4;
/** Rows whose columns are laid out together. */
const BATCH = 500;

export function declare(command: Command, action: Action): void {
  command.argument(
    '[eventId...]',
    'event ids; with - or none they are read from standard input, one per line',
  );
  addFilterFlags(command).option(
    '--concurrency <number>',
    `events requested at once, 1 to 16 (default: ${CONCURRENCY})`,
    wholeNumber('--concurrency', 1, 16),
  );
  addFromFlag(command);
  addFormatFlags(command);
  addOutputFileFlag(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Without a format, one id on a terminal is printed as indented JSON; several ids,
or piped output, as a table. Events are printed in the order of the given ids,
and twice for an id given twice. If an id is not found, or the filters leave it
out, it is named on standard error and the exit code is 3.

Examples:
  $ hooktrail events get 0f8fad5b-d9cb-469f-a165-70867728950e
  $ hooktrail events get 0f8fad5b-d9cb-469f-a165-70867728950e --fields delivery
  $ hooktrail events get - --ndjson --output-file events.ndjson < ids.txt`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, args, context }: Call<Flags>, zone: TimeZone) {
  if (flags.id) throw new UsageError('--id: this command takes event ids as arguments');
  const filters = eventFilters(flags, context.clock.now(), zone);
  const format = { ...formatOptions(flags, 'events'), zone };
  if (args.length === 0 && context.stdin.isTerminal) throw noIds();
  const fromInput = args.length === 0 || (args.length === 1 && args[0] === '-');
  const ids = fromInput ? [] : idsOfArguments(args);
  if (fromInput && flags.from === '-')
    throw new UsageError('standard input cannot hold both the ids and, by --from -, the events', {
      next: 'give the ids as arguments, or the events as a file',
    });
  return {
    filters,
    format,
    /** Undefined if the ids are read from standard input. */
    ids: fromInput ? undefined : ids,
    /** True if standard input is read only because no id was given. */
    isImplied: args.length === 0,
    isPretty: ids.length === 1 && context.stdout.isTerminal && !isFormatted(flags),
    from: flags.from,
    concurrency: flags.concurrency ?? CONCURRENCY,
  };
}

async function run(call: Call<Flags>): Promise<ExitCode> {
  const { filters, format, ids, isImplied, isPretty, from, concurrency } = optionsOf(
    call,
    await loadTimeZone(call.flags, call.context),
  );
  const { context, reporter } = call;
  const { withService } = await import('../../sign-in/session.ts');
  if (!ids && context.stdin.isTerminal) reporter.notice('reading event ids from the terminal, one per line');

  const source = (ending: AbortSignal) => {
    if (ids) return each(ids);
    const lines = idsOfLines(context.stdin.lines(), ending);
    return isImplied ? atLeastOne(lines) : lines;
  };
  const batch = format.format === 'table' || format.format === 'csv' ? BATCH : 1;
  const printing = async () => {
    const { createItemWriter } = await import('../../output/create-item-writer.ts');
    const writer = isPretty ? await prettyWriter(call) : await createItemWriter(format, context, reporter);
    return { writer, batch, context, reporter };
  };
  if (from !== undefined) {
    const { storedEvents } = await import('../../events/stored-events.ts');
    const stored = storedEvents(from, filters, { context, onDoubt: reporter.warning });
    const missing = await getStored(source, stored, await printing());
    return missing > 0 ? ExitCode.notFound : ExitCode.done;
  }
  const { resolveTypes } = await import('../../events/event-types.ts');
  const missing = await withService(call, async (service, settings) => {
    const chosen = await resolveTypes(filters, service, settings, context);
    return getAll(source, { service, filters: chosen, ...(await printing()) }, concurrency);
  });
  return missing > 0 ? ExitCode.notFound : ExitCode.done;
}

function isFormatted({ output, json, ndjson, csv, fields, jq }: Flags): boolean {
  return [output, json, ndjson, csv, fields, jq].some((flag) => flag !== undefined);
}

async function prettyWriter({ context, reporter }: Call) {
  const { createPrettyWriter } = await import('../../output/pretty-json.ts');
  const { paletteOf } = await import('../../terminal/palette.ts');
  return createPrettyWriter(context.stdout, await paletteOf(reporter.stdoutColor));
}

/** Fails on an empty standard input: a call without arguments may not have meant it. */
async function* atLeastOne(ids: AsyncIterable<string>): AsyncGenerator<string> {
  let isEmpty = true;
  for await (const id of ids) {
    isEmpty = false;
    yield id;
  }
  if (isEmpty) throw noIds();
}

function noIds(): UsageError {
  return new UsageError('an event id is missing', {
    next: 'give one or more ids, or - to read them from standard input, one per line',
  });
}

async function* each(ids: readonly string[]): AsyncGenerator<string> {
  yield* ids;
}
