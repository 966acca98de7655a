import { createHash, hash } from 'node:crypto';
import { existsSync, type Stats } from 'node:fs';
import { type FileHandle, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeOwnFolder } from '../files/folders.ts';
import { createUnfinished, renameOver, reopenToAppend, syncFolder } from '../files/whole-files.ts';
import type { Items } from '../items/items.ts';
import { folderOf, type Held, type Part, type PartitionFile } from './export-part.ts';
import type { PartEncoder } from './part-format.ts';
import { formatOf } from './part-formats.ts';
import { createSorter } from './partitions.ts';

/**
 * Files of one part that are open at once: one for each day, and a search without counts may meet any number
 * of days.
 */
const MOST_OPEN = 64;

/**
 * A part that is being written: a file or, with partitions, one in the folder of each day that its events
 * have. The files have temporary names until they are complete and on the disk.
 */
export class PartWriter {
  readonly #directory: string;
  /** The path of the part's own file, as the manifest has it. */
  readonly #file: string;
  readonly #sort: ((items: Items) => ReadonlyMap<string, Items>) | undefined;
  /** By folder; the one that was written last comes last. */
  readonly #files = new Map<string, PartFile>();

  private constructor(directory: string, file: string, isPartitioned: boolean) {
    this.#directory = directory;
    this.#file = file;
    this.#sort = isPartitioned ? createSorter() : undefined;
  }

  static async create(directory: string, { file }: Pick<Part, 'file'>): Promise<PartWriter> {
    const isPartitioned = folderOf(file) !== '';
    const writer = new PartWriter(directory, file, isPartitioned);
    // Without partitions a part without events has a file too.
    if (!isPartitioned) await writer.#fileIn('');
    return writer;
  }

  get events(): number {
    return [...this.#files.values()].reduce((sum, { events }) => sum + events, 0);
  }

  async add(items: Items): Promise<void> {
    if (items.count === 0) return;
    for (const [folder, its] of this.#sort?.(items) ?? [['', items] as const])
      await (await this.#fileIn(folder)).add(its);
  }

  /** Makes the files durable and gives them their final names. */
  async commit(): Promise<Held> {
    const own = this.#files.get(folderOf(this.#file));
    const written = (await own?.commit()) ?? { bytes: 0, sha256: NOTHING_SHA256 };
    const strays: PartitionFile[] = [];
    for (const [folder, file] of this.#files)
      if (file !== own)
        strays.push({ file: this.#pathIn(folder), events: file.events, ...(await file.commit()) });
    return { events: this.events, ...written, ...(strays.length > 0 ? { strays } : {}) };
  }

  async discard(): Promise<void> {
    for (const file of this.#files.values()) await file.discard();
  }

  async #fileIn(folder: string): Promise<PartFile> {
    const known = this.#files.get(folder);
    const file = known ?? (await PartFile.create(this.#directory, this.#pathIn(folder)));
    this.#files.delete(folder);
    this.#files.set(folder, file);
    if (this.#files.size > MOST_OPEN) await [...this.#files.values()].at(-1 - MOST_OPEN)?.rest();
    return file;
  }

  #pathIn(folder: string): string {
    return path.posix.join(folder, path.posix.basename(this.#file));
  }
}

const NOTHING_SHA256 = hash('sha256', '');

/** A file that is being written under a temporary name. */
class PartFile {
  readonly #file: string;
  /** False in the export's own folder. */
  readonly #isInFolder: boolean;
  readonly #encoder: PartEncoder;
  readonly #hash = createHash('sha256');
  readonly #temporary: string;
  readonly #created: Stats;
  #handle: FileHandle | undefined;
  #bytes = 0;
  events = 0;

  private constructor(
    file: string,
    isInFolder: boolean,
    encoder: PartEncoder,
    unfinished: { readonly temporary: string; readonly handle: FileHandle; readonly created: Stats },
  ) {
    this.#file = file;
    this.#isInFolder = isInFolder;
    this.#encoder = encoder;
    this.#temporary = unfinished.temporary;
    this.#created = unfinished.created;
    this.#handle = unfinished.handle;
  }

  static async create(directory: string, file: string): Promise<PartFile> {
    const folder = folderOf(file);
    if (folder !== '') await createFolder(path.join(directory, folder));
    const place = path.join(directory, file);
    const encoder = (await formatOf(file)).createEncoder();
    const { temporary, handle } = await createUnfinished(place, 0o600);
    const created = await handle.stat();
    return new PartFile(place, folder !== '', encoder, { temporary, handle, created });
  }

  async add(items: Items): Promise<void> {
    this.events += items.count;
    await this.#append(await this.#encoder.add(items));
  }

  /** Writes what is held back, and closes the file until it is written again. */
  async rest(): Promise<void> {
    await this.#append(await this.#encoder.flush());
    await this.#close();
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** Makes the file durable and gives it its final name. */
  async commit(): Promise<{ bytes: number; sha256: string }> {
    await this.#append(await this.#encoder.end());
    const handle = await this.#open();
    await handle.sync();
    await this.#close();
    await renameOver(this.#temporary, this.#file);
    // The export's own folder is synced with its manifest.
    if (this.#isInFolder) await syncFolder(path.dirname(this.#file));
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async discard(): Promise<void> {
    await this.#close().catch(() => undefined);
    await rm(this.#temporary, { force: true });
  }

  async #open(): Promise<FileHandle> {
    this.#handle ??= await reopenToAppend(this.#temporary, this.#created);
    return this.#handle;
  }

  async #append(chunk: Buffer): Promise<void> {
    if (chunk.length === 0) return;
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    const handle = await this.#open();
    // `write` may take less than all of it, on a disk that is nearly full; `appendFile` goes on until it is
    // all there or fails.
    await handle.appendFile(chunk);
  }
}

/** Makes the folder of a day if it is missing, with the permissions of the export's own, and durably. */
async function createFolder(folder: string): Promise<void> {
  const isThere = existsSync(folder);
  makeOwnFolder(folder, 0o777);
  if (!isThere) await syncFolder(path.dirname(folder));
}
