import type { Call } from '../../command.ts';
import { ServiceError } from '../../errors.ts';
import { refusePlanted } from '../../files/folders.ts';
import type { Service } from '../../http/service.ts';
import { waitText } from '../../http/service.ts';
import type { KeepItems } from '../../json/item-conditions.ts';
import { LockedError, whileHeld, withLock } from '../../lock/lock.ts';
import { loadSettings, type SettingFlags } from '../../settings/settings.ts';
import { withService } from '../../sign-in/session.ts';
import { type Progress, startProgress } from '../../terminal/progress.ts';
import { compareInstants, type Instant, parseInstant } from '../../time/instant.ts';
import type { EventFilters } from '../event-filters.ts';
import { type Query, searchUrl } from '../event-query.ts';
import { resolveTypes, warnOfTypes } from '../event-types.ts';
import { type IdentifiedItems, pageFetcher, totalOf } from '../page.ts';
import { adaptiveConcurrency, readAhead } from '../read-ahead.ts';
import { IncompleteError, readPages } from '../read-pages.ts';
import {
  checkNothingLost,
  checkSame,
  checkUnused,
  diskFault,
  eventsIn,
  type Manifest,
  openDirectory,
  type Part,
  partName,
  partQuery,
  readManifest,
  removeLeftOvers,
  writeManifest,
} from './export-manifest.ts';
import { itemsOf, keysOf, PartFile, verifyExport } from './export-parts.ts';
import {
  beginExport,
  countAnyStatus,
  type Planning,
  planUpdate,
  recount,
  warnOfLaterDated,
} from './export-plan.ts';

export interface ExportOptions {
  /** As it was typed. */
  readonly given: string;
  readonly filters: EventFilters;
  readonly gzip: boolean;
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
  let isEntered = false;
  try {
    await withLock(
      `export ${directory}`,
      context,
      async (lock) => {
        isEntered = true;
        await exportInto(directory, baseUrl, options, { ...call, context: whileHeld(context, lock) });
      },
      { patience: 0, subject: `the export ${given}` },
    );
  } catch (error) {
    if (!isEntered && error instanceof LockedError) throw busyError(given, error);
    if (isEntered && context.signal.aborted) call.reporter.notice('to resume: run the same command again');
    throw await diskFault(error, directory);
  }
}

async function exportInto(
  directory: string,
  baseUrl: URL,
  options: ExportOptions,
  call: Call<SettingFlags>,
): Promise<void> {
  const { given, filters, gzip, update } = options;
  const { context, reporter } = call;
  const identity = { service: baseUrl.href, filters: filters.typed(), gzip };
  const there = await readManifest(directory);
  let manifest: Manifest | undefined;
  if (there) {
    checkSame(given, there, identity);
    manifest = await verifyExport(directory, there, reporter, context.signal);
    await removeLeftOvers(directory, manifest);
    if (manifest.finishedAt && !update) {
      checkNothingLost(given, manifest);
      reporter.notice(`verified: ${summaryOf(given, manifest)}; nothing was downloaded`);
      return;
    }
    const done = manifest.parts.filter(({ sha256 }) => sha256).length;
    if (!manifest.finishedAt)
      reporter.notice(`continuing: ${done} of ${manifest.parts.length} files are there already`);
  } else await checkUnused(directory);
  const finished = await withService(call, async (service, settings) => {
    const resolved = await resolveTypes(filters, service, settings, context);
    const progress = startProgress(context, reporter, 'exporting');
    let exported: Manifest;
    try {
      progress.update({ note: 'counting' });
      const run = new ExportRun(service, directory, { ...options, filters: resolved }, call, progress);
      exported = await run.run(manifest ?? (await beginExport(resolved, identity, run.planning)), !manifest);
      for (const doubt of run.doubts()) reporter.warning(doubt);
    } finally {
      progress.stop();
    }
    if (exported.events === 0) await warnOfTypes(resolved, service, context, reporter);
    return exported;
  });
  reporter.notice(`exported: ${summaryOf(given, finished)}`);
  checkNothingLost(given, finished);
}

function summaryOf(directory: string, { events, parts, pin }: Manifest): string {
  const files = parts.length === 1 ? '1 file' : `${parts.length} files`;
  return `${events} events in ${files} in ${directory}, all that match before ${pin}`;
}

function busyError(directory: string, error: LockedError): ServiceError {
  const { holder } = error;
  return new ServiceError(`another export into ${directory} is under way`, {
    details: holder ? [`process ${holder}`] : [],
    next: 'wait for it, or choose another directory',
    cause: error,
  });
}

/** The number of times that parts are read again if they changed while the rest was read. */
const MAX_ROUNDS = 5;
/** The number of times that a part is read if the service's answers do not agree with each other. */
const TRIES = 3;

/** One run of an export. Its state is the manifest: each step is in the directory before the next begins. */
class ExportRun {
  readonly planning: Planning;
  readonly #directory: string;
  readonly #options: ExportOptions;
  readonly #call: Call;
  readonly #progress: Progress;
  readonly #startedAt: number;
  readonly #keep: KeepItems | undefined;
  #manifest!: Manifest;
  /** Events in files, including the one being written. */
  #events = 0;
  /** Of these, events that were there when this run began to read. */
  #startedWith = 0;
  /** The part that is being written. */
  #open: OpenPart | undefined;
  /** The keys of the part that was written last. */
  #last: { index: number; keys: ReadonlySet<number> } = { index: -1, keys: new Set() };

  constructor(service: Service, directory: string, options: ExportOptions, call: Call, progress: Progress) {
    const { clock, signal } = call.context;
    const { width: concurrency, onRetry } = adaptiveConcurrency(options.concurrency);
    const fetchPage = pageFetcher(service, clock, (attempt) => {
      onRetry(attempt);
      progress.update({ note: waitText(attempt) });
    });
    const { pageSize } = options;
    this.planning = { fetchPage, baseUrl: service.baseUrl, pageSize, concurrency, clock, signal };
    this.#directory = directory;
    this.#options = options;
    this.#call = call;
    this.#progress = progress;
    this.#startedAt = clock.now();
    this.#keep = options.filters.keep;
  }

  /**
   * Downloads the missing parts of an export until it holds every event that the service counts, and for an update what
   * is new since then. Returns the finished manifest.
   */
  async run(manifest: Manifest, isNew: boolean): Promise<Manifest> {
    if (isNew) await this.#startFrom(manifest);
    else this.#manifest = manifest;
    if (!manifest.finishedAt) await this.#complete();
    if (isNew || !this.#options.update) return this.#manifest;
    const updated = await planUpdate(this.#options.filters, this.#manifest, this.planning);
    await this.#startFrom(updated);
    if (!updated.finishedAt) await this.#complete();
    return this.#manifest;
  }

  /** Doubts about the conditions, after they were applied. */
  doubts(): readonly string[] {
    return this.#keep?.doubts() ?? [];
  }

  async #startFrom(manifest: Manifest): Promise<void> {
    await warnOfLaterDated(this.#options.filters, this.#call.reporter, manifest, this.planning);
    // If no time has passed since the export, an update plans nothing.
    if (!manifest.finishedAt) await this.#save(manifest);
    else this.#manifest = manifest;
  }

  /** Reads the parts that are missing, until the files agree with the service. */
  async #complete(): Promise<void> {
    this.#events = eventsIn(this.#manifest);
    this.#startedWith = this.#events;
    const { parts } = this.#manifest;
    await this.#read([...parts.keys()].filter((index) => !parts[index]?.sha256));
    await this.#readChanged();
    await this.#trim();
    await this.#save({
      finishedAt: new Date(this.planning.clock.now()).toISOString(),
      events: eventsIn(this.#manifest),
      overlapFrom: null,
    });
    await removeLeftOvers(this.#directory, this.#manifest);
  }

  async #save(change: Partial<Manifest>): Promise<void> {
    this.#manifest = { ...this.#manifest, ...change };
    await writeManifest(this.#directory, this.#manifest);
  }

  async #savePart(index: number, part: Part): Promise<void> {
    await this.#save({ parts: this.#manifest.parts.with(index, part) });
  }

  #onEvents(change: number): void {
    this.#events += change;
    const [events, total] = [this.#events, expectedOf(this.#manifest)];
    const seconds = (this.planning.clock.now() - this.#startedAt) / 1000;
    const rate = seconds > 0.1 ? (events - this.#startedWith) / seconds : 0;
    const secondsLeft = total !== undefined && rate > 0 ? Math.max(0, total - events) / rate : undefined;
    this.#progress.update({ events, total, rate, secondsLeft, note: '' });
  }

  /** Reads parts from the service into their files. */
  async #read(indexes: readonly number[]): Promise<void> {
    const ofAnyStatus = await countAnyStatus(this.#manifest, indexes, this.planning);
    const parts = this.#manifest.parts.map((part, index) => ({
      ...part,
      ofAnyStatus: ofAnyStatus.get(index) ?? part.ofAnyStatus,
    }));
    this.#manifest = { ...this.#manifest, parts };
    const slices = indexes.map((index): Slice => {
      const part = parts[index] as Part;
      return { index, query: partQuery(this.#manifest, part), expected: part.counted ?? part.events };
    });
    try {
      await this.#readSlices(slices);
    } finally {
      await this.#abandon();
    }
  }

  /** Reads the parts again whose events have changed, until the service's counts agree with the files. */
  async #readChanged(): Promise<void> {
    for (let round = 1; ; round++) {
      this.#progress.update({ note: 'counting again' });
      const { changed, total, held } = await recount(this.#manifest, this.planning);
      if (changed.length === 0 && (total === undefined || total === held)) return;
      if (round > MAX_ROUNDS || changed.length === 0) throw incompleteError(held, total);
      const stale = (part: Part, index: number) =>
        changed.includes(index) ? { ...part, sha256: null } : part;
      // After a crash the next run removes them.
      await this.#save({ parts: this.#manifest.parts.map(stale) });
      this.#events = eventsIn(this.#manifest);
      await this.#read(changed);
    }
  }

  /** Removes events from earlier files that an update has read again, so that the later state of each event remains. */
  async #trim(): Promise<void> {
    const directory = this.#directory;
    const from = this.#manifest.overlapFrom && parseInstant(this.#manifest.overlapFrom);
    if (!from) return;
    const { parts } = this.#manifest;
    const again = new Set<number>();
    for (const part of parts.filter(({ settled }) => !settled))
      for await (const { keys } of itemsOf(directory, part)) for (const key of keys) again.add(key);
    for (const [index, part] of parts.entries()) {
      if (!part.settled || compareInstants(parseInstant(part.before) as Instant, from) <= 0) continue;
      const file = partName(this.#manifest.parts, this.#manifest.gzip);
      const trimmed = await PartFile.create(directory, { ...part, file });
      try {
        for await (const items of itemsOf(directory, part)) await trimmed.add(items.without(again));
        if (trimmed.events === part.events) await trimmed.discard();
        else
          await this.#savePart(index, {
            ...part,
            file,
            ...(await trimmed.commit()),
            ...lostOfTrimmed(part, trimmed),
          });
      } catch (error) {
        await trimmed.discard();
        throw error;
      }
    }
  }

  /**
   * Reads slices in order. Pages at known offsets are read ahead across the borders of slices. A slice that changes while
   * it is read, or whose pages do not line up, is read again by itself with `readPages`.
   */
  async #readSlices(slices: readonly Slice[]): Promise<void> {
    const { fetchPage, baseUrl, pageSize, concurrency, signal } = this.planning;
    const at = (slice: Slice, start: number) => searchUrl(baseUrl, slice.query, { start, count: pageSize });
    let done: Slice | undefined;
    let total: number | undefined;
    let read = 0;
    const run = ({ slice, start }: PageToRead, abort: AbortSignal) => fetchPage(at(slice, start), abort);
    for await (const { job, result } of readAhead(
      pagesOfSlices(slices, pageSize),
      run,
      concurrency,
      signal,
    )) {
      const { slice } = job;
      if (slice === done) continue;
      let { page } = result;
      if (job.start === 1) {
        await this.#begin(slice);
        total = totalOf(page);
        read = 0;
      }
      for (;;) {
        const due = total === undefined ? undefined : Math.min(pageSize, Math.max(0, total - read));
        if (totalOf(page) !== total || page.items.count !== due) {
          await this.#readAlone(slice);
          done = slice;
          break;
        }
        read += page.items.count;
        await this.#take(page.items);
        if (!job.last) break;
        if (read === total) {
          await this.#end(total);
          done = slice;
          break;
        }
        // The second by which slices overlap holds events that the plan counted elsewhere.
        ({ page } = await fetchPage(at(slice, read + 1), signal));
      }
    }
  }

  async #readAlone(slice: Slice): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.#begin(slice);
      let total: number | undefined;
      try {
        for await (const page of readPages(this.planning.fetchPage, {
          ...this.planning,
          query: slice.query,
        })) {
          total = page.total;
          await this.#take(page.items);
        }
      } catch (error) {
        if (!(error instanceof IncompleteError) || attempt === TRIES) throw error;
        continue;
      }
      return this.#end(total ?? null);
    }
  }

  /**
   * Begins a part; what was taken for it before is void. It reaches a second into the next older one of the same query,
   * and the parts of an update reach further: events that another file holds are left out.
   */
  async #begin({ index }: Slice): Promise<void> {
    await this.#abandon();
    const elsewhere = await this.#keysElsewhere(index);
    const file = await PartFile.create(this.#directory, this.#manifest.parts[index] as Part);
    const isOverlapped = this.#overlapping(index).length > 0;
    this.#open = { file, index, elsewhere, keys: new Set(), isOverlapped };
  }

  async #take(items: IdentifiedItems): Promise<void> {
    const { file, elsewhere, keys, isOverlapped } = this.#open as OpenPart;
    const fresh = items.without(elsewhere);
    const due = this.#keep?.(fresh) ?? fresh;
    if (isOverlapped) for (const key of due.keys) keys.add(key);
    await file.add(due);
    this.#onEvents(due.count);
  }

  /** `counted` is the service's count for the part's own query, or null if it gives none. */
  async #end(counted: number | null): Promise<void> {
    const { file, index, keys } = this.#open as OpenPart;
    const written = await file.commit();
    this.#open = undefined;
    this.#last = { index, keys };
    const { lost, ...part } = this.#manifest.parts[index] as Part;
    const isLess = lost !== undefined && written.events < lost.events;
    await this.#savePart(index, { ...part, ...written, counted, ...(isLess ? { lost } : {}) });
  }

  /** Discards the part that is being written. */
  async #abandon(): Promise<void> {
    if (!this.#open) return;
    const { file } = this.#open;
    this.#open = undefined;
    this.#onEvents(-file.events);
    await file.discard();
  }

  async #keysElsewhere(index: number): Promise<ReadonlySet<number>> {
    const part = this.#manifest.parts[index] as Part;
    const keys = new Set<number>();
    for (const other of this.#overlapping(index)) {
      const neighbour = this.#manifest.parts[other] as Part;
      // An update reads events again that settled parts hold. They are removed from the settled parts afterwards.
      if (!neighbour.sha256 || (neighbour.settled && !part.settled)) continue;
      const known = this.#last.index === other;
      for (const key of known ? this.#last.keys : await keysOf(this.#directory, neighbour)) keys.add(key);
    }
    return keys;
  }

  /** The parts of the same query whose times overlap with those of a part. */
  #overlapping(index: number): number[] {
    const parts = this.#manifest.parts;
    const part = parts[index] as Part;
    const reachesInto = (one: Part, other: Part) =>
      one.after === null ||
      compareInstants(parseInstant(one.after) as Instant, parseInstant(other.before) as Instant) < 0;
    return [...parts.keys()].filter((at) => {
      const other = parts[at] as Part;
      return (
        at !== index && other.query === part.query && reachesInto(part, other) && reachesInto(other, part)
      );
    });
  }
}

/** A copy that the user has of the whole part is no replacement for what is left of it. */
function lostOfTrimmed({ lost, events }: Part, trimmed: PartFile): Pick<Part, 'lost'> {
  if (!lost) return {};
  return { lost: { ...lost, events: lost.events - ((events ?? 0) - trimmed.events), sha256: '' } };
}

function expectedOf({ parts }: Manifest): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { events }) => (sum === undefined || events === null ? undefined : sum + events),
    0,
  );
}

function incompleteError(held: number, total: number | undefined): ServiceError {
  return new ServiceError(
    `the export is not complete: ${held} events were written, the service counts ${total}`,
    { next: 'run the same command again; what is here is kept' },
  );
}

/** A part to read, as a search, and the number of events expected if it is known. */
interface Slice {
  readonly index: number;
  readonly query: Query;
  readonly expected: number | null;
}

interface PageToRead {
  readonly slice: Slice;
  readonly start: number;
  readonly last: boolean;
}

function* pagesOfSlices(slices: readonly Slice[], size: number): Generator<PageToRead> {
  for (const slice of slices) {
    const pages = Math.max(1, Math.ceil((slice.expected ?? 0) / size));
    for (let page = 0; page < pages; page++)
      yield { slice, start: page * size + 1, last: page === pages - 1 };
  }
}

interface OpenPart {
  readonly file: PartFile;
  readonly index: number;
  /** Keys of events that other files hold. */
  readonly elsewhere: ReadonlySet<number>;
  readonly keys: Set<number>;
  /** True if a part that is read later needs the keys. */
  readonly isOverlapped: boolean;
}
