import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { median } from './measure.ts';
import { printTable } from './table.ts';
import { journalFolder, residentMiB, startListen } from './webhook-processes.ts';

const SIZES = [0, 100_000, 1_000_000];
const ROUNDS = 3;

/** Measures the space of an id on disk and in memory, and the time that `webhooks listen` takes to start listening. */
export async function benchWebhookJournal(): Promise<void> {
  const rows: string[][] = [];
  let empty = 0;
  for (const ids of SIZES) {
    await using folder = await journalFolder();
    const journal = path.join(folder.path, 'events.journal');
    await pipeline(content(ids), createWriteStream(journal));
    const disk = (await stat(journal)).size;
    const times: number[] = [];
    let resident = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      await using listen = await startListen(journal, 0);
      times.push((performance.now() - began) / 1000);
      resident = await residentMiB(listen.process);
    }
    if (ids === 0) empty = resident;
    rows.push([
      ids.toLocaleString('en-US'),
      (disk / 2 ** 20).toFixed(0),
      ids === 0 ? '-' : (disk / ids).toFixed(1),
      resident.toFixed(0),
      ids === 0 ? '-' : (((resident - empty) * 2 ** 20) / ids).toFixed(1),
      median(times).toFixed(2),
    ]);
  }
  printTable(
    `start of webhooks listen by the size of its journal (medians of ${ROUNDS})`,
    ['ids', 'MiB on disk', 'bytes an id', 'MiB resident', 'bytes an id', 'seconds to listen'],
    rows,
  );
}

function* content(ids: number): Generator<string> {
  yield '# hooktrail journal\n';
  const seconds = Math.floor(Date.now() / 1000);
  for (let at = 0; at < ids; at += 10_000) {
    const count = Math.min(ids - at, 10_000);
    yield Array.from({ length: count }, () => `${randomBytes(16).toString('hex')} ${seconds}\n`).join('');
  }
}
