import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import type { Stats } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip, createGzip, type Gzip } from 'node:zlib';
import { ServiceError } from '../../errors.ts';
import { renameOver, syncFolder } from '../../files/whole-files.ts';
import { Items } from '../../json/items.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { type IdentifiedItems, readPage } from '../page.ts';
import { eventsIn, type Manifest, type Part, writeManifest } from './export-manifest.ts';

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

/** The file of a part is not what the manifest says. */
export class DamagedPartError extends ServiceError {
  readonly damage: string;

  constructor(file: string, damage: string) {
    super(`${file} ${damage}`, {
      next: 'run the `hooktrail events export` that made it once more: it keeps the damaged file aside, and downloads its events again',
    });
    this.damage = damage;
  }
}

/** Bytes of a file that are read at once. */
export const PIECE_BYTES = 1 << 19;

/**
 * The bytes of a finished part, held against the manifest: those after the last one are an error if the checksum
 * differs. Throws `DamagedPartError`, and `ServiceError` if the file cannot be read, which says nothing about its content.
 */
export async function* readPart(directory: string, part: Part): AsyncGenerator<Buffer> {
  const file = path.join(directory, part.file);
  const hash = createHash('sha256');
  let handle: FileHandle | undefined;
  const reading = async <T>(step: () => Promise<T>): Promise<T> => {
    try {
      return await step();
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new ServiceError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
    }
  };
  try {
    const opened = await reading(() => openPart(file, part));
    handle = opened;
    for (;;) {
      const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      const { bytesRead } = await reading(() => opened.read(piece, 0, PIECE_BYTES, null));
      if (bytesRead === 0) break;
      hash.update(piece.subarray(0, bytesRead));
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    // A fault of closing changes nothing about the bytes that were read.
    await handle?.close().catch(() => undefined);
  }
  if (hash.digest('hex') !== part.sha256)
    throw new DamagedPartError(file, 'was changed: its checksum differs');
}

async function openPart(file: string, part: Part): Promise<FileHandle> {
  let found: Stats;
  try {
    found = await stat(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new DamagedPartError(file, 'is missing');
    throw error;
  }
  if (!found.isFile()) throw new DamagedPartError(file, 'is not a file');
  if (found.size !== part.bytes)
    throw new DamagedPartError(file, `has ${found.size} bytes instead of ${part.bytes}`);
  return await open(file);
}

/** The text of a part: its bytes, decompressed if they are gzip. Throws as `readPart` does. */
async function* textOf(directory: string, part: Part, raw: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* part.file.endsWith('.gz') ? gunzipped(raw) : raw;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const file = path.join(directory, part.file);
    throw new DamagedPartError(file, `cannot be decompressed: ${(error as Error).message}`);
  }
}

/** The text of a part; after its last bytes comes an error if the number of events is wrong. Throws as `readPart` does. */
async function* readPartText(directory: string, part: Part): AsyncGenerator<Buffer> {
  let events = 0;
  for await (const piece of textOf(directory, part, readPart(directory, part))) {
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) events++;
    yield piece;
  }
  if (events !== part.events) throw wrongCount(directory, part, events);
}

function wrongCount(directory: string, part: Part, events: number): DamagedPartError {
  const file = path.join(directory, part.file);
  return new DamagedPartError(file, `holds ${events} events instead of ${part.events}`);
}

/** Decompresses gzip (RFC 1952). Throws the errors of the source, and those of zlib. */
export async function* gunzipped(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const raw = Readable.from(source);
  const text = raw.pipe(createGunzip({ chunkSize: PIECE_BYTES }));
  raw.on('error', (error) => text.destroy(error));
  try {
    yield* text as AsyncIterable<Buffer>;
  } finally {
    raw.destroy();
  }
}

/**
 * Checks every file that the manifest lists. What is damaged or missing has to be read again: a damaged file is kept
 * under another name, and the export counts as unfinished. No file is touched if one cannot be read: `ServiceError`.
 */
export async function verifyExport(
  directory: string,
  manifest: Manifest,
  reporter: Pick<Reporter, 'warning'>,
  signal: AbortSignal,
): Promise<Manifest> {
  const damages = new Map<number, DamagedPartError>();
  const parts = [...manifest.parts];
  let isChanged = false;
  for (const [index, part] of manifest.parts.entries()) {
    signal.throwIfAborted();
    const damage = part.sha256 ? await damageOf(directory, part) : undefined;
    if (!damage) continue;
    const { lost, ...found } = part;
    // An undamaged copy that the user put back in its place.
    const isRestored = lost && !(await damageOf(directory, { ...found, ...lost }));
    isChanged = true;
    if (isRestored) parts[index] = { ...found, ...lost };
    else damages.set(index, damage);
  }
  for (const [index, { damage }] of damages) {
    const part = parts[index] as Part & { sha256: string };
    const aside = await setAside(directory, part.file);
    const kept = aside ? `it is kept as ${aside}, and its events` : 'its events';
    reporter.warning(`${part.file} ${damage}; ${kept} will be downloaded again`);
    const { events, bytes, sha256 } = part;
    const lost = part.lost ?? { events: events ?? 0, bytes: bytes ?? 0, sha256 };
    parts[index] = { ...part, sha256: null, lost };
  }
  const isFinished = manifest.finishedAt !== null && damages.size === 0;
  const verified = {
    ...manifest,
    // The service may have deleted events of the intact parts since: a repair does not compare them with it again.
    parts: manifest.finishedAt && !isFinished ? parts.map((part) => ({ ...part, settled: true })) : parts,
    finishedAt: isFinished ? manifest.finishedAt : null,
    events: isFinished ? eventsIn({ parts }) : null,
  };
  if (isChanged) await writeManifest(directory, verified);
  return verified;
}

async function damageOf(directory: string, part: Part): Promise<DamagedPartError | undefined> {
  try {
    await checkPart(directory, part);
    return undefined;
  } catch (error) {
    if (error instanceof DamagedPartError) return error;
    throw error;
  }
}

/** Throws as `readPart` does. */
export async function checkPart(directory: string, part: Part): Promise<void> {
  for await (const _ of readPartText(directory, part));
}

/** Gives a damaged file another name, and returns it; undefined if there is no such file. */
async function setAside(directory: string, file: string): Promise<string | undefined> {
  const names = await readdir(directory);
  if (!names.includes(file)) return undefined;
  // The name matches neither part-* nor *.ndjson: other programs read those.
  let number = 1;
  while (names.includes(`damaged-${file}.${number}`)) number++;
  const aside = `damaged-${file}.${number}`;
  await rename(path.join(directory, file), path.join(directory, aside));
  await syncFolder(directory);
  return aside;
}

/** The events of a finished part. Throws as `readPart` does. */
export async function* itemsOf(directory: string, part: Part): AsyncGenerator<IdentifiedItems> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of readPartText(directory, part)) {
    const all = Buffer.concat([rest, piece]);
    const end = all.lastIndexOf(10) + 1;
    rest = all.subarray(end);
    if (end === 0) continue;
    // JSON strings contain no raw line feed, so each line feed separates two items.
    const items = all.subarray(0, end - 1);
    for (let at = items.indexOf(10); at !== -1; at = items.indexOf(10, at + 1)) items[at] = 0x2c;
    yield readPage(Buffer.concat([Buffer.from('{"items":['), items, Buffer.from(']}')])).items;
  }
}

/** The keys of a part's events, as `page.ts` computes them. */
export async function keysOf(directory: string, part: Part): Promise<Set<number>> {
  const keys = new Set<number>();
  for await (const items of itemsOf(directory, part)) for (const key of items.keys) keys.add(key);
  return keys;
}

/** Parts that are larger than this are read twice: to be checked, and then for their events. */
const HELD_BYTES = 64 << 20;

/**
 * The events of a part, after its checksum was found to be right: they are the lines that were written, whose JSON was
 * checked before. Throws as `readPart` does.
 */
export async function* checkedItems(directory: string, part: Part): AsyncGenerator<Items> {
  const held: Buffer[] = [];
  const isHeld = (part.bytes ?? 0) <= HELD_BYTES;
  for await (const piece of readPart(directory, part)) if (isHeld) held.push(piece);
  const raw = isHeld ? eachOf(held) : readPart(directory, part);
  let rest: Buffer = Buffer.alloc(0);
  let events = 0;
  for await (const piece of textOf(directory, part, raw)) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const spans: number[] = [];
    let start = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      spans.push(start, end);
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    events += spans.length / 2;
    if (spans.length > 0) yield new Items(bytes.subarray(0, start), spans);
  }
  if (events !== part.events) throw wrongCount(directory, part, events);
}

async function* eachOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}
