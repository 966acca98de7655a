import type { Clock, Context } from '../../context.ts';
import { ServiceError } from '../../errors.ts';
import { waitText } from '../../http/retry.ts';
import type { Service } from '../../http/service.ts';
import { compareInstants, type Instant, instantAt } from '../../items/instant.ts';
import { startProgress } from '../../terminal/progress.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { version } from '../../version.ts';
import { adaptiveConcurrency } from '../adaptive-concurrency.ts';
import { askCount } from '../event-count.ts';
import type { EventFilters } from '../event-filters.ts';
import { type Query, searchUrl } from '../event-query.ts';
import { type FetchPage, pageFetcher } from '../fetch-page.ts';
import { sweep } from './export-directory.ts';
import {
  type Identity,
  type Manifest,
  type Part,
  partQuery,
  type SavedQuery,
  saved,
  writeManifest,
} from './export-manifest.ts';
import { type PlanOptions, planSlices } from './export-plan.ts';
import { ExportSink, type PartToRead } from './export-sink.ts';
import { readSlices } from './export-slices.ts';
import { countAnyStatus, recount } from './export-verify.ts';

export interface Export {
  readonly service: Service;
  readonly directory: string;
  readonly identity: Identity;
  readonly filters: EventFilters;
  /** What an earlier run left, its parts verified; undefined for a new export. */
  readonly earlier: Manifest | undefined;
  readonly pageSize: number;
  readonly concurrency: number;
  readonly context: Pick<Context, 'stderr' | 'environment' | 'clock' | 'signal'>;
  readonly reporter: Reporter;
}

/** How often parts that changed while the rest was read are read again. */
const MAX_ROUNDS = 5;

/** Downloads what is missing of an export until it is all that the service counts; returns the finished manifest. */
export async function runExport(task: Export): Promise<Manifest> {
  const { service, directory, context, reporter, pageSize } = task;
  const { clock, signal } = context;
  const { baseUrl } = service;
  const progress = startProgress(context, reporter, 'exporting');
  const { width: concurrency, onRetry } = adaptiveConcurrency(task.concurrency);
  const fetchPage = pageFetcher(service, clock, (attempt) => {
    onRetry(attempt);
    progress.update({ note: waitText(attempt) });
  });
  try {
    progress.update({ note: 'counting' });
    const options = { baseUrl, pageSize, concurrency, signal };
    let manifest =
      task.earlier ??
      (await beginExport(fetchPage, clock, { ...options, identity: task.identity, filters: task.filters }));
    await sweep(directory, new Set(manifest.parts.map(({ file }) => file)));
    if (!task.earlier) await writeManifest(directory, manifest);

    let events = eventsIn(manifest);
    const startedWith = events;
    const startedAt = clock.now();
    const total = expectedOf(manifest);
    const onEvents = (change: number) => {
      events += change;
      const seconds = (clock.now() - startedAt) / 1000;
      const rate = seconds > 0.1 ? (events - startedWith) / seconds : 0;
      const secondsLeft = total !== undefined && rate > 0 ? Math.max(0, total - events) / rate : undefined;
      progress.update({ events, total, rate, secondsLeft, note: '' });
    };
    const onPart = async (index: number, part: Part) => {
      manifest = { ...manifest, parts: manifest.parts.with(index, part) };
      await writeManifest(directory, manifest);
    };
    const sink = new ExportSink(directory, () => manifest.parts, onPart, onEvents, task.filters.keep);
    const read = async (indexes: readonly number[]) => {
      const ofAnyStatus = await countAnyStatus(fetchPage, manifest, indexes, options);
      manifest = {
        ...manifest,
        parts: manifest.parts.map((part, index) => ({
          ...part,
          ofAnyStatus: ofAnyStatus.get(index) ?? part.ofAnyStatus,
        })),
      };
      const slices = indexes.map((index): PartToRead => {
        const part = manifest.parts[index] as Part;
        return { index, query: partQuery(manifest, part), expected: part.counted ?? part.events };
      });
      try {
        await readSlices(fetchPage, slices, options, sink);
      } finally {
        await sink.abandon();
      }
    };
    await read([...manifest.parts.keys()].filter((index) => !manifest.parts[index]?.sha256));

    for (let round = 1; ; round++) {
      progress.update({ note: 'counting again' });
      const counts = await recount(fetchPage, manifest, options);
      if (counts.changed.length === 0 && (counts.total === undefined || counts.total === counts.held)) break;
      if (round > MAX_ROUNDS || counts.changed.length === 0) throw incomplete(counts.held, counts.total);
      const changed = new Set(counts.changed);
      const stale = (part: Part, index: number) => (changed.has(index) ? { ...part, sha256: null } : part);
      manifest = { ...manifest, parts: manifest.parts.map(stale) };
      // A crash from here on leaves them to the next run.
      await writeManifest(directory, manifest);
      events = eventsIn(manifest);
      await read(counts.changed);
    }
    manifest = {
      ...manifest,
      finishedAt: new Date(clock.now()).toISOString(),
      events: eventsIn(manifest),
    };
    await writeManifest(directory, manifest);
    return manifest;
  } finally {
    progress.stop();
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

export interface Beginning {
  readonly identity: Identity;
  readonly filters: EventFilters;
  readonly baseUrl: URL;
  readonly pageSize: number;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

/** Pages that a part holds: what a crash can cost. */
const PAGES_A_PART = 10;
/** More parts than this are made larger instead. */
const PARTS = 500;

/** Asks how much there is, holds it to events that exist by now, and plans the parts. */
export async function beginExport(
  fetchPage: FetchPage,
  clock: Clock,
  beginning: Beginning,
): Promise<Manifest> {
  const { baseUrl, filters, pageSize, concurrency, signal, identity } = beginning;
  const startedAt = new Date(clock.now()).toISOString();
  const count = (query: Query, abort: AbortSignal) => askCount(fetchPage, baseUrl, query, abort);

  const any = filters.queries(clock.now())[0] as Query;
  const { serviceTime } = await fetchPage(searchUrl(baseUrl, any, { start: 1, count: 1 }), signal);
  const queries = filters.queries(serviceTime ?? clock.now());
  const first = queries[0] as Query;
  // `Date` has no fraction: the next full second is the first that is surely behind the answer.
  const now = instantAt((Math.floor((serviceTime ?? clock.now()) / 1000) + 1) * 1000) as Instant;
  const pin = first.before && compareInstants(first.before, now) < 0 ? first.before : now;

  const savedQueries: SavedQuery[] = [];
  const parts: Part[] = [];
  for (const [index, query] of queries.entries()) {
    const held = { ...query, before: pin };
    savedQueries.push(saved(query, pin.text));
    const total = await count(held, signal);
    const target = Math.max(PAGES_A_PART * pageSize, Math.ceil((total ?? 0) / PARTS));
    const options: PlanOptions = { target, count, concurrency, signal };
    for (const slice of await planSlices(held, total, options)) {
      const number = String(parts.length + 1).padStart(6, '0');
      parts.push({
        file: `part-${number}.ndjson${identity.gzip ? '.gz' : ''}`,
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
  }
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
