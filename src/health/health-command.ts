import type { Command } from 'commander';
import { addCommandArgument, type Call, typedWords } from '../command.ts';
import { ExitCode, UsageError } from '../errors.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions, typedFlags } from '../formats/format-flags.ts';
import { FORMAT_NAMES } from '../formats/format-registry.ts';
import { type FieldPath, parseFieldPaths } from '../items/field-path.ts';
import type { Health } from '../questions/health-row.ts';
import { duration, fileName, oneOf, wholeNumber } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import { durationMs, durationText } from '../time/lengths.ts';
import { refuseStatuses, SUBSCRIPTION } from './health-subject.ts';

interface WatchFlags {
  readonly watch?: true;
  readonly interval?: number;
  readonly overlap?: number;
  readonly state?: string;
  readonly afterFailures?: number;
  readonly remind?: number;
  readonly check?: true;
  readonly retryFor?: number;
}

interface Flags extends EventFlags, WatchFlags {
  readonly by?: readonly FieldPath[];
  readonly exitCode?: true;
  readonly exitCodeFor?: readonly AlarmState[];
}

const ALARM_STATES = ['failing', 'silent', 'off', 'gone'] as const;
type AlarmState = (typeof ALARM_STATES)[number];

const INTERVAL_MS = 60_000;
const OVERLAP_MS = 120_000;
const FAILURES = 3;

export const commonFlags =
  '--since --subscription --type --by --exit-code --watch --from --json --csv --output';

export const help = `
A row for each subscription, over the last 24 hours unless --since says
otherwise, or with --from over all events. It is failing while failures go on
(two deliveries in a row end a run of failures), recovered if an earlier event
failed, and off or gone if the service reports that. Within each state the worst
come first, by the lower bound of the failure rate: 40 of 50 comes before 1 of
1. The last ten events are in order of creation, not of delivery.

With --watch it keeps running and reports each change once: a row became
failing, silent, off or gone, or recovered from that. It begins by reporting
what is wrong already. A row counts as failing after --after-failures in a run,
and, with --after SPAN, not before that time since the first of them. An
unreachable service, or a sign-in that ended, is a notice and not a change.
--state keeps the place across restarts.

With a COMMAND it prints nothing and runs the command for each change, as
\`events watch\` does for each event. The command gets the row's JSON on its
standard input, with change, since, until, cause and next, or the output of
--jq, and HOOKTRAIL_CHANGE, _SUBSCRIPTION_ID and _SUBSCRIPTION_NAME. A change is
done when the command exits with 0; after a crash the last one may be reported
again.`;

export const examples = [
  'hooktrail events health',
  'hooktrail events health --since 7d --by eventType',
  'hooktrail events health --since 1h --exit-code > /dev/null || alert',
  'hooktrail events health --watch --state f --remind 4h -- ./alarm',
];

export function declare(command: Command): void {
  command
    .addOption(
      new Flag(
        '--by <a,b.c>',
        'a row for each value of this field, or each combination of several',
        { preset: 'subscriptionId' },
        (text) => parseFieldPaths(text, '--by'),
      ),
    )
    .option('--exit-code', 'exit with 10 while any row is failing, with 1 if all outcomes are unknown')
    .option(
      '--exit-code-for <states>',
      'exit with 10 while any row is in one of these states: failing, silent (for unusually long), off, gone',
      (text) => text.split(',').map(oneOf<AlarmState>('--exit-code-for', ALARM_STATES)),
    )
    .addOption(concurrencyFlag());
  addWatchFlags(command);
  addSummaryFlags(command, FORMAT_NAMES, {
    json: 'the rows as a JSON array',
    ndjson: 'the same, one a line',
    csv: 'a line for each row',
  });
}

function addWatchFlags(command: Command): void {
  const addTime = (name: string, description: string, lowest: number, preset?: string) =>
    command.addOption(
      new Flag(`${name} <time>`, `with --watch: ${description}`, { preset }, duration(name, lowest)),
    );
  addCommandArgument(command, 'with --watch: a command to run for each change, after --');
  command.option('--watch', 'keep running, and report each change of a row');
  addTime('--interval', 'time between two polls', 1000, durationText(INTERVAL_MS));
  addTime('--overlap', 'how far each poll reaches back, for late events', 0, durationText(OVERLAP_MS));
  command
    .option(
      '--state <file>',
      'with --watch: keep in this file what was reported, and continue from it after a restart',
      fileName('--state'),
    )
    .addOption(
      new Flag(
        '--after-failures <number>',
        'with --watch: a row is failing after this many failures in a run, and with --after <time> not before this time since the first',
        { preset: String(FAILURES) },
        wholeNumber('--after-failures', 1),
      ),
    );
  addTime('--remind', 'report a change again after this time, while it lasts', 1000);
  command.option('--check', 'with --watch: ask the endpoint of a failing or silent row from this machine');
  addTime('--retry-for', 'give up a change when the command has failed for this time', 0, 'never');
}

/** Flags that need `--watch`, and flags for output that ends. */
const OF_WATCH = ['interval', 'overlap', 'state', 'afterFailures', 'remind', 'check', 'retryFor'];
const OF_ONE_LOOK = [
  ...['exitCode', 'exitCodeFor', 'from', 'output', 'outputFile', 'json', 'csv', 'csvRaw', 'csvBom'],
  ...['csvDelimiter', 'noHeader'],
];

const WATCH_FORMATS = ['table', 'ndjson'];

function givenOf(names: readonly string[], flags: Flags): string | undefined {
  return typedFlags(flags, names)[0];
}

function isCommandTyped({ commands }: Pick<Call, 'commands'>): boolean {
  return typedWords(commands.root).behind.length > 0;
}

function refuseWatchFlags(call: Call<Flags>): void {
  const flag = givenOf(OF_WATCH, call.flags) ?? (isCommandTyped(call) ? 'a command after --' : undefined);
  if (flag !== undefined) throw new UsageError(`${flag} needs --watch`, { next: 'add --watch' });
}

/** Throws `UsageError` for flags that contradict `--watch`, or depend on a command. */
function checkWatchFlags(call: Call<Flags>): void {
  const { flags, args } = call;
  const isRun = args.length > 0;
  const { output = '', ...others } = flags;
  const shown = WATCH_FORMATS.includes(output.toLowerCase()) && !isRun ? others : flags;
  const flag = givenOf(isRun ? [...OF_ONE_LOOK, 'ndjson'] : OF_ONE_LOOK, shown);
  if (flag !== undefined)
    throw new UsageError(`${flag} and --watch${isRun ? ' with a command' : ''} contradict each other`, {
      next: `leave ${flag} out; a watch prints text, --ndjson or what --jq makes of a change, or runs a command`,
    });
  if (isCommandTyped(call) && !isRun)
    throw new UsageError('the command after -- is missing', {
      next: 'give the program and its arguments there, or leave -- out to print the changes',
    });
  if (flags.retryFor !== undefined && !isRun)
    throw new UsageError('--retry-for needs a command to run for each change', {
      next: 'give the command at the end of the line, after --',
    });
}

async function runWatch(call: Call<Flags>): Promise<void> {
  const { flags, context, args: words } = call;
  const { after, ...others } = flags;
  const lengthMs = after === undefined ? 0 : lengthOf(after);
  const { filters, concurrency, format: shown } = summaryOptions({ ...call, flags: others }, FORMAT_NAMES);
  refuseStatuses(filters);
  const { watchHealth } = await import('./health-watch.ts');
  if (words.length > 0) {
    const { requireProgram } = await import('../watch/command-runner.ts');
    await requireProgram(words[0] as string, context);
  }
  const options = {
    filters,
    by: flags.by ?? SUBSCRIPTION,
    concurrency,
    interval: flags.interval ?? INTERVAL_MS,
    overlap: flags.overlap ?? OVERLAP_MS,
    state: flags.state,
    failures: flags.afterFailures ?? FAILURES,
    lengthMs,
    remindMs: flags.remind ?? Number.POSITIVE_INFINITY,
    asksEndpoint: flags.check === true,
    isJson: shown.format === 'ndjson',
    jq: flags.jq,
    command: words.length > 0 ? { words, retryForMs: flags.retryFor ?? Number.POSITIVE_INFINITY } : undefined,
  };
  await watchHealth(options, { ...call, flags: others });
}

function lengthOf(text: string): number {
  const lengthMs = durationMs(text);
  if (lengthMs !== undefined) return lengthMs;
  throw new UsageError(
    `--after: invalid value '${text}': with --watch it must be a length of time such as 10m, since the first failure of a run`,
    { next: '--since gives the start of the first reading' },
  );
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { by, exitCode, exitCodeFor } = call.flags;
  if (call.flags.watch) {
    checkWatchFlags(call);
    await runWatch(call);
    return ExitCode.done;
  }
  refuseWatchFlags(call);
  const options = summaryOptions(call, FORMAT_NAMES);
  const [{ checkHealth }, { printHealth }] = await Promise.all([
    import('./health.ts'),
    import('./health-text.ts'),
  ]);
  const report = await checkHealth(call, { ...options, by });
  await printHealth(report, options, call);
  const alarms = exitCodeFor ?? (exitCode ? ['failing' as const] : []);
  // A monitor must not take events of unknown outcome for delivered ones.
  if (alarms.length > 0 && report.rows.length === 0 && report.unknownOutcomes > 0) return ExitCode.failed;
  const isAlarm = ({ state, silentSince }: Health) =>
    alarms.some((alarm) => (alarm === 'silent' ? silentSince !== undefined : state === alarm));
  if (report.rows.some(isAlarm)) return ExitCode.matched;
  // Nor an unreadable list for one in which all are on.
  const needsList = alarms.some((alarm) => alarm !== 'failing');
  return needsList && report.isListUnknown ? ExitCode.failed : ExitCode.done;
}
