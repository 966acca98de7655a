import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { ExitCode, UsageError } from '../errors.ts';
import { addFilterFlags, addFromFlag } from '../filters/filter-flags.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addListFlags, choosesFormat, type EventFlags, eventOptions } from '../formats/format-flags.ts';
import { formatTraits } from '../formats/format-registry.ts';
import { tableNote } from '../formats/table-note.ts';
import { idsOfArguments, noIds } from '../ids/event-ids.ts';
import { eventsText } from '../terminal/terminal-text.ts';

/** Rows whose columns are laid out together. */
const BATCH = 500;

export const commonFlags = '--json --ndjson --fields --jq --from --output-file';

export const help = `
Without a format, one id on a terminal is printed as indented JSON; several ids,
or piped output, as a table. Events are printed in the order of the given ids,
and twice for an id given twice. If an id is not found, or the filters leave it
out, it is named on standard error and the exit code is 3. Standard input may
hold ids one a line, or events as the other commands print them.`;

export const examples = [
  'hooktrail events get 0f8fad5b-d9cb-469f-a165-70867728950e',
  'hooktrail events get 0f8fad5b-d9cb-469f-a165-70867728950e --fields delivery',
  'hooktrail events get - --ndjson --output-file events.ndjson < failed.csv',
];

export function declare(command: Command): void {
  command.argument('[eventId...]', 'event ids; - or none: read from standard input');
  addFilterFlags(command).addOption(concurrencyFlag());
  addListFlags(addFromFlag(command));
}

function optionsOf(call: Call<EventFlags>) {
  const { flags, args, context } = call;
  const { id: asked = [], ...others } = flags;
  const options = eventOptions({ ...call, flags: others });
  const { format } = options;
  const given = [...args, ...asked];
  const isFromInput = given.length === 0 || (given.length === 1 && given[0] === '-');
  if (given.length === 0 && context.stdin.isTerminal) throw noIds();
  if (isFromInput && flags.from === '-')
    throw new UsageError('standard input cannot hold both the ids and, by --from -, the events', {
      next: 'give the ids as arguments, or the events as a file',
    });
  const ids = isFromInput ? undefined : idsOfArguments(given, flags.from);
  const hasFormat = choosesFormat(flags) || flags.jq !== undefined;
  const isPretty = ids?.length === 1 && context.stdout.isTerminal && !hasFormat;
  const isTable = format.format === 'table' && format.jq === undefined;
  return {
    ...options,
    format: {
      ...format,
      format: isPretty ? ('pretty' as const) : format.format,
      note: (count: number) => tableNote(call, { facts: [eventsText(count)], from: flags.from }),
      hasBlocks: !flags.fields,
      isById: true,
    },
    ids,
    mayBeEmpty: given[0] === '-',
    isForPeople: isTable,
    takesNames: isTable && !isPretty && !format.fields,
    batch: formatTraits(format.format).hasColumns ? BATCH : 1,
  };
}

export async function run(call: Call<EventFlags>): Promise<ExitCode> {
  const { context, reporter } = call;
  const options = optionsOf(call);
  if (!options.ids && context.stdin.isTerminal)
    reporter.notice('reading event ids from the terminal, one per line');
  const { getEvents } = await import('./get-events.ts');
  const missing = await getEvents(options, call);
  return missing > 0 ? ExitCode.notFound : ExitCode.done;
}
