import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../../files/replace-file.ts';
import type { JournalFile } from './file.ts';
import { IdSet } from './id-set.ts';
import { readRecords } from './load.ts';
import { HEADER, Kind, RECORD_BYTES, scan, valueAt } from './record.ts';

/**
 * Writes the journal anew with one record an id, without those journaled before `oldest` (seconds since the epoch): a
 * temporary file, fsync, rename, so that a crash leaves the old one or the new one. Nobody else may have it open.
 */
export async function compactJournal(file: JournalFile, oldest: number): Promise<void> {
  const temporary = `${file.path}.compacting`;
  try {
    // Left by a process that was killed here: the lock for joining is ours, so nobody writes it now.
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(HEADER);
      const seen = new IdSet();
      let kept: Buffer[] = [];
      const flush = async () => {
        if (kept.length > 0) await handle.writeFile(Buffer.concat(kept));
        kept = [];
      };
      const take = (bytes: Buffer) => {
        return scan(bytes, 0, bytes.length, (kind, at) => {
          if (kind !== Kind.done || valueAt(bytes, at) < oldest || !seen.add(bytes, at + 1)) return;
          kept.push(bytes.subarray(at, at + RECORD_BYTES));
        });
      };
      await readRecords(inTurn(file, flush), { read: take });
      await flush();
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file.path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(path.dirname(file.path));
}

/** The file's pieces, with `flush` called before each: what was kept of the last one is written by then. */
function inTurn(file: JournalFile, flush: () => Promise<void>): Pick<JournalFile, 'pieces'> {
  return {
    async *pieces(from) {
      for await (const piece of file.pieces(from)) {
        await flush();
        yield piece;
      }
    },
  };
}
