import { createHash, hash } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gzip } from 'node:zlib';
import { faultText, ServiceError } from '../errors.ts';
import { renameOver, syncFolder } from '../files/whole-files.ts';
import { Items } from '../items/items.ts';
import { identified } from '../paging/page.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { eventsIn, type Manifest, type Part, readManifest, writeManifest } from './export-manifest.ts';

const compress = promisify(gzip);

/** A part that is being written. It has a temporary name until it is complete and on the disk. */
export class PartFile {
  readonly #file: string;
  readonly #handle: FileHandle;
  readonly #hash = createHash('sha256');
  #bytes = 0;
  events = 0;

  private constructor(file: string, handle: FileHandle) {
    this.#file = file;
    this.#handle = handle;
  }

  static async create(directory: string, { file }: Pick<Part, 'file'>): Promise<PartFile> {
    const place = path.join(directory, file);
    return new PartFile(place, await open(`${place}.tmp`, 'w', 0o600));
  }

  async add(items: Items): Promise<void> {
    if (items.count === 0) return;
    this.events += items.count;
    await this.#append(items.toLines());
  }

  /** Makes the file durable and gives it its final name. */
  async commit(): Promise<{ events: number; bytes: number; sha256: string }> {
    // No bytes at all are no gzip file.
    if (this.events === 0) await this.#append(Buffer.alloc(0));
    await this.#handle.sync();
    await this.#handle.close();
    await renameOver(`${this.#file}.tmp`, this.#file);
    return { events: this.events, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(`${this.#file}.tmp`, { force: true });
  }

  async #append(lines: Buffer): Promise<void> {
    // A gzip file may have any number of members (RFC 1952 section 2.2).
    const chunk = this.#file.endsWith('.gz') ? await compress(lines) : lines;
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    // `write` may take less than all of it, on a disk that is nearly full; `appendFile` goes on until it is all there or fails.
    await this.#handle.appendFile(chunk);
  }
}

/** Bytes of a file that are read at once. */
export const PIECE_BYTES = 1 << 19;
const NEWLINE = 0x0a;

/** The file of a part is not what the manifest says. */
export class DamagedPartError extends ServiceError {
  readonly damage: string;

  constructor(file: string, damage: string) {
    super(`${file} ${damage}`, {
      next: 'repeat the export that made it: it keeps the damaged file aside, and downloads its events again',
    });
    this.damage = damage;
  }
}

/**
 * The events of a finished part, after its checksum was found to be right: they are the lines that were written, whose JSON
 * was checked before. Throws `DamagedPartError`, and `ServiceError` if the file cannot be read, which says nothing about
 * its content.
 */
export async function* readPart(directory: string, part: Part): AsyncGenerator<Items> {
  const file = path.join(directory, part.file);
  const bytes = Readable.from([await checkedBytes(file, part)]);
  let events = 0;
  for await (const items of linesOf(file.endsWith('.gz') ? gunzipped(bytes) : bytes)) {
    events += items.count;
    yield items;
  }
  if (events !== part.events)
    throw new DamagedPartError(file, `holds ${events} events instead of ${part.events}`);
}

/** The keys of the events in finished parts. */
export async function keysOf(directory: string, parts: readonly Part[]): Promise<ReadonlySet<number>> {
  const keys = new Set<number>();
  for (const part of parts)
    for await (const items of readPart(directory, part))
      for (const key of identified(items).keys) keys.add(key);
  return keys;
}

/** The keys of events that an update has read again, until it ends: settled parts still hold them as they were. */
export async function keysReadAgain(directory: string, { overlapFrom, parts }: Manifest) {
  const added = parts.filter(({ settled, sha256 }) => !settled && sha256);
  return overlapFrom ? await keysOf(directory, added) : undefined;
}

async function checkedBytes(file: string, { file: name, bytes, sha256 }: Part): Promise<Buffer> {
  const directory = path.dirname(file);
  const damaged = async (damage: string) => {
    const isListed = (part: Part) => part.file === name && [part.sha256, part.lost?.sha256].includes(sha256);
    // An export that is under way may have replaced it since the manifest was read.
    const isThere = (await readManifest(directory))?.parts.some(isListed) ?? true;
    if (isThere) return new DamagedPartError(file, damage);
    return new ServiceError(`${directory} was updated while it was read`, { next: 'run the command again' });
  };
  const unreadable = async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw await damaged('is missing');
    throw new ServiceError(`${file} cannot be read: ${faultText(error)}`, { cause: error });
  };
  const found = await stat(file).catch(unreadable);
  if (!found.isFile()) throw await damaged('is not a file');
  if (found.size !== bytes) throw await damaged(`has ${found.size} bytes instead of ${bytes}`);
  const content = await readFile(file).catch(unreadable);
  if (hash('sha256', content) === sha256) return content;
  throw await damaged('was changed: its checksum differs');
}

async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Items> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const spans: number[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      spans.push(start, end);
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    if (spans.length > 0) yield new Items(bytes.subarray(0, start), spans);
  }
}

/** Decompresses gzip (RFC 1952). Throws the errors of the source, and those of zlib. */
export function gunzipped(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // The reader of the text gets the error, whichever stream it comes from.
  return pipeline(source, createGunzip({ chunkSize: PIECE_BYTES }), () => undefined);
}

async function damageOf(directory: string, part: Part): Promise<DamagedPartError | undefined> {
  try {
    for await (const _ of readPart(directory, part));
    return undefined;
  } catch (error) {
    if (error instanceof DamagedPartError) return error;
    throw error;
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
  const parts = [...manifest.parts];
  const damages = new Map<number, DamagedPartError>();
  for (const [index, part] of parts.entries()) {
    signal.throwIfAborted();
    const damage = part.sha256 ? await damageOf(directory, part) : undefined;
    if (!damage) continue;
    // An undamaged copy that the user put back in its place.
    const { lost, ...found } = part;
    if (lost && !(await damageOf(directory, { ...found, ...lost }))) parts[index] = { ...found, ...lost };
    else damages.set(index, damage);
  }
  for (const [index, { damage }] of damages) {
    const part = parts[index] as Part;
    const aside = await setAside(directory, part.file);
    const kept = aside ? `it is kept as ${aside}, and its events` : 'its events';
    reporter.warning(`${part.file} ${damage}; ${kept} will be downloaded again`);
    const { events, bytes, sha256 } = part;
    const lost = part.lost ?? { events: events ?? 0, bytes: bytes ?? 0, sha256: sha256 as string };
    parts[index] = { ...part, sha256: null, lost };
  }
  if (parts.every((part, index) => part === manifest.parts[index])) return manifest;
  const isRepair = manifest.finishedAt !== null && damages.size > 0;
  const verified: Manifest = {
    ...manifest,
    // The service may have deleted events of the intact parts since: a repair does not compare them with it again.
    parts: isRepair ? parts.map((part) => ({ ...part, settled: true })) : parts,
    finishedAt: isRepair ? null : manifest.finishedAt,
    events: manifest.finishedAt && !isRepair ? eventsIn({ parts }) : null,
  };
  await writeManifest(directory, verified);
  return verified;
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
