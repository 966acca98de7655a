import path from 'node:path';
import { type Command, Option } from 'commander';
import type { Action, Call } from '../../command.ts';
import type { Context } from '../../context.ts';
import { ClosedPipeError, ServiceError, UsageError } from '../../errors.ts';
import type { EventFilters } from '../../events/event-filters.ts';
import { addFilterFlags, eventFilters, type FilterFlags } from '../../events/event-flags.ts';
import type { WatchedItem } from '../../events/watch/watch-follower.ts';
import type { Service } from '../../http/service.ts';
import type { HeldLock } from '../../lock/lock.ts';
import { addFormatFlags, type FormatFlags, formatOptions } from '../../output/format-flags.ts';
import { flagWords, shellWord } from '../../settings/command-words.ts';
import { duration, durationText, fileName, wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import type { Instant } from '../../time/instant.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FormatFlags, SettingFlags {
  readonly interval?: number;
  readonly overlap?: number;
  readonly limit?: number;
  readonly count?: number;
  readonly timeout?: number;
  readonly state?: string;
  readonly concurrency?: number;
}

const INTERVAL = 15_000;
const OVERLAP = 120_000;
const CONCURRENCY = 4;

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option(
      '--interval <time>',
      `time between two polls (default: ${durationText(INTERVAL)})`,
      duration('--interval', 1000),
    )
    .option(
      '--overlap <time>',
      `how far each poll reaches back, for events that appear late (default: ${durationText(OVERLAP)})`,
      duration('--overlap', 0),
    )
    .option('--count <number>', 'end after this many events', wholeNumber('--count', 1))
    .addOption(
      new Option('-n, --limit <number>', 'the same as --count')
        .argParser(wholeNumber('--limit', 1))
        .hideHelp(),
    )
    .option(
      '--timeout <time>',
      'with --count: exit with 1 if they do not come within this time',
      duration('--timeout', 1000),
    )
    .option(
      '--state <file>',
      'keep the position in this file, so that each event is printed once across restarts',
      fileName('--state'),
    )
    .option(
      '--concurrency <number>',
      `pages requested at once, 1 to 16 (default: ${CONCURRENCY})`,
      wholeNumber('--concurrency', 1, 16),
    );
  addFormatFlags(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Prints events created from now on by the service's clock, or after --since, each
once, oldest first, and ends at --until if given. An event that appears, or with
--failed turns FAILED, later than --overlap after its creation is not seen: give
a longer one if the service retries for longer. An outage is reported once on
standard error, and the events missed are printed afterwards. --json closes its
array when the watch ends; --jq runs on each event.

With --state the same command continues where it stopped, also after a crash: no
event is lost, and only those printed right before the crash can come again.
Without it Ctrl-C prints a command that resumes.

Examples:
  $ hooktrail events watch --failed
  $ hooktrail events watch --failed --overlap 1h --ndjson |
      while read -r event; do notify "$event"; done
  $ hooktrail events watch --failed --ndjson --state place.json >> log.ndjson
  $ hooktrail events watch --type document.signed --count 1 --timeout 5m`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, context }: Call<Flags>, zone: TimeZone) {
  const format = formatOptions(flags, 'events');
  const { interval = INTERVAL, overlap = OVERLAP, concurrency = CONCURRENCY, timeout, state } = flags;
  return {
    filters: eventFilters(flags, context.clock.now(), zone),
    // A jq program runs on each event.
    format: { ...format, zone, format: format.jq === undefined ? format.format : ('ndjson' as const) },
    interval,
    overlap,
    concurrency,
    limit: limitOf(flags),
    timeout,
    /** The file that keeps the place. */
    state,
    /** The flags of a command that resumes this watch, beside the filters. */
    kept: flagWords({ ...flags, interval: spelled(flags.interval), overlap: spelled(flags.overlap) }, KEPT),
  };
}

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<void> {
  const { context } = call;
  const options = optionsOf(call, await loadTimeZone(call.flags, context));
  const { state: file } = options;
  if (file === undefined) return follow(options, call);
  const [{ withLock, whileHeld, LockedError }, { refusePlanted }] = await Promise.all([
    import('../../lock/lock.ts'),
    import('../../files/trusted-path.ts'),
  ]);
  refusePlanted(file, '--state', context.machine);
  let entered = false;
  try {
    const work = (lock: HeldLock) => {
      entered = true;
      return follow(options, { ...call, context: whileHeld(context, lock) });
    };
    await withLock(`watch ${path.resolve(file)}`, context, work, {
      patience: 0,
      subject: `the watch of ${file}`,
    });
  } catch (error) {
    if (entered || !(error instanceof LockedError)) throw error;
    throw new UsageError(`--state: another watch uses ${file}`, {
      details: error.holder ? [`process ${error.holder}`] : [],
      next: 'end it, or choose another file',
      cause: error,
    });
  }
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

async function follow(options: Options, call: Call<Flags>): Promise<void> {
  const { format, interval, overlap, concurrency, limit, timeout } = options;
  const { context, reporter } = call;
  const { withService } = await import('../../sign-in/session.ts');
  const { resolveTypes } = await import('../../events/event-types.ts');
  const { startFollowing, runWatch } = await import('../../events/watch/watch-run.ts');
  const { createItemWriter } = await import('../../output/create-item-writer.ts');
  const { clock } = context;
  await withService(call, async (service, settings) => {
    const filters = await resolveTypes(options.filters, service, settings, context);
    const saving = options.state === undefined ? undefined : await stateOf(options.state, service, filters);
    const deadline = startDeadline(timeout, context);
    const { signal } = deadline;
    const sampled = format.format === 'table' && context.stdout.isTerminal;
    const following = { overlap, concurrency, sampled, state: saving?.state, clock, signal, reporter };
    let printed = 0;
    try {
      const { follower, sample } = await startFollowing(service, filters, following);
      await saving?.file.save(follower.state);
      const writer = await createItemWriter(
        sampled ? { ...format, sample, constant: filters.constantFields } : format,
        context,
        reporter,
      );
      const from = saving?.state
        ? 'where it stopped'
        : `events created after ${filters.zone.shown(follower.resumeAt.text)}`;
      reporter.notice(`watching ${saving?.state ? 'from ' : ''}${from}, every ${durationText(interval)}`);
      const save = async () => saving?.file.save(follower.state);
      const onPrinted = async (items: readonly WatchedItem[]) => {
        await saving?.file.append(items);
        printed += items.length;
      };
      try {
        await runWatch({ follower, writer, interval, limit, clock, signal, reporter, save, onPrinted });
      } catch (error) {
        await writer.abort();
        if (!deadline.passed && !(context.signal.reason instanceof ClosedPipeError))
          tellHowToResume(options, follower.resumeAt, reporter);
        throw error;
      }
      await writer.end();
    } catch (error) {
      if (!deadline.passed || context.signal.aborted) throw error;
      throw new ServiceError(`${printed} of ${limit} events came within ${durationText(timeout ?? 0)}`);
    } finally {
      saving?.file.close();
      deadline.stop();
    }
  });
}

async function stateOf(file: string, service: Service, filters: EventFilters) {
  const { readWatchState, watchIdentity, WatchStateFile } = await import('../../events/watch/watch-state.ts');
  const identity = watchIdentity(service.baseUrl, filters);
  const state = await readWatchState(file, identity);
  return { state, file: new WatchStateFile(file, identity) };
}

/** Aborts `signal` when the time is over or the program has to end. */
function startDeadline(timeout: number | undefined, { clock, signal }: Context) {
  const over = new AbortController();
  const stopped = new AbortController();
  if (timeout !== undefined)
    clock.sleep(timeout, stopped.signal).then(
      () => over.abort(),
      () => undefined,
    );
  return {
    signal: AbortSignal.any([signal, over.signal]),
    get passed() {
      return over.signal.aborted;
    },
    stop: () => stopped.abort(),
  };
}

function tellHowToResume({ filters, state, kept }: Options, at: Instant, reporter: Reporter): void {
  if (state !== undefined) {
    reporter.notice('to resume: run the same command again');
    return;
  }
  const words = ['hooktrail', 'events', 'watch', '--since', at.text, ...filters.words('since')];
  reporter.notice(`to resume: ${[...words, ...kept.map(shellWord)].join(' ')}`);
  reporter.notice('events created since then may come again; --state FILE prints each once');
}

/** Flags that a resumed run is given again, beside the filters. */
const KEPT = [
  ...['interval', 'overlap', 'concurrency'],
  ...['output', 'json', 'ndjson', 'csv', 'csvRaw', 'fields', 'jq'],
  ...['profile', 'authUrl', 'baseUrl', 'clientId', 'vendor'],
];

function spelled(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : durationText(milliseconds);
}
