import fs from 'node:fs';
import { pieces } from './file-pieces.ts';
import { IdSet } from './id-set.ts';
import { readRecords } from './load.ts';
import { openIfThere, refuseForeign } from './path.ts';
import { Kind, RECORD_BYTES, scan } from './record.ts';

/** The ids in a journal as it is now, without a trace of the look; none where there is no journal. */
export async function knownIds(file: string): Promise<IdSet> {
  refuseForeign(file);
  const fd = openIfThere(file);
  if (fd === undefined) return new IdSet();
  try {
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
