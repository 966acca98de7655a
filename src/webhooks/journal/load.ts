import type { JournalFile } from './file.ts';
import { foreign } from './path.ts';
import { HEADER, LONGEST_RECORD, RECORD_BYTES } from './record.ts';
import { JournalState } from './state.ts';

export interface LoadedJournal {
  readonly state: JournalState;
  /** Behind the last whole record. */
  readonly end: number;
  /** Bytes there are. */
  readonly size: number;
  /** Bytes before `end` that belong to no record. */
  readonly damaged: number;
  /** The file was empty; it has its header now. */
  readonly isNew: boolean;
}

/**
 * Reads a whole journal. `oldest`: seconds since the epoch; ids journaled before are left out. A file without content becomes
 * a journal; one that is something else is a `UsageError`, and is left alone.
 */
export async function loadJournal(file: JournalFile, oldest: number): Promise<LoadedJournal> {
  const isNew = await begin(file);
  const state = new JournalState(Math.floor(file.size() / RECORD_BYTES), oldest);
  const read = await readRecords(file, state);
  return { state, isNew, ...read };
}

/** Feeds a file's records to `state`, from the first to the last. */
export async function readRecords(
  file: Pick<JournalFile, 'pieces'>,
  state: Pick<JournalState, 'read'>,
): Promise<{ end: number; size: number; damaged: number }> {
  let end: number = HEADER.length;
  let size: number = HEADER.length;
  let damaged = 0;
  let rest: Buffer = Buffer.alloc(0);
  /** Bytes since the last record that can never become one: they are not looked at again. */
  let hopeless = 0;
  for await (const piece of file.pieces(HEADER.length)) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const scanned = state.read(bytes);
    size += piece.length;
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
  return { end, size, damaged };
}

/** Checks the header, and writes it where a new file has none or a part of it; returns whether it did. */
async function begin(file: JournalFile): Promise<boolean> {
  const found = file.read(0, HEADER.length);
  if (found.equals(HEADER)) return false;
  if (!HEADER.subarray(0, found.length).equals(found)) {
    throw foreign(file.path);
  }
  // Created by a process that did not get any further.
  file.cut(0);
  await file.append(HEADER, true);
  return true;
}
