import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { ExitCode } from '../errors.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';
import { type FieldPath, parseFieldPaths } from '../items/field-path.ts';
import type { Health } from '../questions/health-row.ts';
import { Flag, oneOf } from '../settings/flags.ts';

interface Flags extends EventFlags {
  readonly by?: readonly FieldPath[];
  readonly exitCode?: true;
  readonly exitCodeFor?: readonly AlarmState[];
}

const ALARM_STATES = ['failing', 'silent', 'off', 'gone'] as const;
type AlarmState = (typeof ALARM_STATES)[number];

const FORMATS = ['table', 'json', 'ndjson', 'csv', 'markdown'] as const;

export const commonFlags = '--since --subscription --type --by --exit-code --from --json --csv --output';

export const help = `
A row for each subscription that has events, by default in the last 24 hours, or
with --from in all of them: failing while failures go on (two deliveries in a
row end a run of them), recovered if an earlier event failed, off or gone where
the service says so; and one for each subscription of the service without
events. Of each state the worst come first, by the failure rate that their
counts prove. Events are in order of creation, which need not be the order of
their deliveries.

Examples:
  $ hooktrail events health
  $ hooktrail events health --since 7d --by eventType
  $ hooktrail events health --since 1h --exit-code > /dev/null || alert`;

export function declare(command: Command): void {
  command
    .addOption(
      new Flag(
        '--by <a,b.c>',
        'a row for each value of this field, or of several together',
        { preset: 'subscriptionId' },
        (text) => parseFieldPaths(text, '--by'),
      ),
    )
    .option('--exit-code', 'exit with 10 while any is failing, with 1 if no outcome is known')
    .option(
      '--exit-code-for <states>',
      'exit with 10 while any is in one of these: failing, silent (for unusually long), off, gone',
      (text) => text.split(',').map(oneOf<AlarmState>('--exit-code-for', ALARM_STATES)),
    )
    .addOption(concurrencyFlag());
  addSummaryFlags(command, FORMATS, {
    json: 'the rows as a JSON array',
    ndjson: 'the same, one a line',
    csv: 'a line for each row',
  });
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { by, exitCode, exitCodeFor } = call.flags;
  const options = summaryOptions(call, FORMATS);
  const [{ checkHealth }, { printHealth }] = await Promise.all([
    import('./health.ts'),
    import('./health-text.ts'),
  ]);
  const report = await checkHealth(call, { ...options, by });
  await printHealth(report, options, call);
  const alarms = exitCodeFor ?? (exitCode ? ['failing' as const] : []);
  // A monitor must not take events of unknown outcome for delivered ones.
  if (alarms.length > 0 && report.rows.length === 0 && report.untold > 0) return ExitCode.failed;
  const isAlarm = ({ state, silentSince }: Health) =>
    alarms.some((alarm) => (alarm === 'silent' ? silentSince !== undefined : state === alarm));
  if (report.rows.some(isAlarm)) return ExitCode.matched;
  // Nor a list that nobody could read for one in which all are on.
  const needsList = alarms.some((alarm) => alarm !== 'failing');
  return needsList && report.isListUnknown ? ExitCode.failed : ExitCode.done;
}
