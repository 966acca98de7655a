import { createHash, hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { faultText, ServiceError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';
import { renameOver, syncFolder } from '../files/whole-files.ts';
import type { Items } from '../items/items.ts';
import { identified } from '../paging/page.ts';
import type { Reporter } from '../terminal/reporter.ts';
import {
  eventsIn,
  filesOf,
  folderOf,
  type Lost,
  type Manifest,
  type Part,
  type PartitionFile,
  readManifest,
  writeManifest,
} from './export-manifest.ts';
import type { PartEncoder } from './part-format.ts';
import { formatOf } from './part-formats.ts';
import { createSorter, NO_DAY_FOLDER } from './partitions.ts';

/** What a finished part holds. */
export type Written = Pick<Part, 'strays'> & Pick<PartitionFile, 'events' | 'bytes' | 'sha256'>;

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
  async commit(): Promise<Written> {
    const own = this.#files.get(folderOf(this.#file));
    const written = (await own?.commit()) ?? { bytes: 0, sha256: NOTHING_SHA256 };
    const strays: PartitionFile[] = [];
    for (const [folder, file] of this.#files)
      if (file !== own)
        strays.push({ file: this.#pathIn(folder), events: file.events, ...(await file.commit()) });
    return { events: this.events, ...written, strays: strays.length > 0 ? strays : undefined };
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
  #handle: FileHandle | undefined;
  #bytes = 0;
  events = 0;

  private constructor(file: string, isInFolder: boolean, encoder: PartEncoder, handle: FileHandle) {
    this.#file = file;
    this.#isInFolder = isInFolder;
    this.#encoder = encoder;
    this.#handle = handle;
  }

  static async create(directory: string, file: string): Promise<PartFile> {
    const folder = folderOf(file);
    if (folder !== '') await createFolder(path.join(directory, folder));
    const place = path.join(directory, file);
    const encoder = (await formatOf(file)).createEncoder();
    return new PartFile(place, folder !== '', encoder, await open(`${place}.tmp`, 'w', 0o600));
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
    await renameOver(`${this.#file}.tmp`, this.#file);
    // The export's own folder is synced with its manifest.
    if (this.#isInFolder) await syncFolder(path.dirname(this.#file));
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async discard(): Promise<void> {
    await this.#close().catch(() => undefined);
    await rm(`${this.#file}.tmp`, { force: true });
  }

  async #open(): Promise<FileHandle> {
    this.#handle ??= await open(`${this.#file}.tmp`, 'a', 0o600);
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
  if (existsSync(folder)) return;
  makeFolder(folder, 0o777);
  await syncFolder(path.dirname(folder));
}

/** The file of a part is not what the manifest says. */
export class DamagedPartError extends ServiceError {
  /** The path of the file below the export's directory. */
  readonly file: string;
  readonly damage: string;

  constructor(directory: string, file: string, damage: string) {
    super(`${path.join(directory, file)} ${damage}`, {
      next: 'repeat the export that made it: it keeps the damaged file aside, and downloads its events again',
    });
    this.file = file;
    this.damage = damage;
  }
}

/**
 * The events of a finished part, after its checksum was found to be right: they are the lines that were
 * written, whose JSON was checked before. Throws `DamagedPartError`, and `ServiceError` if the file cannot be
 * read, which says nothing about its content.
 */
export async function* readPart(directory: string, part: Part): AsyncGenerator<Items> {
  for (const file of filesOf(part)) yield* readFileOfPart(directory, file);
}

async function* readFileOfPart(directory: string, file: PartitionFile): AsyncGenerator<Items> {
  const content = await checkedBytes(directory, file);
  let events = 0;
  for await (const items of (await formatOf(file.file)).read(content)) {
    events += items.count;
    yield items;
  }
  if (events !== file.events)
    throw new DamagedPartError(directory, file.file, `holds ${events} events instead of ${file.events}`);
}

/** The keys of the events in finished parts. */
export async function keysOf(directory: string, parts: readonly Part[]): Promise<ReadonlySet<number>> {
  return keysIn(directory, parts.flatMap(filesOf));
}

/** The keys of the events without a time in finished parts of an export with partitions. */
export async function keysWithoutDay(
  directory: string,
  parts: readonly Part[],
): Promise<ReadonlySet<number>> {
  const files = parts.flatMap(filesOf).filter(({ file }) => folderOf(file) === NO_DAY_FOLDER);
  return keysIn(directory, files);
}

async function keysIn(directory: string, files: readonly PartitionFile[]): Promise<ReadonlySet<number>> {
  const keys = new Set<number>();
  for (const file of files)
    for await (const items of readFileOfPart(directory, file))
      for (const key of identified(items).keys) keys.add(key);
  return keys;
}

/**
 * The keys of events that an update has read again, until it ends: settled parts still hold them as they
 * were.
 */
export async function keysReadAgain(directory: string, { overlapFrom, parts }: Manifest) {
  const added = parts.filter(({ settled, sha256 }) => !settled && sha256);
  return overlapFrom ? await keysOf(directory, added) : undefined;
}

async function checkedBytes(
  directory: string,
  { file: name, bytes, sha256 }: PartitionFile,
): Promise<Buffer> {
  const file = path.join(directory, name);
  const damaged = async (damage: string) => {
    const isIt = (one: PartitionFile) => one.file === name && one.sha256 === sha256;
    const isListed = (part: Part) =>
      filesOf(part).some(isIt) || (part.lost !== undefined && filesOf(asBefore(part, part.lost)).some(isIt));
    // An export that is under way may have replaced it since the manifest was read.
    const isThere = (await readManifest(directory))?.parts.some(isListed) ?? true;
    if (isThere) return new DamagedPartError(directory, name, damage);
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

/** A part as it was before it was damaged. */
function asBefore({ lost: _, ...part }: Part, lost: Lost): Part {
  return { ...part, strays: undefined, ...lost };
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
 * Checks every file that the manifest lists. What is damaged or missing has to be read again: a damaged file
 * is kept under another name, and the export counts as unfinished. No file is touched if one cannot be read:
 * `ServiceError`.
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
    // An undamaged copy that the user put back in its place.
    const whole = part.lost && asBefore(part, part.lost);
    if (whole && !(await damageOf(directory, whole))) parts[index] = whole;
    else if (damage) damages.set(index, damage);
  }
  for (const [index, { file, damage }] of damages) {
    const part = parts[index] as Part;
    const aside = await setAside(directory, file);
    // All files of the part are written again: the service may return less than an intact one holds.
    for (const other of filesOf(part)) if (other.file !== file) await setAside(directory, other.file);
    const kept = aside ? `it is kept as ${aside}, and its events` : 'its events';
    reporter.warning(`${file} ${damage}; ${kept} will be downloaded again`);
    const { events, bytes, sha256, strays } = part;
    const lost = part.lost ?? { events: events ?? 0, bytes: bytes ?? 0, sha256: sha256 as string, strays };
    parts[index] = { ...part, sha256: null, lost };
  }
  if (parts.every((part, index) => part === manifest.parts[index])) return manifest;
  const isRepair = manifest.finishedAt !== null && damages.size > 0;
  const verified: Manifest = {
    ...manifest,
    // The service may have deleted events of the intact parts since: a repair does not compare them with it
    // again.
    parts: isRepair ? parts.map((part) => ({ ...part, settled: true })) : parts,
    finishedAt: isRepair ? null : manifest.finishedAt,
    events: manifest.finishedAt && !isRepair ? eventsIn({ parts }) : null,
  };
  await writeManifest(directory, verified);
  return verified;
}

/** Gives a damaged file another name, and returns it; undefined if there is no such file. */
async function setAside(directory: string, file: string): Promise<string | undefined> {
  const folder = path.join(directory, folderOf(file));
  if (!(await namesIn(folder)).includes(path.posix.basename(file))) return undefined;
  // The name matches neither part-* nor *.ndjson, and the place is no partition: other programs read those.
  const names = await namesIn(directory);
  const base = `damaged-${path.posix.basename(file)}`;
  let number = 1;
  while (names.includes(`${base}.${number}`)) number++;
  const aside = `${base}.${number}`;
  await rename(path.join(directory, file), path.join(directory, aside));
  await syncFolder(directory);
  if (folder !== directory) await syncFolder(folder);
  return aside;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    // A partition that was removed by hand.
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
