import { ServiceError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { KeepItems } from '../items/item-filter.ts';
import { identified } from '../paging/page.ts';
import { readPages } from '../paging/read-pages.ts';
import { inSlots } from '../paging/request-slots.ts';
import { sideBySide } from '../paging/side-by-side.ts';
import type { Progress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import type { ExportClient } from './export-client.ts';
import { removeReplaced } from './export-directory.ts';
import { createManifestWriter, type Identity, type Manifest, partQuery } from './export-manifest.ts';
import {
  createNamer,
  eventsIn,
  filesOf,
  folderOf,
  mayRepeat,
  type Part,
  toBeReadAgain,
  trimmedPart,
  withReading,
} from './export-part.ts';
import { beginExport, planUpdate, warnOfLaterDated } from './export-plan.ts';
import { type PartClaim, PartClaims } from './part-claims.ts';
import { keysReadAgain, readPart } from './part-reader.ts';
import { PartWriter } from './part-writer.ts';
import { countAnyStatus, recount } from './recount.ts';

/** Maximum rounds of reading parts again that changed meanwhile. */
const MAX_ROUNDS = 5;
/** Maximum parts read at once, since each buffers what it has not written yet. */
const MAX_PARTS_AT_ONCE = 4;

interface Job {
  readonly directory: string;
  readonly filters: EventFilters;
  readonly client: ExportClient;
  readonly progress: Progress;
  readonly reporter: Pick<Reporter, 'warning'>;
}

/** The manifest is the run's state: each step is on disk before the next begins. */
export class ExportRun {
  readonly #job: Job;
  readonly #client: ExportClient;
  readonly #keep: KeepItems | undefined;
  readonly #ending = new AbortController();
  readonly #writeManifest: (manifest: Manifest) => Promise<void>;
  #manifest!: Manifest;
  #saved: Promise<void> = Promise.resolve();
  readonly #replaced = new Set<string>();
  #events = 0;

  constructor(job: Job) {
    this.#job = job;
    this.#client = { ...job.client, signal: AbortSignal.any([job.client.signal, this.#ending.signal]) };
    this.#keep = job.filters.createKeep();
    this.#writeManifest = createManifestWriter(job.directory);
  }

  /** Downloads until the export agrees with the service's counts, then updates it if requested. */
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
    for (const doubt of this.#keep?.doubts() ?? []) reporter.warning(doubt, { kind: 'usage' });
    return this.#manifest;
  }

  async #begin(planned: Manifest): Promise<void> {
    await warnOfLaterDated(this.#job.filters, this.#job.reporter, planned, this.#client);
    this.#manifest = planned;
    // An update at the export's own end has nothing to do.
    if (planned.finishedAt) return;
    await this.#save({});
    await this.#complete();
  }

  async #save(change: Partial<Manifest>): Promise<void> {
    this.#manifest = { ...this.#manifest, ...change };
    this.#job.progress.update({ total: expectedEvents(this.#manifest.parts) });
    const saved = this.#saved.then(() => this.#writeManifest(this.#manifest));
    this.#saved = saved.catch(() => undefined);
    await saved;
  }

  async #replacePart(index: number, part: Part): Promise<void> {
    await this.#replaceParts(this.#manifest.parts.with(index, part));
  }

  async #replaceParts(parts: readonly Part[]): Promise<void> {
    const replaced = this.#manifest.parts.filter((part, index) => part !== parts[index]);
    for (const { file } of replaced.flatMap(filesOf)) this.#replaced.add(file);
    await this.#save({ parts });
  }

  /** Reads missing parts, and changed ones again, until the files agree with the service. */
  async #complete(): Promise<void> {
    this.#events = eventsIn(this.#manifest.parts);
    this.#job.progress.update({ readBefore: this.#events });
    for (let round = 0; ; round++) {
      await this.#readMissing();
      this.#job.progress.update({ note: 'counting again' });
      const { changed, total } = await recount(this.#manifest, this.#client);
      const held = eventsIn(this.#manifest.parts);
      if (changed.length === 0 && (Number.isNaN(total) || total === held)) break;
      if (round === MAX_ROUNDS) throw incompleteError(held, total);
      const isChanged = new Set(changed);
      const parts = this.#manifest.parts.map((part, at) => (isChanged.has(at) ? toBeReadAgain(part) : part));
      await this.#replaceParts(parts);
      this.#events = eventsIn(parts);
    }
    await this.#removeRepeated();
    await this.#save({
      finishedAt: new Date(this.#client.clock.now()).toISOString(),
      events: eventsIn(this.#manifest.parts),
      overlapFrom: null,
    });
    await removeReplaced(this.#job.directory, this.#replaced, this.#manifest);
  }

  /** Each part enters the manifest as soon as its file is on disk. */
  async #readMissing(): Promise<void> {
    const { concurrency, signal } = this.#client;
    const { parts } = this.#manifest;
    const missing = [...parts.keys()].filter((at) => !parts[at]?.read);
    const ofAnyStatus = await countAnyStatus(this.#manifest, missing, this.#client);
    const claims = new PartClaims(this.#job.directory, () => this.#manifest, this.#keep);
    // Parts share the request slots of one.
    const client = inSlots(this.#client, concurrency);
    let atOnce = 0;
    const share = () => Math.max(1, Math.floor(concurrency() / atOnce));
    const read = async (index: number, ending: AbortSignal) => {
      atOnce++;
      try {
        const reading = { ...this.#client, ...client, concurrency: share, signal: ending };
        await this.#readPart(index, await claims.begin(index), reading, ofAnyStatus.get(index) ?? null);
      } finally {
        claims.end(index);
        atOnce--;
      }
    };
    await sideBySide(missing, read, () => Math.min(concurrency(), MAX_PARTS_AT_ONCE), signal);
  }

  async #readPart(
    index: number,
    claim: PartClaim,
    client: ExportClient,
    ofAnyStatus: number | null,
  ): Promise<void> {
    const part = this.#manifest.parts[index] as Part;
    const file = await PartWriter.create(this.#job.directory, part);
    try {
      let counted: number | null = null;
      let read = 0;
      const query = partQuery(this.#manifest, part);
      for await (const { items, total } of readPages(client, { ...client, query })) {
        read += items.count;
        // The service's count may include an event that joined a page after it was read.
        counted = total === undefined ? null : read;
        const due = await claim.take(items);
        await file.add(due);
        this.#events += due.count;
        this.#job.progress.update({ events: this.#events, note: '' });
      }
      const held = await file.commit();
      await this.#replacePart(index, withReading(part, { held, counted, ofAnyStatus }));
    } catch (error) {
      await file.discard();
      throw error;
    }
  }

  /** Removes events from earlier files that an update has read again, so only their later state remains. */
  async #removeRepeated(): Promise<void> {
    const directory = this.#job.directory;
    const { overlapFrom, parts } = this.#manifest;
    const again = await keysReadAgain(directory, this.#manifest);
    if (!overlapFrom || !again) return;
    const nameNext = createNamer(parts, this.#manifest);
    for (const [index, part] of parts.entries()) {
      if (!mayRepeat(part, overlapFrom)) continue;
      const file = nameNext(folderOf(part.file));
      const trimmed = await PartWriter.create(directory, { file });
      try {
        for await (const items of readPart(directory, part))
          await trimmed.add(identified(items).without(again));
        const isSame = trimmed.events === (part.read?.held.events ?? 0);
        if (isSame) await trimmed.discard();
        else await this.#replacePart(index, trimmedPart(part, file, await trimmed.commit()));
      } catch (error) {
        await trimmed.discard();
        throw error;
      }
    }
  }
}

/** Uses the service's counts for parts not read yet; undefined if there are none. */
function expectedEvents(parts: readonly Part[]): number | undefined {
  const unread = parts.filter(({ read }) => !read);
  if (unread.some(({ expected }) => expected === null)) return undefined;
  return unread.reduce((sum, { expected }) => sum + (expected ?? 0), eventsIn(parts));
}

function incompleteError(held: number, total: number): ServiceError {
  const counts = Number.isNaN(total)
    ? 'and their number changes while they are read'
    : `the service counts ${grouped(total)}`;
  return new ServiceError(
    `the export is not complete: ${eventsText(held)} ${held === 1 ? 'was' : 'were'} written, ${counts}`,
    {
      next: 'run the same command again; what is here is kept',
    },
  );
}
