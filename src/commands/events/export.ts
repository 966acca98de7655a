import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ServiceError, UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addPageFlags,
  eventFilters,
  type FilterFlags,
  type PageFlags,
  pageOptions,
} from '../../events/event-flags.ts';
import type { Identity, Manifest } from '../../events/export/export-manifest.ts';
import type { HeldLock, LockedError } from '../../lock/lock.ts';
import { type FormatFlags, formatOptions } from '../../output/format-flags.ts';
import { addConnectionFlags } from '../../settings/setting-flags.ts';
import { loadSettings, loadTimeZone, type SettingFlags } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';

type CsvFlags = Pick<FormatFlags, 'csv' | 'fields' | 'csvBom' | 'csvRaw'>;

interface Flags extends FilterFlags, PageFlags, SettingFlags, CsvFlags {
  readonly gzip?: true;
  readonly update?: true;
}

export function declare(command: Command, action: Action): void {
  command.argument('<directory>', 'where the files go; created if it does not exist');
  addFilterFlags(command)
    .option('--gzip', 'compress the files: .ndjson.gz')
    .option('--update', 'add new events to a finished export')
    .option('--csv', 'also write each file as CSV, for spreadsheets, once the export is finished')
    .option('--fields <a,b.c>', 'with --csv: only these columns, in this order')
    .option(
      '--csv-bom',
      'with --csv: begin with a byte order mark, which Excel needs for text that is not English',
    )
    .option('--csv-raw', 'with --csv: do not guard text that a spreadsheet would run as a formula');
  addPageFlags(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Writes part-000001.ndjson and so on, one event per line as the service gave it,
newest files first, and manifest.json. After a crash or an interruption the same
command continues. For a finished export it verifies the files and downloads
nothing. Times such as 7d are resolved once, when the export begins. If an
event's status changes meanwhile, the status at the time its file was read
counts; files whose number of events changed are read again.

--update adds files with new events to a finished export. It reads the last hour
of the export again, so that each event is there once, in its latest state.
Older files are no longer compared with the service.

--csv adds part-000001.csv and so on, all with the same columns, and rewrites
them each time it is given. These files are not verified.

Examples:
  $ hooktrail events export november --since 2026-11-01 --until 2026-12-01
  $ hooktrail events export failures --failed --since 7d --gzip
  $ hooktrail events export failures --failed --since 7d --gzip --update
  $ hooktrail events export november --since 2026-11-01 --until 2026-12-01 --csv
  $ cat november/part-*.ndjson | jq -r .eventType | sort | uniq -c`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, args, context }: Call<Flags>, zone: TimeZone) {
  const { csv, fields, csvBom, csvRaw } = flags;
  const given = args[0] as string;
  if (given === '-') {
    throw new UsageError('<directory>: an export needs a directory, not standard output', {
      next: '`hooktrail events search --ndjson` prints all events on standard output',
    });
  }
  if (fields !== undefined && !csv)
    throw new UsageError('--fields needs --csv: other files hold whole events');
  return {
    /** As it was typed. */
    given,
    csv: formatOptions({ csv, fields, csvBom, csvRaw } as CsvFlags, 'events'),
    filters: eventFilters(flags, context.clock.now(), zone),
    gzip: flags.gzip === true,
    update: flags.update === true,
    pages: pageOptions(flags),
  };
}

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<void> {
  const options = optionsOf(call, await loadTimeZone(call.flags, call.context));
  const { given, filters, gzip } = options;
  const { flags, context } = call;
  const [{ openDirectory, diskFault }, { withLock, whileHeld, LockedError }, { refusePlanted }] =
    await Promise.all([
      import('../../events/export/export-manifest.ts'),
      import('../../lock/lock.ts'),
      import('../../files/planted.ts'),
    ]);
  const { baseUrl } = await loadSettings(flags, context, ['baseUrl']);
  const identity = { service: baseUrl.href, filters: filters.typed(), gzip };
  refusePlanted(given, 'the export', context.machine);
  const directory = await openDirectory(given, context.machine);
  let entered = false;
  const work = async (lock: HeldLock) => {
    entered = true;
    await exportInto(directory, identity, options, { ...call, context: whileHeld(context, lock) });
  };
  try {
    await withLock(`export ${directory}`, context, work, { patience: 0, subject: `the export ${given}` });
  } catch (error) {
    if (!entered && error instanceof LockedError) throw busy(given, error);
    if (entered && context.signal.aborted) call.reporter.notice('to resume: run the same command again');
    throw await diskFault(error, directory);
  }
}

async function exportInto(
  directory: string,
  identity: Identity,
  { given, csv, filters, pages, update }: Options,
  call: Call<Flags>,
): Promise<void> {
  const { context, reporter } = call;
  const { readManifest } = await import('../../events/export/export-manifest.ts');
  const earlier = await readManifest(directory);
  let verified: Manifest | undefined;
  const writeCsv = async ({ parts }: Manifest) => {
    if (csv.format !== 'csv') return;
    const { writeCsvFiles } = await import('../../output/csv-files.ts');
    await writeCsvFiles(directory, parts, csv, reporter);
  };
  if (earlier) {
    const { checkSame } = await import('../../events/export/export-manifest.ts');
    checkSame(given, earlier, identity);
    const { verifyExport } = await import('../../events/export/export-verify.ts');
    verified = await verifyExport(directory, earlier, reporter, context.signal);
    if (verified.finishedAt && !update) {
      await writeCsv(verified);
      reporter.notice(`verified: ${summary(given, verified)}; nothing was downloaded`);
      return;
    }
    const done = verified.parts.filter(({ sha256 }) => sha256).length;
    if (!verified.finishedAt)
      reporter.notice(`continuing: ${done} of ${verified.parts.length} files are there already`);
  } else {
    const { checkUnused } = await import('../../events/export/export-manifest.ts');
    await checkUnused(directory);
  }
  const { withService } = await import('../../sign-in/session.ts');
  const { runExport } = await import('../../events/export/export-run.ts');
  const finished = await withService(call, async (service) => {
    const exported = await runExport({
      service,
      directory,
      identity,
      filters,
      earlier: verified,
      update,
      ...pages,
      context,
      reporter,
    });
    if (exported.events === 0) {
      const { warnOfTypes } = await import('../../events/event-types.ts');
      await warnOfTypes(filters, service, context, reporter);
    }
    return exported;
  });
  await writeCsv(finished);
  reporter.notice(`exported: ${summary(given, finished)}`);
}

function summary(directory: string, { events, parts, pin }: Manifest): string {
  const files = parts.length === 1 ? '1 file' : `${parts.length} files`;
  return `${events} events in ${files} in ${directory}, all that match before ${pin}`;
}

function busy(directory: string, error: LockedError): ServiceError {
  const { holder } = error;
  return new ServiceError(`another export into ${directory} is under way`, {
    details: holder ? [`process ${holder}`] : [],
    next: 'wait for it, or choose another directory',
    cause: error,
  });
}
