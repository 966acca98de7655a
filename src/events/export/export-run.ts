import type { Clock, Context } from '../../context.ts';
import { ServiceError } from '../../errors.ts';
import { waitText } from '../../http/retry.ts';
import type { Service } from '../../http/service.ts';
import type { KeepItems } from '../../json/item-conditions.ts';
import { type Progress, startProgress } from '../../terminal/progress.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import {
  compareInstants,
  earlierOf,
  type Instant,
  knownInstant,
  laterOf,
  nextFullSecond,
  parseInstant,
} from '../../time/instant.ts';
import { version } from '../../version.ts';
import { askCount } from '../event-count.ts';
import type { EventFilters } from '../event-filters.ts';
import { type Query, searchUrl } from '../event-query.ts';
import { type FetchPage, pageFetcher } from '../fetch-page.ts';
import { totalOf } from '../read-account.ts';
import { adaptiveConcurrency } from '../read-ahead.ts';
import {
  heldQuery,
  type Identity,
  type Manifest,
  type Part,
  partName,
  partQuery,
  saved,
  sweep,
  writeManifest,
} from './export-manifest.ts';
import { ExportSink, itemsOf, PartFile, type PartToRead } from './export-part.ts';
import { planSlices, readSlices, type SliceOptions } from './export-slices.ts';
import { countAnyStatus, recount } from './export-verify.ts';

export interface Export {
  readonly service: Service;
  readonly directory: string;
  readonly identity: Identity;
  readonly filters: EventFilters;
  /** The manifest of an earlier run, its parts verified; undefined for a new export. */
  readonly earlier: Manifest | undefined;
  /** True if new events are to be added to a finished export. */
  readonly update: boolean;
  readonly pageSize: number;
  readonly concurrency: number;
  readonly context: Pick<Context, 'stderr' | 'environment' | 'clock' | 'signal'>;
  readonly reporter: Reporter;
}

/** The number of times that parts are read again if they changed while the rest was read. */
const MAX_ROUNDS = 5;
/** Pages per part: a crash loses at most this much work. */
const PAGES_PER_PART = 10;
/** If there were more parts than this, the parts are made larger. */
const PARTS = 500;
/** An update starts this many seconds before the export's previous end: events may appear late, or change. */
const OVERLAP = 3600;

/**
 * Downloads the missing parts of an export until it holds every event that the service counts. Returns the finished
 * manifest.
 */
export async function runExport(task: Export): Promise<Manifest> {
  const progress = startProgress(task.context, task.reporter, 'exporting');
  try {
    progress.update({ note: 'counting' });
    const run = await ExportRun.start(task, progress);
    return await run.finish();
  } finally {
    progress.stop();
  }
}

/** One run of an export. Its state is the manifest: each step is in the directory before the next begins. */
class ExportRun {
  readonly #task: Export;
  readonly #progress: Progress;
  readonly #fetchPage: FetchPage;
  readonly #options: SliceOptions;
  readonly #startedAt: number;
  #manifest: Manifest;
  /**
   * Events in files, including the one being written; of these, events that were there when the run began; events
   * expected in total.
   */
  #events = 0;
  readonly #startedWith: number;
  readonly #total: number | undefined;
  readonly #keep: KeepItems | undefined;

  static async start(task: Export, progress: Progress): Promise<ExportRun> {
    const { service, context, pageSize, earlier } = task;
    const { clock, signal } = context;
    const { width: concurrency, onRetry } = adaptiveConcurrency(task.concurrency);
    const fetchPage = pageFetcher(service, clock, (attempt) => {
      onRetry(attempt);
      progress.update({ note: waitText(attempt) });
    });
    const options = { baseUrl: service.baseUrl, pageSize, concurrency, signal };
    const planning = { ...options, fetchPage, clock };
    let manifest = earlier ?? (await beginExport(task, planning));
    if (earlier?.finishedAt && task.update) manifest = await updated(task, earlier, planning);
    if (!earlier || task.update) await warnOfLaterDated(task, manifest, planning);
    await sweep(task.directory, new Set(manifest.parts.map(({ file }) => file)));
    if (manifest !== earlier) await writeManifest(task.directory, manifest);
    return new ExportRun(task, progress, fetchPage, options, manifest);
  }

  private constructor(
    task: Export,
    progress: Progress,
    fetchPage: FetchPage,
    options: SliceOptions,
    manifest: Manifest,
  ) {
    this.#task = task;
    this.#progress = progress;
    this.#fetchPage = fetchPage;
    this.#options = options;
    this.#manifest = manifest;
    this.#startedAt = task.context.clock.now();
    this.#events = eventsIn(manifest);
    this.#startedWith = this.#events;
    this.#total = expectedOf(manifest);
    this.#keep = task.filters.keep;
  }

  async finish(): Promise<Manifest> {
    // An update that found nothing new.
    if (this.#manifest.finishedAt) return this.#manifest;
    const { clock } = this.#task.context;
    await this.#read(
      [...this.#manifest.parts.keys()].filter((index) => !this.#manifest.parts[index]?.sha256),
    );
    await this.#readChanged();
    for (const doubt of this.#keep?.doubts() ?? []) this.#task.reporter.warning(doubt);
    await this.#trim();
    await this.#save({
      finishedAt: new Date(clock.now()).toISOString(),
      events: eventsIn(this.#manifest),
      overlapFrom: null,
    });
    await sweep(this.#task.directory, new Set(this.#manifest.parts.map(({ file }) => file)));
    return this.#manifest;
  }

  async #save(change: Partial<Manifest>): Promise<void> {
    this.#manifest = { ...this.#manifest, ...change };
    await writeManifest(this.#task.directory, this.#manifest);
  }

  async #savePart(index: number, part: Part): Promise<void> {
    await this.#save({ parts: this.#manifest.parts.with(index, part) });
  }

  #onEvents(change: number): void {
    this.#events += change;
    const [events, total] = [this.#events, this.#total];
    const seconds = (this.#task.context.clock.now() - this.#startedAt) / 1000;
    const rate = seconds > 0.1 ? (events - this.#startedWith) / seconds : 0;
    const secondsLeft = total !== undefined && rate > 0 ? Math.max(0, total - events) / rate : undefined;
    this.#progress.update({ events, total, rate, secondsLeft, note: '' });
  }

  /** Reads parts from the service into their files. */
  async #read(indexes: readonly number[]): Promise<void> {
    const ofAnyStatus = await countAnyStatus(this.#fetchPage, this.#manifest, indexes, this.#options);
    const parts = this.#manifest.parts.map((part, index) => ({
      ...part,
      ofAnyStatus: ofAnyStatus.get(index) ?? part.ofAnyStatus,
    }));
    this.#manifest = { ...this.#manifest, parts };
    const slices = indexes.map((index): PartToRead => {
      const part = parts[index] as Part;
      return { index, query: partQuery(this.#manifest, part), expected: part.counted ?? part.events };
    });
    const sink = new ExportSink(
      this.#task.directory,
      () => this.#manifest.parts,
      (index, part) => this.#savePart(index, part),
      (change) => this.#onEvents(change),
      this.#keep,
    );
    try {
      await readSlices(this.#fetchPage, slices, this.#options, sink);
    } finally {
      await sink.abandon();
    }
  }

  /** Reads the parts again whose events have changed, until the service's counts agree with the files. */
  async #readChanged(): Promise<void> {
    for (let round = 1; ; round++) {
      this.#progress.update({ note: 'counting again' });
      const { changed, total, held } = await recount(this.#fetchPage, this.#manifest, this.#options);
      if (changed.length === 0 && (total === undefined || total === held)) return;
      if (round > MAX_ROUNDS || changed.length === 0) throw incomplete(held, total);
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
    const { directory } = this.#task;
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
        else await this.#savePart(index, { ...part, file, ...(await trimmed.commit()) });
      } catch (error) {
        await trimmed.discard();
        throw error;
      }
    }
  }
}

function eventsIn({ parts }: Manifest): number {
  return parts.reduce((sum, part) => sum + (part.sha256 ? (part.events ?? 0) : 0), 0);
}

function expectedOf({ parts }: Manifest): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { events }) => (sum === undefined || events === null ? undefined : sum + events),
    0,
  );
}

function incomplete(held: number, total: number | undefined): ServiceError {
  return new ServiceError(
    `the export is not complete: ${held} events were written, the service counts ${total}`,
    { next: 'run the same command again; what is here is kept' },
  );
}

interface Planning extends SliceOptions {
  readonly fetchPage: FetchPage;
  readonly clock: Clock;
}

/** The service's time when it answered, and that time rounded up to a full second, since `Date` has no fraction. */
async function serviceTime(filters: EventFilters, { fetchPage, baseUrl, clock, signal }: Planning) {
  const any = filters.queries(clock.now())[0];
  const answer = await fetchPage(searchUrl(baseUrl, any, { start: 1, count: 1 }), signal);
  const now = answer.serviceTime ?? clock.now();
  return { now, pin: nextFullSecond(now) };
}

/**
 * Warns of events that the service dates later than its own clock: the export ends at that clock and leaves them out.
 * Events that were created since the export began are not among them: they are counted from the time of the answer.
 */
async function warnOfLaterDated(
  { filters, reporter }: Export,
  { pin }: Manifest,
  { fetchPage, baseUrl, signal, clock }: Planning,
): Promise<void> {
  let after = parseInstant(pin) as Instant;
  let events = 0;
  for (const query of filters.queries(clock.now())) {
    for (let tries = 3; tries > 0; tries--) {
      if (query.before && compareInstants(query.before, after) <= 0) break;
      const from = laterOf(query.after, after);
      const url = searchUrl(baseUrl, { ...query, after: from }, { start: 1, count: 1 });
      const { page, serviceTime = clock.now() } = await fetchPage(url, signal);
      const now = nextFullSecond(serviceTime);
      const counted = totalOf(page) ?? 0;
      if (counted === 0) break;
      if (compareInstants(now, after) <= 0) {
        events += counted;
        break;
      }
      after = now;
    }
  }
  if (events > 0) {
    const subject = events === 1 ? '1 event is' : `${events} events are`;
    // They are not read, so `--where` and `--grep` may keep fewer of them.
    reporter.warning(
      `${filters.keep ? 'up to ' : ''}${subject} dated later than the service's clock and not in this export; --update adds them when their time has come`,
    );
  }
}

/** Counts the events, limits the export to those that exist now, and plans the parts. */
async function beginExport({ filters, identity }: Export, planning: Planning): Promise<Manifest> {
  const startedAt = new Date(planning.clock.now()).toISOString();
  const { now, pin: latest } = await serviceTime(filters, planning);
  const queries = filters.queries(now);
  const { before } = queries[0];
  const pin = earlierOf(before, latest);
  const savedQueries = queries.map((query) => saved(query, pin.text));
  const parts: Part[] = [];
  for (const [index, query] of queries.entries())
    parts.push(...(await partsOf(index, { ...query, before: pin }, parts, identity.gzip, planning)));
  return {
    format: 'hooktrail-export',
    version: 1,
    hooktrail: version,
    ...identity,
    pin: pin.text,
    queries: savedQueries,
    startedAt,
    finishedAt: null,
    events: null,
    parts,
  };
}

/**
 * A finished export with parts for what is new: from an hour before its end to the service's present time. The existing
 * parts are not compared with the service any more, which may have deleted their events.
 */
async function updated({ filters }: Export, earlier: Manifest, planning: Planning): Promise<Manifest> {
  const end = parseInstant(earlier.pin) as Instant;
  const { now, pin: latest } = await serviceTime(filters, planning);
  const { before } = filters.queries(now)[0];
  const pin = earlierOf(before, latest);
  if (compareInstants(pin, end) <= 0) return earlier;
  const from = knownInstant((end.seconds - OVERLAP) * 1000);
  const settled = earlier.parts.map((part): Part => ({ ...part, settled: true }));
  const parts: Part[] = [...settled];
  for (const index of earlier.queries.keys()) {
    const query = heldQuery(earlier, index);
    const after = laterOf(query.after, from);
    const added = await partsOf(index, { ...query, after, before: pin }, parts, earlier.gzip, planning);
    // Within a query, newer parts come before older ones.
    parts.splice(
      parts.findIndex((part) => part.query === index),
      0,
      ...added,
    );
  }
  return {
    ...earlier,
    pin: pin.text,
    queries: earlier.queries.map((query) => ({ ...query, before: pin.text })),
    finishedAt: null,
    events: null,
    overlapFrom: from.text,
    parts,
  };
}

/** The parts of a search that is limited to its window, each with a name that no other part has. */
async function partsOf(
  index: number,
  query: Query,
  others: readonly Part[],
  gzip: boolean,
  { fetchPage, baseUrl, pageSize, concurrency, signal }: Planning,
): Promise<Part[]> {
  const count = (one: Query, abort: AbortSignal) => askCount(fetchPage, baseUrl, one, abort);
  const total = await count(query, signal);
  const target = Math.max(PAGES_PER_PART * pageSize, Math.ceil((total ?? 0) / PARTS));
  const parts: Part[] = [];
  for (const slice of await planSlices(query, total, { target, count, concurrency, signal })) {
    parts.push({
      file: partName([...others, ...parts], gzip),
      query: index,
      after: slice.after?.text ?? null,
      before: slice.before.text,
      events: slice.events ?? null,
      counted: null,
      ofAnyStatus: null,
      bytes: null,
      sha256: null,
    });
  }
  return parts;
}
