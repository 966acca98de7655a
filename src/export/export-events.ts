import path from 'node:path';
import type { Call } from '../command.ts';
import { ServiceError } from '../errors.ts';
import { refusePlanted } from '../files/folders.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { warnOfNoMatch } from '../filters/no-match.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import { waitText } from '../http/service.ts';
import { LockedError, takeLock, whileHeld } from '../lock/lock.ts';
import { adaptiveClient } from '../paging/page.ts';
import { UNCOUNTED } from '../paging/read-pages.ts';
import { withService } from '../sign-in/session.ts';
import { startProgress } from '../terminal/progress.ts';
import { eachOnce, type Reporter, warnOfDoubts } from '../terminal/reporter.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import { checkUnused, diskFault, LOCK_FOLDER, openDirectory, tidyDirectory } from './export-directory.ts';
import {
  checkNothingLost,
  checkSame,
  identityOfFilters,
  type Manifest,
  readManifest,
} from './export-manifest.ts';
import { type FileFormat, filesOf, type Partition } from './export-part.ts';
import { ExportRun } from './export-run.ts';
import { verifyExport } from './verify-export.ts';

export interface ExportOptions {
  readonly given: string;
  readonly filters: EventFilters;
  readonly gzip: boolean;
  readonly partition?: Partition | undefined;
  readonly fileFormat?: FileFormat | undefined;
  readonly update: boolean;
  readonly pageSize: number;
  readonly concurrency: number;
}

export async function exportEvents(options: ExportOptions, call: Call): Promise<void> {
  const { given } = options;
  const { context } = call;
  const { baseUrl } = call.settings.checked(['baseUrl']);
  refusePlanted(given, 'the export', context.machine);
  const directory = await openDirectory(given, context.machine);
  // Check before the lock creates files in the directory.
  if (!(await readManifest(directory))) await checkUnused(directory);
  const only = { patience: 0, subject: `the export ${given}`, folder: path.join(directory, LOCK_FOLDER) };
  const lock = await takeLock(`export ${directory}`, context, only).catch((error) => {
    if (!(error instanceof LockedError)) throw error;
    throw new ServiceError(`another export into ${given} is under way`, {
      details: error.holder ? [`process ${error.holder}`] : [],
      next: 'wait for it, or choose another directory',
      cause: error,
    });
  });
  try {
    await exportInto(directory, baseUrl, options, { ...call, context: whileHeld(context, lock) });
  } catch (error) {
    if (context.signal.aborted) call.reporter.notice('to resume: run the same command again');
    throw await diskFault(error, directory);
  } finally {
    await lock.release();
  }
}

async function exportInto(
  directory: string,
  baseUrl: URL,
  options: ExportOptions,
  call: Call,
): Promise<void> {
  const { given, filters, gzip, partition, fileFormat, update, pageSize } = options;
  const { context, reporter } = call;
  const { clock, signal } = context;
  const identity = {
    service: baseUrl.href,
    filters: identityOfFilters(filters),
    gzip,
    partition,
    fileFormat,
  };
  let manifest = await readManifest(directory);
  if (!manifest) await checkUnused(directory);
  else {
    checkSame(given, manifest, identity);
    manifest = await verifyExport(directory, manifest, reporter, signal);
    await tidyDirectory(directory, manifest, reporter);
    if (manifest.finishedAt && !update) {
      checkNothingLost(given, manifest);
      warnOfUncounted(manifest, reporter);
      reporter.notice(`verified: ${summaryOf(given, manifest)}; nothing was downloaded`);
      return;
    }
    const done = manifest.parts.filter(({ read }) => read).length;
    if (!manifest.finishedAt)
      reporter.notice(
        `continuing: ${grouped(done)} of ${grouped(manifest.parts.length)} files are there already`,
      );
  }
  const finished = await withService(call, async (service) => {
    const resolved = await resolveFilters(filters, service, call.reporter);
    const progress = startProgress(context, reporter, 'exporting');
    const { client: pages, width: concurrency } = adaptiveClient(service, options.concurrency, (attempt) =>
      progress.update({ note: waitText(attempt) }),
    );
    const onForeignLinks = eachOnce(warnOfDoubts(reporter));
    const client = { ...pages, pageSize, concurrency, clock, signal, onForeignLinks };
    try {
      const run = new ExportRun({ directory, filters: resolved, client, progress, reporter });
      const exported = await run.run(manifest, identity, update);
      if (exported.events === 0) await warnOfNoMatch(resolved, service, reporter);
      return exported;
    } finally {
      progress.stop();
    }
  });
  reporter.notice(`exported: ${summaryOf(given, finished)}`);
  warnOfUncounted(finished, reporter);
  checkNothingLost(given, finished);
}

function warnOfUncounted({ parts }: Manifest, reporter: Pick<Reporter, 'warning'>): void {
  if (parts.some(({ read }) => read?.counted === null)) reporter.warning(UNCOUNTED, { kind: 'incomplete' });
}

function summaryOf(directory: string, { events, parts, pin }: Manifest): string {
  const files = parts.flatMap(filesOf).length;
  return `${eventsText(events ?? 0)} in ${grouped(files)} ${files === 1 ? 'file' : 'files'} in ${directory}, all that match before ${pin.text}`;
}
