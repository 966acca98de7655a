import path from 'node:path';
import type { Call } from '../command.ts';
import { ServiceError } from '../errors.ts';
import { refusePlanted } from '../files/folders.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { warnOfTypes } from '../filters/event-types.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import { waitText } from '../http/service.ts';
import type { KeepItems } from '../items/item-conditions.ts';
import { LockedError, takeLock, whileHeld } from '../lock/lock.ts';
import { type IdentifiedItems, identified, pageClient, type ReadPage } from '../paging/page.ts';
import { adaptiveConcurrency } from '../paging/read-ahead.ts';
import { readPages, UNCOUNTED } from '../paging/read-pages.ts';
import { loadSettings, type SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import {
  checkNothingLost,
  checkSame,
  checkUnused,
  diskFault,
  eventsIn,
  type FileFormat,
  filesOf,
  folderOf,
  type Identity,
  LOCK_FOLDER,
  type Manifest,
  openDirectory,
  type Part,
  type Partition,
  partName,
  partQuery,
  readManifest,
  removeLeftOvers,
  writeManifest,
} from '../sources/export-manifest.ts';
import {
  keysOf,
  keysReadAgain,
  keysWithoutDay,
  PartWriter,
  readPart,
  verifyExport,
} from '../sources/export-parts.ts';
import { createDayReader, dayOf, startOfDay } from '../sources/partitions.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { compareInstants } from '../time/instant.ts';
import {
  beginExport,
  countAnyStatus,
  type ExportClient,
  planUpdate,
  recount,
  warnOfLaterDated,
} from './export-plan.ts';

export interface ExportOptions {
  /** As it was typed. */
  readonly given: string;
  readonly filters: EventFilters;
  readonly gzip: boolean;
  readonly partition?: Partition | undefined;
  readonly fileFormat?: FileFormat | undefined;
  /** True if new events are to be added to a finished export. */
  readonly update: boolean;
  readonly pageSize: number;
  readonly concurrency: number;
}

/** Makes, continues, verifies or updates the export in a directory, which one process at a time may do. */
export async function exportEvents(options: ExportOptions, call: Call<SettingFlags>): Promise<void> {
  const { given } = options;
  const { context, flags } = call;
  const { baseUrl } = await loadSettings(flags, context, ['baseUrl']);
  refusePlanted(given, 'the export', context.machine);
  const directory = await openDirectory(given, context.machine);
  // Nothing is put into a directory that is no export.
  if (!(await readManifest(directory))) await checkUnused(directory);
  const only = { patience: 0, subject: `the export ${given}`, beside: path.join(directory, LOCK_FOLDER) };
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
  call: Call<SettingFlags>,
): Promise<void> {
  const { given, filters, gzip, partition, fileFormat, update, pageSize } = options;
  const { context, reporter } = call;
  const { clock, signal } = context;
  const identity = { service: baseUrl.href, filters: filters.typed(), gzip, partition, fileFormat };
  let manifest = await readManifest(directory);
  if (!manifest) await checkUnused(directory);
  else {
    checkSame(given, manifest, identity);
    manifest = await verifyExport(directory, manifest, reporter, signal);
    await removeLeftOvers(directory, manifest);
    if (manifest.finishedAt && !update) {
      checkNothingLost(given, manifest);
      warnOfUncounted(manifest, reporter);
      reporter.notice(`verified: ${summaryOf(given, manifest)}; nothing was downloaded`);
      return;
    }
    const done = manifest.parts.filter(({ sha256 }) => sha256).length;
    if (!manifest.finishedAt)
      reporter.notice(`continuing: ${done} of ${manifest.parts.length} files are there already`);
  }
  const finished = await withService(call, async (service, settings) => {
    const resolved = await resolveFilters(filters, service, settings, call);
    const progress = startProgress(context, reporter, 'exporting');
    const { width: concurrency, onRetry } = adaptiveConcurrency(options.concurrency);
    const pages = pageClient(service, clock, (attempt) => {
      onRetry(attempt);
      progress.update({ note: waitText(attempt) });
    });
    const client = { ...pages, pageSize, concurrency, clock, signal };
    try {
      const run = new ExportRun({ directory, filters: resolved, client, progress, reporter });
      const exported = await run.run(manifest, identity, update);
      if (exported.events === 0) await warnOfTypes(resolved, service, context, reporter);
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
  if (parts.some(({ counted }) => counted === null)) reporter.warning(UNCOUNTED);
}

function summaryOf(directory: string, { events, parts, pin }: Manifest): string {
  const files = parts.flatMap(filesOf).length;
  return `${events} events in ${files} ${files === 1 ? 'file' : 'files'} in ${directory}, all that match before ${pin.text}`;
}

/** The number of times that parts are read again if they changed while the rest was read. */
const MAX_ROUNDS = 5;

interface Job {
  readonly directory: string;
  readonly filters: EventFilters;
  readonly client: ExportClient;
  readonly progress: Progress;
  readonly reporter: Pick<Reporter, 'warning'>;
}

/** One run of an export. Its state is the manifest: each step is in the directory before the next begins. */
class ExportRun {
  readonly #job: Job;
  readonly #client: ExportClient;
  readonly #keep: KeepItems | undefined;
  readonly #startedAt: number;
  readonly #ending = new AbortController();
  #manifest!: Manifest;
  /** Events in files, including the one being written. */
  #events = 0;
  /** Of these, events that were there when this run began to read. */
  #startedWith = 0;
  /** The keys of the part that was written last. */
  #last: { readonly file: string; readonly keys: ReadonlySet<number> } | undefined;

  constructor(job: Job) {
    this.#job = job;
    this.#client = { ...job.client, signal: AbortSignal.any([job.client.signal, this.#ending.signal]) };
    this.#keep = job.filters.keep;
    this.#startedAt = job.client.clock.now();
  }

  /**
   * Downloads what is missing of an export, or all of a new one, until it holds every event that the service
   * counts, and for an update what is new since then. Returns the finished manifest.
   */
  async run(there: Manifest | undefined, identity: Identity, isUpdate: boolean): Promise<Manifest> {
    const { filters, progress, reporter } = this.#job;
    progress.update({ note: 'counting' });
    try {
      if (!there) await this.#begin(await beginExport(filters, identity, this.#client));
      else {
        this.#manifest = there;
        if (!there.finishedAt) await this.#complete();
        if (isUpdate) await this.#begin(await planUpdate(filters, this.#manifest, this.#client));
      }
    } finally {
      this.#ending.abort();
    }
    for (const doubt of this.#keep?.doubts() ?? []) reporter.warning(doubt);
    return this.#manifest;
  }

  async #begin(planned: Manifest): Promise<void> {
    await warnOfLaterDated(this.#job.filters, this.#job.reporter, planned, this.#client);
    this.#manifest = planned;
    // If no time has passed since the export, an update plans nothing.
    if (planned.finishedAt) return;
    await this.#save({});
    await this.#complete();
  }

  async #save(change: Partial<Manifest>): Promise<void> {
    this.#manifest = { ...this.#manifest, ...change };
    await writeManifest(this.#job.directory, this.#manifest);
  }

  async #savePart(index: number, part: Part): Promise<void> {
    await this.#save({ parts: this.#manifest.parts.with(index, part) });
  }

  /**
   * Reads the parts that are missing, and again those whose events have changed, until the files agree with
   * the service.
   */
  async #complete(): Promise<void> {
    this.#events = eventsIn(this.#manifest);
    this.#startedWith = this.#events;
    for (let round = 0; ; round++) {
      await this.#readMissing();
      this.#job.progress.update({ note: 'counting again' });
      const { changed, total } = await recount(this.#manifest, this.#client);
      const held = eventsIn(this.#manifest);
      if (changed.length === 0 && (Number.isNaN(total) || total === held)) break;
      if (round === MAX_ROUNDS) throw incompleteError(held, total);
      const stale = (part: Part, at: number) => (changed.includes(at) ? { ...part, sha256: null } : part);
      await this.#save({ parts: this.#manifest.parts.map(stale) });
      this.#events = eventsIn(this.#manifest);
    }
    await this.#removeRepeated();
    await this.#save({
      finishedAt: new Date(this.#client.clock.now()).toISOString(),
      events: eventsIn(this.#manifest),
      overlapFrom: null,
    });
    await removeLeftOvers(this.#job.directory, this.#manifest);
  }

  async #readMissing(): Promise<void> {
    const missing = [...this.#manifest.parts.keys()].filter((at) => !this.#manifest.parts[at]?.sha256);
    const ofAnyStatus = await countAnyStatus(this.#manifest, missing, this.#client);
    let pages: AsyncGenerator<ReadPage> | undefined;
    for (const [at, index] of missing.entries()) {
      const part = this.#manifest.parts[index] as Part;
      const counted = { ...part, ofAnyStatus: ofAnyStatus.get(index) ?? part.ofAnyStatus };
      pages = await this.#readPart(index, counted, pages ?? this.#ask(index), missing[at + 1]);
    }
  }

  /** Asks for a part's first page at once, and for the others when they are read. */
  #ask(index: number): AsyncGenerator<ReadPage> {
    const query = partQuery(this.#manifest, this.#manifest.parts[index] as Part);
    const pages = readPages(this.#client, { ...this.#client, query });
    const first = pages.next();
    // Its failure is thrown when it is read.
    first.catch(() => undefined);
    return (async function* () {
      const { done, value } = await first;
      if (done) return;
      yield value;
      yield* pages;
    })();
  }

  /**
   * Reads a part from the service into its file. It reaches a second into the next older one of the same
   * query, and the parts of an update reach further: events that another file holds are left out. The next
   * part is asked for where this one no longer needs all connections; returns its pages then.
   */
  async #readPart(index: number, part: Part, pages: AsyncGenerator<ReadPage>, next: number | undefined) {
    const { pageSize, concurrency } = this.#client;
    const { elsewhere, isShared } = await this.#keysElsewhere(index);
    const ownOfDay = this.#manifest.partition && this.#createDayFilter(index);
    const keys = new Set<number>();
    let nextPages: AsyncGenerator<ReadPage> | undefined;
    let counted: number | null = null;
    let read = 0;
    const file = await PartWriter.create(this.#job.directory, part);
    try {
      for await (const { items, total } of pages) {
        read += items.count;
        // The service's count may include an event that joined a page which was read before.
        counted = total === undefined ? null : read;
        if (next !== undefined && total !== undefined && total - read <= pageSize * (concurrency() - 1))
          nextPages ??= this.#ask(next);
        const others = items.without(elsewhere);
        const fresh = ownOfDay ? await ownOfDay(others) : others;
        const due = this.#keep?.(fresh) ?? fresh;
        if (isShared) for (const key of due.keys) keys.add(key);
        await file.add(due);
        this.#onEvents(due.count);
      }
      const written = await file.commit();
      const { lost, ...others } = part;
      const isLess = lost !== undefined && written.events < lost.events;
      await this.#savePart(index, { ...others, ...written, counted, ...(isLess ? { lost } : {}) });
    } catch (error) {
      await file.discard();
      throw error;
    }
    this.#last = { file: part.file, keys };
    return nextPages;
  }

  /**
   * The keys of events within a part's time that other files hold, and whether the time of another part
   * overlaps it.
   */
  async #keysElsewhere(index: number) {
    const { parts } = this.#manifest;
    const part = parts[index] as Part;
    const elsewhere = new Set<number>();
    const others = parts.filter((one) => one !== part && one.query === part.query && overlap(part, one));
    for (const one of others) {
      // An update reads events again that settled parts hold. They are removed from the settled parts
      // afterwards.
      if (!one.sha256 || (one.settled && !part.settled)) continue;
      const keys = this.#last?.file === one.file ? this.#last.keys : await keysOf(this.#job.directory, [one]);
      for (const key of keys) elsewhere.add(key);
    }
    return { elsewhere, isShared: others.length > 0 };
  }

  /**
   * Returns a function that leaves out of a part with partitions what belongs to other parts whatever the
   * order in which they are read: events of the second that it reaches into the day before, if that day has a
   * part which ends at midnight, and events without a time that another part holds, since they may be found
   * in the time of several.
   */
  #createDayFilter(index: number): (items: IdentifiedItems) => Promise<IdentifiedItems> {
    const { parts } = this.#manifest;
    const part = parts[index] as Part;
    const others = parts.filter((one) => one !== part && one.query === part.query);
    const ends = (one: Part, seconds: number) => one.before.seconds === seconds && one.before.fraction === '';
    const midnight = part.after?.fraction === '' ? part.after.seconds + 1 : Number.NaN;
    const firstDay =
      startOfDay(dayOf(midnight)) === midnight &&
      others.some((one) => ends(one, midnight) && (!one.settled || part.settled))
        ? dayOf(midnight)
        : Number.NEGATIVE_INFINITY;
    const readDay = createDayReader();
    let withoutDay: ReadonlySet<number> | undefined;
    return async (items) => {
      const kept: number[] = [];
      for (let item = 0; item < items.count; item++) {
        const day = readDay(items.bytes, items.start(item));
        if (day === undefined)
          withoutDay ??= await keysWithoutDay(
            this.#job.directory,
            others.filter(({ sha256 }) => sha256),
          );
        const isElsewhere = day === undefined ? withoutDay?.has(items.keys[item] as number) : day < firstDay;
        if (!isElsewhere) kept.push(item);
      }
      return kept.length === items.count ? items : items.pick(kept);
    };
  }

  /**
   * Removes events from earlier files that an update has read again, so that the later state of each event
   * remains.
   */
  async #removeRepeated(): Promise<void> {
    const directory = this.#job.directory;
    const { overlapFrom, parts } = this.#manifest;
    const again = await keysReadAgain(directory, this.#manifest);
    if (!overlapFrom || !again) return;
    for (const [index, part] of parts.entries()) {
      if (!part.settled || compareInstants(part.before, overlapFrom) <= 0) continue;
      const file = partName(this.#manifest.parts, this.#manifest, folderOf(part.file));
      const trimmed = await PartWriter.create(directory, { file });
      try {
        for await (const items of readPart(directory, part))
          await trimmed.add(identified(items).without(again));
        const removed = (part.events ?? 0) - trimmed.events;
        if (removed === 0) await trimmed.discard();
        else {
          // A copy that the user has of the whole part is no replacement for what is left of it.
          const lost = part.lost && { ...part.lost, events: part.lost.events - removed, sha256: '' };
          await this.#savePart(index, { ...part, file, ...(await trimmed.commit()), lost });
        }
      } catch (error) {
        await trimmed.discard();
        throw error;
      }
    }
  }

  #onEvents(added: number): void {
    this.#events += added;
    const events = this.#events;
    const total = this.#manifest.parts.reduce((sum, part) => sum + (part.events ?? Number.NaN), 0);
    const seconds = (this.#client.clock.now() - this.#startedAt) / 1000;
    const rate = seconds > 0.1 ? (events - this.#startedWith) / seconds : 0;
    const secondsLeft = rate > 0 ? Math.max(0, total - events) / rate : Number.NaN;
    const known = (number: number) => (Number.isNaN(number) ? undefined : number);
    const estimate = { total: known(total), secondsLeft: known(secondsLeft) };
    this.#job.progress.update({ events, rate, note: '', ...estimate });
  }
}

/** True if the times of two parts overlap. */
function overlap(one: Part, other: Part): boolean {
  const reachesInto = ({ after }: Part, { before }: Part) =>
    after === null || compareInstants(after, before) < 0;
  return reachesInto(one, other) && reachesInto(other, one);
}

function incompleteError(held: number, total: number): ServiceError {
  const counts = Number.isNaN(total)
    ? 'and their number changes while they are read'
    : `the service counts ${total}`;
  return new ServiceError(`the export is not complete: ${held} events were written, ${counts}`, {
    next: 'run the same command again; what is here is kept',
  });
}
