import fs from 'node:fs';
import { UsageError } from '../errors.ts';
import { pieces } from './file-pieces.ts';
import { IdSet } from './id-set.ts';
import { unusable } from './journal-file.ts';
import { HEADER, Kind, RECORD_BYTES, scan } from './journal-record.ts';
import { readRecords } from './load-journal.ts';

/** The ids in a journal as it is now, without a trace of the look; none where there is no journal. */
export async function knownIds(file: string): Promise<IdSet> {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new IdSet();
    throw unusable(file, error);
  }
  try {
    if (!fs.fstatSync(fd).isFile()) throw unusable(file, new Error('it is no regular file'));
    const header = Buffer.alloc(HEADER.length);
    const length = fs.readSync(fd, header, 0, HEADER.length, 0);
    if (!header.subarray(0, length).equals(HEADER.subarray(0, length))) {
      throw new UsageError(`--journal: ${file} is not a journal of this version of hooktrail`);
    }
    const ids = new IdSet(Math.floor(fs.fstatSync(fd).size / RECORD_BYTES));
    await readRecords(
      { pieces: (from) => pieces(fd, from) },
      {
        read: (bytes) =>
          scan(bytes, 0, bytes.length, (kind, at) => {
            if (kind === Kind.done) ids.add(bytes, at + 1);
          }),
      },
    );
    return ids;
  } finally {
    fs.closeSync(fd);
  }
}
