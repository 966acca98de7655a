import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addFilterFlags, type FilterFlags, filtersOf } from '../filters/filter-flags.ts';
import { addPageFlags, CONCURRENCY } from '../filters/reading-flags.ts';
import { PAGE_SIZE } from '../paging/event-query.ts';
import { oneOf } from '../settings/flag-values.ts';
import { Flag } from '../settings/flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import type { FileFormat, Partition } from './export-part.ts';

interface Flags extends FilterFlags, SettingFlags {
  readonly pageSize?: number;
  readonly concurrency?: number;
  readonly gzip?: true;
  readonly partition?: Partition;
  readonly format?: 'ndjson' | FileFormat;
  readonly update?: true;
}

const PARTITION_SYNONYMS: Readonly<Record<string, Partition>> = {
  ...{ days: 'day', daily: 'day', date: 'day', createdon: 'day' },
};

const FORMAT_SYNONYMS: Readonly<Record<string, 'ndjson' | FileFormat>> = {
  ...{ jsonl: 'ndjson', json: 'ndjson', pq: 'parquet' },
};

export const commonFlags = '--since --until --failed --type --where --format --partition --update';

export const help = `
Writes part-000001.ndjson and so on, one event per line as the service gave it,
newest files first, and manifest.json. After a crash or an interruption the same
command continues. For a finished export it verifies the files and downloads
nothing. Times such as 7d are resolved once, when the export begins. If an
event's status changes meanwhile, the status at the time its file was read
counts; files whose number of events changed are read again. Up to four files
are read at once, within --concurrency.

--update adds files with new events to a finished export. It reads the last hour
of the export again; each event is there once, as it was last read. Older files
are no longer compared with the service: with --failed, events that turn FAILED
more than an hour after their creation can be missing.

--partition day puts the files into a folder for each day of createdOn in UTC,
date=2026-11-01 and so on, as DuckDB, Spark, Trino and others read them. Events
without a time are in date=__HIVE_DEFAULT_PARTITION__.

--format parquet writes the same events for such engines: columns eventId,
eventType, subscriptionId, publishStatus, createdOn (a timestamp in UTC),
createdOnText and item, the exact text of the event. --from reads both formats.

A damaged file is kept as damaged-part-… next to its replacement. If the
service has deleted events of it meanwhile, the command says so and exits
with 1.`;

export const examples = [
  'hooktrail events export november --since 2026-11-01 --until 2026-12-01',
  'hooktrail events export failures --failed --since 7d --gzip',
  'hooktrail events export failures --failed --since 7d --gzip --update',
  'hooktrail events export lake --format parquet --partition day --update',
  'hooktrail events search --from november --csv --output-file november.csv',
  'cat november/part-*.ndjson | jq -r .eventData.eventType | sort | uniq -c',
];

export function declare(command: Command): void {
  command.argument('<directory>', 'where the files go; created if it does not exist');
  addFilterFlags(command)
    .addOption(
      new Flag(
        '--format <format>',
        'format of the files: ndjson or parquet',
        { preset: 'ndjson' },
        oneOf<'ndjson' | FileFormat>('--format', ['ndjson', 'parquet'], FORMAT_SYNONYMS),
      ),
    )
    .option('--gzip', 'compress the files: .ndjson.gz')
    .addOption(
      new Flag(
        '--partition <by>',
        'day: a folder date=YYYY-MM-DD for each day (UTC), as DuckDB, Spark and others read them',
        {},
        oneOf<Partition>('--partition', ['day'], PARTITION_SYNONYMS),
      ),
    )
    .option('--update', 'add new events to a finished export');
  addPageFlags(command);
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, args, reporter } = call;
  const given = args[0] as string;
  // An unset variable in a script would otherwise mean the working directory.
  if (given === '') throw new UsageError('<directory>: the name of the directory is empty');
  if (given === '-')
    throw new UsageError('<directory>: an export needs a directory, not standard output', {
      next: advise`${hooktrail('events search --ndjson')} prints all events on standard output`,
    });
  const fileFormat = flags.format === 'parquet' ? flags.format : undefined;
  if (fileFormat && flags.gzip)
    throw new UsageError('--gzip: files of Parquet are compressed inside, by Snappy', {
      next: 'leave out --gzip',
    });
  const filters = filtersOf(call);
  if (/\.(ndjson|jsonl?|csv|gz)$/i.test(given))
    reporter.notice(
      `${given} is a directory of files; for one file: hooktrail events search … --output-file ${given.replace(/\.gz$/i, '')}`,
    );
  const { exportEvents } = await import('./export-events.ts');
  const { gzip = false, partition, update = false, pageSize = PAGE_SIZE, concurrency = CONCURRENCY } = flags;
  await exportEvents({ given, filters, gzip, partition, fileFormat, update, pageSize, concurrency }, call);
}
