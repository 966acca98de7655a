import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { startSandbox } from '../support/sandbox.ts';
import { measure, printTable } from './measure.ts';
import { createFolder, program, signInTo } from './processes.ts';

const SIZES = [1_000_000, 5_000_000, 10_000_000];
const IDS_PER_WRITE = 10_000;

/** Measures how fast and in what memory `webhooks reconcile` reads ids: of a text, and of a column of CSV. */
export async function benchReconcile(): Promise<void> {
  await using sandbox = await startSandbox({ events: 1000, autoApprove: true });
  await using signedIn = await signInTo(sandbox.settings);
  await using folder = await createFolder();
  const rows: string[][] = [];
  for (const [form, lineOf] of Object.entries(FORMS))
    for (const size of SIZES) {
      const file = path.join(folder.path, `${size}.${form}`);
      await writeIds(file, size, lineOf);
      const args = [program, 'webhooks', 'reconcile', '--received', file, '--since', '60d', '--json'];
      const { seconds, peakMiB, cpu } = await measure({ file: process.execPath, args, env: signedIn.env });
      rows.push([
        form,
        `${size}`,
        seconds.toFixed(1),
        cpu.toFixed(1),
        Math.round(size / cpu).toString(),
        peakMiB.toFixed(0),
      ]);
    }
  printTable(
    'webhooks reconcile, 1,000 records',
    ['form', 'ids', 'seconds', 'CPU seconds', 'ids a CPU second', 'MiB'],
    rows,
  );
}

const FORMS: Readonly<Record<string, (id: string, row: number) => string>> = {
  txt: (id) => id,
  csv: (id, row) => `${row},"invoice, paid",${id},2026-11-20`,
};

/** Ids that count up: each is another one, and none is made by a slow source of randomness. */
async function writeIds(
  file: string,
  size: number,
  lineOf: (id: string, row: number) => string,
): Promise<void> {
  const stream = createWriteStream(file);
  for (let row = 0; row < size; row += IDS_PER_WRITE) {
    const lines = Array.from({ length: Math.min(IDS_PER_WRITE, size - row) }, (_, index) =>
      lineOf(idOf(row + index), row + index),
    );
    if (!stream.write(`${lines.join('\n')}\n`)) await once(stream, 'drain');
  }
  stream.end();
  await finished(stream);
}

function idOf(number: number): string {
  const digits = Math.imul(number, 0x9e3779b1) >>> 0;
  return `${digits.toString(16).padStart(8, '0')}-4f89-41d3-9a0c-${number.toString(16).padStart(12, '0')}`;
}
