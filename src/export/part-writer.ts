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

/** Maximum open files of one part: without counts, a part may span any number of days. */
const MAX_OPEN = 64;

/** Files have temporary names until they are complete and on disk. */
export class PartWriter {
  readonly #directory: string;
  readonly #file: string;
  readonly #sort: ((items: Items) => ReadonlyMap<string, Items>) | undefined;
  /** By folder, the least recently written first. */
  readonly #files = new Map<string, PartFile>();

  private constructor(directory: string, file: string, isPartitioned: boolean) {
    this.#directory = directory;
    this.#file = file;
    this.#sort = isPartitioned ? createSorter() : undefined;
  }

  static async create(directory: string, { file }: Pick<Part, 'file'>): Promise<PartWriter> {
    const isPartitioned = folderOf(file) !== '';
    const writer = new PartWriter(directory, file, isPartitioned);
    // Without partitions even an empty part has a file.
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
    if (this.#files.size > MAX_OPEN) await [...this.#files.values()].at(-1 - MAX_OPEN)?.rest();
    return file;
  }

  #pathIn(folder: string): string {
    return path.posix.join(folder, path.posix.basename(this.#file));
  }
}

const NOTHING_SHA256 = hash('sha256', '');

class PartFile {
  readonly #file: string;
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

  async rest(): Promise<void> {
    await this.#append(await this.#encoder.flush());
    await this.#close();
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async commit(): Promise<{ bytes: number; sha256: string }> {
    await this.#append(await this.#encoder.end());
    const handle = await this.#open();
    await handle.sync();
    await this.#close();
    await renameOver(this.#temporary, this.#file);
    // The export's own directory is synced with its manifest.
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
    // Unlike `write`, `appendFile` never stops early on a nearly full disk: it writes everything or fails.
    await handle.appendFile(chunk);
  }
}

/** Creates a day's folder durably, with the permissions of the export's directory. */
async function createFolder(folder: string): Promise<void> {
  const isThere = existsSync(folder);
  makeOwnFolder(folder, 0o777);
  if (!isThere) await syncFolder(path.dirname(folder));
}
