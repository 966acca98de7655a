import { createHash } from 'node:crypto';
import { type FileHandle, stat } from 'node:fs/promises';
import path from 'node:path';
import { faultText, HooktrailError, ServiceError } from '../errors.ts';
import { openToRead, readSlice } from '../files/whole-files.ts';
import type { Items } from '../items/items.ts';
import { identified } from '../paging/page.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import { type Manifest, readManifest } from './export-manifest.ts';
import {
  filesHolding,
  filesOf,
  folderOf,
  mayRepeat,
  overlap,
  type Part,
  type PartitionFile,
} from './export-part.ts';
import type { StoredFile } from './part-format.ts';
import { formatOf, PIECE_BYTES } from './part-formats.ts';
import { NO_DAY_FOLDER } from './partitions.ts';

export class DamagedPartError extends ServiceError {
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
 * Checks each file's checksum before yielding its events, whose JSON was validated when written. Throws
 * `DamagedPartError`, or `ServiceError` if a file is unreadable, which proves no damage.
 */
export async function* readPart(directory: string, part: Part): AsyncGenerator<Items> {
  for (const file of filesOf(part)) yield* readFileOfPart(directory, file);
}

async function* readFileOfPart(directory: string, file: PartitionFile): AsyncGenerator<Items> {
  const format = await formatOf(file.file);
  const content = await openChecked(directory, file);
  let events = 0;
  try {
    for await (const items of format.read(content)) {
      events += items.count;
      yield items;
    }
  } catch (error) {
    // Errors of the formats have no system call.
    const isOfFile = (error as NodeJS.ErrnoException).syscall !== undefined;
    throw isOfFile ? unreadable(path.join(directory, file.file), error as NodeJS.ErrnoException) : error;
  } finally {
    await content.close();
  }
  if (events !== file.events)
    throw new DamagedPartError(
      directory,
      file.file,
      `holds ${eventsText(events)} instead of ${grouped(file.events)}`,
    );
}

export async function keysOf(directory: string, parts: readonly Part[]): Promise<ReadonlySet<number>> {
  return keysIn(directory, parts.flatMap(filesOf));
}

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

/** Settled parts still have the earlier state of these events. Undefined if no update is running. */
export async function keysReadAgain(directory: string, { overlapFrom, parts }: Manifest) {
  if (!overlapFrom) return undefined;
  const earlier = parts.filter((part) => mayRepeat(part, overlapFrom));
  const added = parts.filter((part) => !part.isSettled && part.read);
  // An update may add any number of events, few of which existed before.
  return await keysOf(
    directory,
    added.filter((part) => earlier.some((one) => overlap(one, part))),
  );
}

/** Checks the checksum. The open file does not change: a replacement is another file. */
async function openChecked(directory: string, expected: PartitionFile): Promise<OpenFile> {
  const { file: name, bytes, sha256 } = expected;
  const file = path.join(directory, name);
  const refuse = async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw await damagedOrReplaced(directory, expected, 'is missing');
    throw unreadable(file, error);
  };
  const found = await stat(file).catch(refuse);
  if (!found.isFile()) throw await damagedOrReplaced(directory, expected, 'is not a file');
  if (found.size !== bytes)
    throw await damagedOrReplaced(directory, expected, `is ${found.size} instead of ${bytes} bytes long`);
  const handle = await openToRead(file).catch(refuse);
  const content: OpenFile = {
    bytes,
    pieces: () => piecesOf(handle, bytes),
    slice: (start, end) => readSlice(handle, start, end),
    close: () => handle.close(),
  };
  try {
    const isRight = (await checksumOf(content)) === sha256;
    if (!isRight) throw await damagedOrReplaced(directory, expected, 'was changed: its checksum differs');
    return content;
  } catch (error) {
    await content.close();
    throw error instanceof HooktrailError ? error : unreadable(file, error as NodeJS.ErrnoException);
  }
}

interface OpenFile extends StoredFile {
  close(): Promise<void>;
}

async function checksumOf(content: StoredFile): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of content.pieces()) digest.update(piece);
  return digest.digest('hex');
}

function unreadable(file: string, error: NodeJS.ErrnoException): ServiceError {
  return new ServiceError(`${file} cannot be read: ${faultText(error)}`, { cause: error });
}

async function* piecesOf(handle: FileHandle, bytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; at += PIECE_BYTES)
    yield await readSlice(handle, at, Math.min(at + PIECE_BYTES, bytes));
}

/** A running export may have replaced the file since the manifest was read. */
async function damagedOrReplaced(
  directory: string,
  { file, sha256 }: PartitionFile,
  damage: string,
): Promise<ServiceError> {
  const isIt = (one: PartitionFile) => one.file === file && one.sha256 === sha256;
  const isListed = (part: Part) =>
    filesOf(part).some(isIt) || (part.lost && filesHolding(part.file, part.lost.held).some(isIt));
  const isThere = (await readManifest(directory))?.parts.some(isListed) ?? true;
  if (isThere) return new DamagedPartError(directory, file, damage);
  return new ServiceError(`${directory} was updated while it was read`, { next: 'run the command again' });
}
