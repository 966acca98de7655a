import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { syncFolder } from '../files/replace-file.ts';
import { IdSet } from './id-set.ts';
import { JournalError, JournalFile, journalExists, unusableJournal } from './journal-file.ts';
import {
  HEADER,
  journalRecord,
  Kind,
  LONGEST_RECORD,
  RECORD_BYTES,
  scanRecords,
  secondsAt,
} from './journal-records.ts';

/** Bytes below which rewriting the file is not worth it. */
const WORTH_REWRITING = 64 * 1024;

/** Returns the ids that are now in a journal; none if there is no journal. Changes nothing. */
export async function readIds(file: string): Promise<IdSet> {
  if (!journalExists(file)) return new IdSet();
  const handle = await open(file, 'r');
  try {
    const ids = new IdSet(Math.floor((await handle.stat()).size / RECORD_BYTES));
    const stream = handle.createReadStream({
      start: HEADER.length,
      highWaterMark: 1 << 20,
      autoClose: false,
    });
    await readRecords(stream, (bytes, at) => ids.add(bytes, at + 1));
    return ids;
  } finally {
    await handle.close();
  }
}

/** A journal's open file and its content. */
export interface JournalContent {
  readonly file: JournalFile;
  readonly ids: IdSet;
  /** Bytes that belonged to no record. */
  readonly damaged: number;
}

/**
 * Opens the file of a journal. Creates it if it is missing, cuts off a torn end, and rewrites the file if more than a
 * quarter of it is no longer used. `keep`: milliseconds after which ids are forgotten. The caller holds the journal's
 * lock.
 */
export async function openContent(
  real: string,
  keep: number | undefined,
  { clock, machine }: Pick<Context, 'clock' | 'machine'>,
): Promise<JournalContent> {
  const now = secondsOf(clock.now());
  const oldest = keep === undefined ? 0 : secondsOf(clock.now() - keep);
  let file = JournalFile.open(real, machine.platform);
  try {
    let loaded = await load(file, oldest);
    const waste = loaded.waste + loaded.damaged;
    if (waste > WORTH_REWRITING && waste > file.size / 4 && (await isRewritten(file, oldest))) {
      file.close();
      file = JournalFile.open(real, machine.platform);
      loaded = { ...(await load(file, oldest)), damaged: loaded.damaged };
    }
    // This shows a former holder that it has lost the journal.
    await file.append(journalRecord(Kind.opened, Buffer.alloc(16), now));
    // A crash may have left records that are in the system's cache but not on the disk yet.
    await file.sync();
    return { file, ids: loaded.ids, damaged: loaded.damaged };
  } catch (error) {
    file.close();
    // The disk was already full.
    throw error instanceof JournalError ? unusableJournal(real, error.cause ?? error) : error;
  }
}

interface Loaded {
  readonly ids: IdSet;
  /** Bytes of records that are no longer used. */
  readonly waste: number;
  readonly damaged: number;
}

/**
 * Reads the ids, cuts off a torn end, and writes a new file's header. `oldest`: seconds; ids journaled before that are
 * left out.
 */
async function load(file: JournalFile, oldest: number): Promise<Loaded> {
  if (file.size < HEADER.length) {
    // A new file, or one whose creator crashed before it wrote the header.
    file.cut(0);
    await file.append(HEADER);
    await syncFolder(path.dirname(file.path));
  }
  const ids = new IdSet(Math.floor(file.size / RECORD_BYTES));
  const { end, damaged } = await readRecords(file.pieces(HEADER.length), (bytes, at) => {
    if (secondsAt(bytes, at) >= oldest) ids.add(bytes, at + 1);
  });
  const waste = end - damaged - ids.size * RECORD_BYTES;
  if (file.size > HEADER.length + end) file.cut(HEADER.length + end);
  return { ids, waste, damaged };
}

/** Visits the `done` records after a file's header. Offsets count from the end of the header. */
async function readRecords(
  pieces: AsyncIterable<Buffer>,
  visit: (bytes: Buffer, at: number) => void,
): Promise<{ end: number; damaged: number }> {
  let end = 0;
  let damaged = 0;
  let rest: Buffer = Buffer.alloc(0);
  /** Bytes after the last record that cannot be part of one, and are not scanned again. */
  let hopeless = 0;
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const scanned = scanRecords(bytes, (at) => visit(bytes, at));
    if (scanned.end > 0) {
      end += hopeless + scanned.end;
      damaged += hopeless + scanned.skipped;
      hopeless = 0;
    }
    rest = bytes.subarray(scanned.end);
    if (rest.length > LONGEST_RECORD) {
      hopeless += rest.length - LONGEST_RECORD;
      rest = rest.subarray(-LONGEST_RECORD);
    }
  }
  return { end, damaged };
}

/**
 * Rewrites the journal with one record per id, without ids journaled before `oldest`. A temporary file, fsync and
 * rename make sure that a crash leaves the old file or the new one. Returns false and keeps the old file if there is no
 * room.
 */
async function isRewritten(file: JournalFile, oldest: number): Promise<boolean> {
  const temporary = `${file.path}.compacting`;
  try {
    // A process that was killed here left its temporary file.
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(HEADER);
      const seen = new IdSet();
      let kept: Buffer[] = [];
      const flush = async () => {
        await handle.writeFile(Buffer.concat(kept));
        kept = [];
      };
      const pieces = async function* () {
        for await (const piece of file.pieces(HEADER.length)) {
          await flush();
          yield piece;
        }
      };
      await readRecords(pieces(), (bytes, at) => {
        if (secondsAt(bytes, at) < oldest || !seen.add(bytes, at + 1)) return;
        kept.push(bytes.subarray(at, at + RECORD_BYTES));
      });
      await flush();
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file.path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (isOfSystem(error)) return false;
    throw error;
  }
  await syncFolder(path.dirname(file.path));
  return true;
}

export function secondsOf(milliseconds: number): number {
  return Math.max(0, Math.floor(milliseconds / 1000));
}

export function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
