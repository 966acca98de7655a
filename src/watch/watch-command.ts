import { type Command, Option } from 'commander';
import { addCommandArgument, type Call } from '../command.ts';
import type { Output } from '../context.ts';
import { UsageError } from '../errors.ts';
import { addFilterFlags } from '../filters/filter-flags.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import {
  addFormatFlags,
  type EventFlags,
  eventOptions,
  FORMAT_FLAGS,
  typedFlags,
} from '../formats/format-flags.ts';
import { formatTraits } from '../formats/format-registry.ts';
import { tableNote } from '../formats/table-note.ts';
import { duration, fileName, wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import { shellText } from '../shell-words.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { durationText } from '../time/lengths.ts';
import type { RepeatedCommandOptions } from './command-runner.ts';
import { type RepeatedCommandFlags, repeatedCommandOf } from './repeated-command-flags.ts';
import type { EventWatchOptions, WriterParts } from './watch-run.ts';

interface Flags extends EventFlags, RepeatedCommandFlags {
  readonly interval?: number;
  readonly overlap?: number;
  readonly limit?: number;
  readonly count?: number;
  readonly timeout?: number;
  readonly state?: string;
}

const INTERVAL_MS = 15_000;
const OVERLAP_MS = 120_000;
/** Events printed before the place is saved. */
const PRINTED_TOGETHER = 500;

export const commonFlags =
  '--failed --type --subscription --where --since --interval --count --timeout --state --ndjson';

export const help = `
Prints events created from now on by the service's clock, or after --since, each
once, oldest first, and ends at --until if given. An event that appears, or with
--failed turns FAILED, later than --overlap after its creation is not seen: give
a longer one if the service retries for longer. An outage is reported once on
standard error, and the events missed are printed afterwards. --json closes its
array when the watch ends; --jq runs on each event.

With a COMMAND it prints nothing and runs the command for each event, without a
shell, one after the other: the event is its standard input, and the variables
HOOKTRAIL_EVENT_ID, _EVENT_TYPE, _EVENT_SUBSCRIPTION_ID, _EVENT_CREATED_ON and
_EVENT_PUBLISH_STATUS hold its known fields. An event is done when the command
exits with 0. Until then it is run again after growing pauses, without limit or
for --retry-for. After that the watch goes on, and exits with 1 in the end.
Ctrl-C and SIGTERM give the command 10 s to end.

With --state the same command continues where it stopped, also after a crash,
and misses no event. What was printed counts as done: if a pipe is killed,
events that its reader had not handled are not printed again. With a COMMAND an
event counts once the command has handled it. COMMAND must be idempotent: after
a crash it may run again for the last event, even while its old run goes on.
Without --state Ctrl-C prints a command that resumes. In cron, add --until now:
each run handles the events since the last one and ends; the first run only
marks the place.`;

export const examples = [
  'hooktrail events watch --failed',
  'hooktrail events watch --failed --overlap 1h --state f -- ./open-ticket',
  `hooktrail events watch --failed -- sh -c 'notify "$HOOKTRAIL_EVENT_TYPE"'`,
  'hooktrail events watch --failed --overlap 1h --state f --until now --quiet',
  'hooktrail events watch --type document.signed --count 1 --timeout 5m',
];

export function declare(command: Command): void {
  const addTime = (name: string, description: string, lowest: number, preset?: string) =>
    command.addOption(new Flag(`${name} <time>`, description, { preset }, duration(name, lowest)));
  const back = 'how far each poll reaches back, for events that appear late';
  addCommandArgument(command, 'a command to run for each event, after --');
  addFilterFlags(command);
  addTime('--interval', 'time between two polls', 1000, durationText(INTERVAL_MS));
  addTime('--overlap', back, 0, durationText(OVERLAP_MS));
  command
    .option('-n, --count <number>', 'end after this many events', wholeNumber('--count', 1))
    .addOption(
      new Option('--limit <number>', 'the same as --count').argParser(wholeNumber('--limit', 1)).hideHelp(),
    );
  addTime('--timeout', 'exit with 1 if --count is not reached within this time', 1000);
  command
    .option(
      '--state <file>',
      'keep the position in this file, and continue from it after a restart',
      fileName('--state'),
    )
    .addOption(
      new Flag(
        '--retry-for <time>',
        'with a command: give up an event when it has failed for this time',
        { preset: 'never' },
        duration('--retry-for', 0),
      ),
    )
    .addOption(concurrencyFlag());
  addFormatFlags(command);
  addConnectionFlags(command);
}

function optionsOf(call: Call<Flags>) {
  const { flags, args: words } = call;
  const { interval = INTERVAL_MS, overlap = OVERLAP_MS, timeout, state } = flags;
  const command = repeatedCommandOf(call, 'event');
  if (command) refuseFormat(flags);
  const { filters, format, concurrency } = eventOptions(call);
  const times = { interval: spelled(flags.interval), overlap: spelled(flags.overlap) };
  const kept = { ...flags, ...times, retryFor: spelled(flags.retryFor) };
  const resumeFlags = typedFlags(kept, KEPT);
  const isTable = formatTraits(format.format).isForPeople === true;
  const watch: EventWatchOptions = {
    filters,
    interval,
    overlap,
    concurrency,
    limit: limitOf(flags),
    timeout,
    state,
    isSampled: isTable && !command,
    resumeWords: command ? [...resumeFlags, '--', ...words] : resumeFlags,
    batch: command ? 1 : PRINTED_TOGETHER,
    done: command ? 'were handled' : 'came',
  };
  return {
    watch,
    // A jq program runs on each event.
    format: { ...format, format: format.jq === undefined ? format.format : ('ndjson' as const) },
    command,
  };
}

/** Throws `UsageError` for a flag about printing: with a command nothing is printed. */
function refuseFormat(flags: Flags): void {
  const [flag] = typedFlags(flags);
  if (flag !== undefined)
    throw new UsageError(`${flag} and a command contradict each other: nothing is printed`, {
      next: `leave ${flag} out; the command gets each event as JSON on its standard input`,
    });
}

export async function run(call: Call<Flags>): Promise<void> {
  const options = optionsOf(call);
  if (options.command) await runForEach(options.command, options.watch, call);
  else await printEach(options, call);
}

async function printEach({ watch, format }: ReturnType<typeof optionsOf>, call: Call<Flags>): Promise<void> {
  const { watchEvents } = await import('./watch-run.ts');
  const { createItemWriter } = await import('../formats/item-writer.ts');
  const { stdout } = call.context;
  // If a batch could not be printed whole, the next run prints it again, into the same file.
  const write: Output['write'] = (chunk) => stdout.write(chunk, true);
  const whole = { ...call.context, stdout: Object.assign(Object.create(stdout), { write }) };
  await watchEvents(watch, call, ({ sample, names, constant, window, start }: WriterParts) => {
    const facts = [window, shellText(watch.filters.words('since', 'timezone'))].filter(Boolean);
    const note = (count: number) =>
      tableNote(call, { facts: [eventsText(count), ...facts], window: { after: start } });
    return createItemWriter({ ...format, sample, names, constant, note, isLive: true }, whole, call.reporter);
  });
}

async function runForEach(
  options: RepeatedCommandOptions,
  watch: EventWatchOptions,
  call: Call<Flags>,
): Promise<void> {
  const { watchEvents } = await import('./watch-run.ts');
  const { EventCommand } = await import('./event-command.ts');
  const { requireProgram } = await import('./command-runner.ts');
  const { context, reporter } = call;
  await requireProgram(options.words[0] as string, context);
  const command = new EventCommand(options, context, reporter);
  await watchEvents(watch, call, async ({ signal }: WriterParts) => ({
    write: (event) => command.handle(event, signal),
  }));
  command.requireAllHandled();
}

/** Returns the number of events to print. Throws `UsageError` for contradicting flags. */
function limitOf({ count, limit, timeout }: Flags): number {
  if (count !== undefined && limit !== undefined)
    throw new UsageError('--count and --limit mean the same: give one of them');
  const number = count ?? limit;
  if (timeout !== undefined && number === undefined) {
    throw new UsageError('--timeout needs --count: the number of events to wait for', {
      next: 'add --count 1 to wait for one event',
    });
  }
  return number ?? Number.POSITIVE_INFINITY;
}

/** Flags of the command that resumes. The output that it continues has its byte order mark. */
const KEPT = [
  ...['interval', 'overlap', 'concurrency', 'retryFor'],
  ...FORMAT_FLAGS.filter((name) => name !== 'csvBom'),
  ...['profile', 'baseUrl', 'vendor'],
];

function spelled(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : durationText(milliseconds);
}
