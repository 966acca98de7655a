import type { Command } from 'commander';
import type { Call } from '../../command.ts';
import { ExitCode, UsageError } from '../../errors.ts';
import { concurrencyFlag } from '../../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../../formats/format-flags.ts';
import { FORMAT_NAMES, formatTraits } from '../../formats/format-registry.ts';
import { receivedFieldFlag, receivedFlag } from '../webhook-flags.ts';

interface Flags extends EventFlags {
  readonly received?: string;
  readonly receivedField?: string;
  readonly exitCode?: true;
}

export const commonFlags =
  '--received --received-field --since --until --subscription --failed --exit-code --json --ndjson --csv';

export const help = `
Compares the event ids that you have with the service's records of a window:
which records are missing on your side, by subscription, status and hour, and
which ids you have twice. The file is a dump of your database (CSV, TSV, NDJSON,
JSON, Parquet), a log, or any text with GUIDs in it, plain or gzip. The column
of the ids is found by its name and its values.

A record counts as received if the file has its event id. Where an event went to
several subscriptions, --subscription compares one of them.`;

export const examples = [
  'hooktrail webhooks reconcile --received handled.csv --since 1d',
  `psql -c '\\copy (select event_id from handled) to stdout csv' |
      hooktrail webhooks reconcile --received - --day 2026-11-20`,
  'hooktrail webhooks reconcile --received app.log.gz --since 6h --csv > lost',
];

export function declare(command: Command): void {
  command
    .addOption(receivedFlag('the event ids that you have; - for standard input'))
    .addOption(receivedFieldFlag())
    .option('--exit-code', 'exit with 10 when records are missing')
    .addOption(concurrencyFlag());
  addSummaryFlags(command, FORMAT_NAMES, {
    json: 'the comparison as one JSON object',
    ndjson: 'the missing records, one a line, exactly as the service wrote them',
    csv: 'the missing records as CSV',
  });
}

export async function run(call: Call<Flags>): Promise<ExitCode> {
  const { received, receivedField, exitCode, after, since, day, month, from } = call.flags;
  if (received === undefined)
    throw new UsageError('--received is missing: the file with the event ids that you have', {
      next: 'name a file with event ids, such as a CSV of your database, or - for standard input',
    });
  if (received === '-' && from === '-')
    throw new UsageError('standard input cannot hold both the ids and, by --from -, the events', {
      next: 'give one of them as a file',
    });
  if (!after && !since && !day && !month && from === undefined)
    throw new UsageError('--since is missing: the time from which records are compared', {
      next: 'give a time from which you should have every event, such as --since 1d',
    });
  const options = { ...summaryOptions(call, FORMAT_NAMES), received, receivedField };
  const [{ reconcile }, { adviseAfter, headlineOf, printReconciliation }] = await Promise.all([
    import('./reconcile.ts'),
    import('./reconciliation-text.ts'),
  ]);
  const report = await reconcile(options, call);
  const isList = formatTraits(options.format.format).hasOnlyRecords;
  if (isList) call.reporter.notice(headlineOf(report));
  else await printReconciliation(report, options, call);
  adviseAfter(report, options, call);
  return exitCode && report.missing.records > 0 ? ExitCode.matched : ExitCode.done;
}
