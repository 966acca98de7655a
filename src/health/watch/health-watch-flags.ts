import type { Command } from 'commander';
import { addCommandArgument, type Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { type EventFlags, summaryOptions, typedFlags } from '../../formats/format-flags.ts';
import { FORMAT_NAMES } from '../../formats/format-registry.ts';
import type { FieldPath } from '../../items/field-path.ts';
import { duration, fileName, wholeNumber } from '../../settings/flag-values.ts';
import { Flag } from '../../settings/flags.ts';
import { durationMs, durationText } from '../../time/lengths.ts';
import {
  isCommandTyped,
  type RepeatedCommandFlags,
  repeatedCommandOf,
} from '../../watch/repeated-command-flags.ts';
import { refuseStatuses, SUBSCRIPTION } from '../health-subject.ts';
import type { HealthWatchOptions } from './health-watch.ts';

export interface HealthWatchFlags extends EventFlags, RepeatedCommandFlags {
  readonly by?: readonly FieldPath[];
  readonly watch?: true;
  readonly interval?: number;
  readonly overlap?: number;
  readonly state?: string;
  readonly afterFailures?: number;
  readonly remind?: number;
  readonly check?: true;
}

const INTERVAL_MS = 60_000;
const OVERLAP_MS = 120_000;
const FAILURES = 3;

export function addHealthWatchFlags(command: Command): void {
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

function givenOf(names: readonly string[], flags: HealthWatchFlags): string | undefined {
  return typedFlags(flags, names)[0];
}

export function refuseWatchFlags(call: Call<HealthWatchFlags>): void {
  const flag = givenOf(OF_WATCH, call.flags) ?? (isCommandTyped(call) ? 'a command after --' : undefined);
  if (flag !== undefined) throw new UsageError(`${flag} needs --watch`, { next: 'add --watch' });
}

/** Throws `UsageError` for flags that contradict `--watch`. */
function checkWatchFlags(call: Call<HealthWatchFlags>): void {
  const { flags, args } = call;
  const isRun = args.length > 0;
  const { output = '', ...others } = flags;
  const shown = WATCH_FORMATS.includes(output.toLowerCase()) && !isRun ? others : flags;
  const flag = givenOf(isRun ? [...OF_ONE_LOOK, 'ndjson'] : OF_ONE_LOOK, shown);
  if (flag !== undefined)
    throw new UsageError(`${flag} and --watch${isRun ? ' with a command' : ''} contradict each other`, {
      next: `leave ${flag} out; a watch prints text, --ndjson or what --jq makes of a change, or runs a command`,
    });
}

/** Throws `UsageError` also for a program that is missing: the first change would reveal it, hours later. */
export async function healthWatchOptions(call: Call<HealthWatchFlags>): Promise<HealthWatchOptions> {
  checkWatchFlags(call);
  const command = repeatedCommandOf(call, 'change');
  const { flags, context } = call;
  const { after, ...others } = flags;
  const lengthMs = after === undefined ? 0 : lengthOf(after);
  const { filters, concurrency, format: shown } = summaryOptions({ ...call, flags: others }, FORMAT_NAMES);
  refuseStatuses(filters);
  if (command) {
    const { requireProgram } = await import('../../watch/command-runner.ts');
    await requireProgram(command.words[0] as string, context);
  }
  return {
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
    command,
  };
}

function lengthOf(text: string): number {
  const lengthMs = durationMs(text);
  if (lengthMs !== undefined) return lengthMs;
  throw new UsageError(
    `--after: invalid value '${text}': with --watch it must be a length of time such as 10m, since the first failure of a run`,
    { next: '--since gives the start of the first reading' },
  );
}
