import { type Command, Option } from 'commander';
import { type Call, typedCommand } from '../../command.ts';
import type { Output } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { addFilterFlags, concurrencyFlag } from '../../events/event-filters.ts';
import { addFormatFlags, type EventFlags, eventOptions } from '../../output/format-flags.ts';
import { duration, durationText, fileName, flagWords, wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import { eventsText } from '../../terminal/terminal-text.ts';

interface Flags extends EventFlags {
  readonly interval?: number;
  readonly overlap?: number;
  readonly limit?: number;
  readonly count?: number;
  readonly timeout?: number;
  readonly state?: string;
}

const INTERVAL_MS = 15_000;
const OVERLAP_MS = 120_000;

export const commonFlags =
  '--failed --type --subscription --where --since --interval --count --timeout --state --ndjson';

export const help = `
Prints events created from now on by the service's clock, or after --since, each
once, oldest first, and ends at --until if given. An event that appears, or with
--failed turns FAILED, later than --overlap after its creation is not seen: give
a longer one if the service retries for longer. An outage is reported once on
standard error, and the events missed are printed afterwards. --json closes its
array when the watch ends; --jq runs on each event.

With --state the same command continues where it stopped, also after a crash: no
event is lost, and only those printed right before the crash can come again.
Without it Ctrl-C prints a command that resumes. In cron, add --until now: each
run prints what is new since the last one and ends; the first marks the place.

Examples:
  $ hooktrail events watch --failed
  $ hooktrail events watch --failed --overlap 1h --ndjson |
      while read -r event; do notify "$event"; done
  $ hooktrail events watch --failed --ndjson --state place.json >> log.ndjson
  $ hooktrail events watch --failed --overlap 1h --state f --until now --quiet
  $ hooktrail events watch --type document.signed --count 1 --timeout 5m`;

export function declare(command: Command): void {
  const addTime = (name: string, description: string, lowest: number) =>
    command.option(`${name} <time>`, description, duration(name, lowest));
  const back = 'how far each poll reaches back, for events that appear late';
  addFilterFlags(command);
  addTime('--interval', `time between two polls (default: ${durationText(INTERVAL_MS)})`, 1000);
  addTime('--overlap', `${back} (default: ${durationText(OVERLAP_MS)})`, 0);
  command
    .option('-n, --count <number>', 'end after this many events', wholeNumber('--count', 1))
    .addOption(
      new Option('--limit <number>', 'the same as --count').argParser(wholeNumber('--limit', 1)).hideHelp(),
    );
  addTime('--timeout', 'with --count: exit with 1 if they do not come within this time', 1000);
  command
    .option(
      '--state <file>',
      'keep the position in this file, so that each event is printed once across restarts',
      fileName('--state'),
    )
    .addOption(concurrencyFlag());
  addFormatFlags(command);
  addConnectionFlags(command);
}

/** The command line in its final form. */
async function optionsOf(call: Call<Flags>) {
  const { flags } = call;
  const { interval = INTERVAL_MS, overlap = OVERLAP_MS, timeout, state } = flags;
  const { filters, format, concurrency } = await eventOptions(call);
  const times = { interval: spelled(flags.interval), overlap: spelled(flags.overlap) };
  return {
    filters,
    // A jq program runs on each event.
    format: { ...format, format: format.jq === undefined ? format.format : ('ndjson' as const) },
    interval,
    overlap,
    concurrency,
    limit: limitOf(flags),
    timeout,
    state,
    isSampled: format.format === 'table' || format.format === 'markdown',
    resumeWords: flagWords({ ...flags, ...times, noHeader: flags.header === false || undefined }, KEPT),
  };
}

export async function run(call: Call<Flags>): Promise<void> {
  const options = await optionsOf(call);
  const { watchEvents } = await import('../../events/watch/watch-run.ts');
  const { createItemWriter } = await import('../../output/formats.ts');
  const { stdout } = call.context;
  // The next run prints a batch that has no room, and appends to the same file.
  const write: Output['write'] = (chunk) => stdout.write(chunk, true);
  const whole = { stdout: Object.assign(Object.create(stdout), { write }) };
  await watchEvents(options, call, (sample, constant, window) => {
    const facts = [window, options.filters.words('since', 'timezone').join(' ')].filter(Boolean);
    const note = (count: number) => ({ facts: [eventsText(count), ...facts], command: typedCommand(call) });
    return createItemWriter({ ...options.format, sample, constant, note }, whole, call.reporter);
  });
}

/** The number of events to print. Throws `UsageError` where the flags contradict each other. */
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

/** Flags that a resumed run is given again, beside the filters. */
const KEPT = [
  ...['interval', 'overlap', 'concurrency'],
  ...['output', 'json', 'ndjson', 'csv', 'csvRaw', 'noHeader', 'fields', 'jq'],
  ...['profile', 'baseUrl', 'vendor'],
];

function spelled(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : durationText(milliseconds);
}
