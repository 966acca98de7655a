import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { createGunzip, createGzip, type Gzip } from 'node:zlib';
import { renameOver } from '../../files/replace-file.ts';
import type { KeepItems } from '../../json/item-conditions.ts';
import type { Items } from '../../json/items.ts';
import { type IdentifiedItems, readPage } from '../page.ts';
import type { Manifest, Part } from './export-manifest.ts';
import type { SliceSink, SliceToRead } from './export-slices.ts';

/** A part that is being written. It has a temporary name until it is complete and on the disk. */
export class PartFile {
  readonly #file: string;
  readonly #handle: FileHandle;
  readonly #hash: Hash = createHash('sha256');
  readonly #gzip: Gzip | undefined;
  #written: Promise<void> = Promise.resolve();
  #bytes = 0;
  events = 0;

  private constructor(file: string, handle: FileHandle, gzip: boolean) {
    this.#file = file;
    this.#handle = handle;
    if (!gzip) return;
    this.#gzip = createGzip();
    this.#gzip.on('data', (chunk: Buffer) => {
      this.#written = this.#written.then(() => this.#store(chunk));
      // The next caller that awaits it gets the error. Until then, a full disk must not end the process.
      this.#written.catch(() => undefined);
    });
  }

  static async create(directory: string, part: Part): Promise<PartFile> {
    const file = path.join(directory, part.file);
    return new PartFile(file, await open(temporary(file), 'w', 0o600), part.file.endsWith('.gz'));
  }

  async add(items: Items): Promise<void> {
    if (items.count === 0) return;
    this.events += items.count;
    const lines = items.toLines();
    if (!this.#gzip) return this.#store(lines);
    if (!this.#gzip.write(lines)) await once(this.#gzip, 'drain');
    await this.#written;
  }

  /** Makes the file durable and gives it its final name. */
  async commit(): Promise<{ events: number; bytes: number; sha256: string }> {
    if (this.#gzip) {
      this.#gzip.end();
      await once(this.#gzip, 'end');
      await this.#written;
    }
    await this.#handle.sync();
    await this.#handle.close();
    await renameOver(temporary(this.#file), this.#file);
    return { events: this.events, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async discard(): Promise<void> {
    this.#gzip?.destroy();
    await this.#written.catch(() => undefined);
    await this.#handle.close().catch(() => undefined);
    await rm(temporary(this.#file), { force: true });
  }

  async #store(chunk: Buffer): Promise<void> {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    // `write` may take less than all of it, on a disk that is nearly full; `appendFile` goes on until it is all there or fails.
    await this.#handle.appendFile(chunk);
  }
}

function temporary(file: string): string {
  return `${file}.tmp`;
}

/** Describes what is wrong with the file of a part, or returns undefined if it is intact. */
export async function faultOf(directory: string, part: Part): Promise<string | undefined> {
  const file = path.join(directory, part.file);
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) return 'is missing';
  if (found.size !== part.bytes) return `has ${found.size} bytes instead of ${part.bytes}`;
  const hash = createHash('sha256');
  let events = 0;
  const raw = createReadStream(file, { highWaterMark: 1 << 18 });
  const text = part.file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  raw.on('data', (chunk) => hash.update(chunk));
  raw.on('error', (error) => text.destroy(error));
  try {
    for await (const chunk of text) {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) events++;
    }
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
  if (hash.digest('hex') !== part.sha256) return 'was changed: its checksum differs';
  return events === part.events ? undefined : `holds ${events} events instead of ${part.events}`;
}

/** The keys of a part's events, as `page.ts` computes them. */
export async function keysOf(directory: string, part: Part): Promise<Set<number>> {
  const keys = new Set<number>();
  for await (const items of itemsOf(directory, part)) for (const key of items.keys) keys.add(key);
  return keys;
}

/** The events of a part that lies whole in the directory. */
export async function* itemsOf(directory: string, part: Part): AsyncGenerator<IdentifiedItems> {
  const raw = createReadStream(path.join(directory, part.file), { highWaterMark: 1 << 18 });
  const text = part.file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  raw.on('error', (error) => text.destroy(error));
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of text as AsyncIterable<Buffer>) {
    const all = Buffer.concat([rest, chunk]);
    const end = all.lastIndexOf(10) + 1;
    rest = all.subarray(end);
    if (end === 0) continue;
    // JSON strings contain no raw line feed, so each line feed separates two items.
    const items = all.subarray(0, end - 1);
    for (let at = items.indexOf(10); at !== -1; at = items.indexOf(10, at + 1)) items[at] = 0x2c;
    yield readPage(Buffer.concat([Buffer.from('{"items":['), items, Buffer.from(']}')])).items;
  }
}

export interface PartToRead extends SliceToRead {
  readonly index: number;
}

interface Open {
  readonly file: PartFile;
  readonly index: number;
  /** Keys of events that the neighbouring files hold. */
  readonly newer: ReadonlySet<number>;
  readonly older: ReadonlySet<number>;
  readonly keys: Set<number>;
  /** True if an older slice of the same query needs the keys. */
  readonly isOverlapped: boolean;
}

const NONE: ReadonlySet<number> = new Set();

/** Called when a part is complete and on the disk. */
export type OnPart = (index: number, part: Part) => Promise<void>;

/**
 * Writes slices to their files. A slice reaches a second into the next older slice of the same query: events that are
 * in the newer file are left out of the older one.
 */
export class ExportSink implements SliceSink<PartToRead> {
  readonly #directory: string;
  readonly #parts: () => Manifest['parts'];
  readonly #onPart: OnPart;
  readonly #onEvents: (change: number) => void;
  /** Keeps the events to write of those that the service found. */
  readonly #keep: KeepItems | undefined;
  #open: Open | undefined;
  /** The keys of the slice that was read last. */
  #last: { index: number; keys: ReadonlySet<number> } = { index: -1, keys: NONE };

  constructor(
    directory: string,
    parts: () => Manifest['parts'],
    onPart: OnPart,
    onEvents: (change: number) => void,
    keep?: KeepItems,
  ) {
    this.#keep = keep;
    this.#directory = directory;
    this.#parts = parts;
    this.#onPart = onPart;
    this.#onEvents = onEvents;
  }

  async begin({ index }: PartToRead): Promise<void> {
    await this.abandon();
    const newer = this.#last.index === index - 1 ? this.#last.keys : await this.#keysOf(index - 1, index);
    // The part is already there if it is being read again.
    const older = await this.#keysOf(index + 1, index);
    const file = await PartFile.create(this.#directory, this.#parts()[index] as Part);
    this.#open = {
      file,
      index,
      newer,
      older,
      keys: new Set(),
      isOverlapped: this.#isOneQuery(index, index + 1),
    };
  }

  async take(items: IdentifiedItems): Promise<void> {
    const { file, newer, older, keys, isOverlapped } = this.#open as Open;
    const fresh = items.without(newer).without(older);
    const due = this.#keep?.(fresh) ?? fresh;
    if (isOverlapped) for (const key of due.keys) keys.add(key);
    await file.add(due);
    this.#onEvents(due.count);
  }

  async end(counted: number | null): Promise<void> {
    const { file, index, keys } = this.#open as Open;
    const written = await file.commit();
    this.#open = undefined;
    this.#last = { index, keys };
    await this.#onPart(index, { ...(this.#parts()[index] as Part), ...written, counted });
  }

  /** Discards the part that is being written. */
  async abandon(): Promise<void> {
    if (!this.#open) return;
    const { file } = this.#open;
    this.#open = undefined;
    this.#onEvents(-file.events);
    await file.discard();
  }

  async #keysOf(index: number, neighbour: number): Promise<ReadonlySet<number>> {
    const part = this.#parts()[index];
    // An update reads events again that settled parts hold. They are removed from the settled parts afterwards.
    const isOwn = part?.settled === this.#parts()[neighbour]?.settled;
    const excludes = part?.sha256 && (isOwn || !part.settled) && this.#isOneQuery(index, neighbour);
    return excludes ? keysOf(this.#directory, part) : NONE;
  }

  #isOneQuery(a: number, b: number): boolean {
    return this.#parts()[a]?.query === this.#parts()[b]?.query;
  }
}
