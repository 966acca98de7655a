import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { ExitCode } from '../errors.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addSummaryFlags, summaryOptions } from '../formats/format-flags.ts';
import { FORMAT_NAMES } from '../formats/format-registry.ts';
import { parseFieldPaths } from '../items/field-path.ts';
import type { Health } from '../questions/health-row.ts';
import { listOf } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import {
  addHealthWatchFlags,
  type HealthWatchFlags,
  healthWatchOptions,
  refuseWatchFlags,
} from './watch/health-watch-flags.ts';

interface Flags extends HealthWatchFlags {
  readonly exitCode?: true;
  readonly exitCodeFor?: readonly AlarmState[];
}

const ALARM_STATES = ['failing', 'silent', 'off', 'gone'] as const;
type AlarmState = (typeof ALARM_STATES)[number];

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
    .addOption(
      new Flag(
        '--exit-code-for <states>',
        'exit with 10 while any row is in one of these states: failing, silent (for unusually long), off, gone',
        {},
        listOf<AlarmState>('--exit-code-for', ALARM_STATES),
      ),
    )
    .addOption(concurrencyFlag());
  addHealthWatchFlags(command);
  addSummaryFlags(command, FORMAT_NAMES, {
    json: 'the rows as a JSON array',
    ndjson: 'the same, one a line',
    csv: 'a line for each row',
  });
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { by, exitCode, exitCodeFor } = call.flags;
  if (call.flags.watch) {
    const options = await healthWatchOptions(call);
    const { watchHealth } = await import('./watch/health-watch.ts');
    await watchHealth(options, call);
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
