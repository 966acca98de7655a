import { open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Part } from '../events/export/export-manifest.ts';
import { itemsOf } from '../events/export/export-part.ts';
import { renameOver } from '../files/replace-file.ts';
import type { FieldPath } from '../json/field-path.ts';
import { csvColumns, emptyColumns, type Members, membersOf } from '../json/item-columns.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { withFieldWarnings } from './create-item-writer.ts';
import { createCsvWriter } from './csv-items.ts';
import type { FormatOptions } from './item-writer.ts';

const CSV_FILE = /^part-\d{6,}\.csv(\.tmp)?$/;

/**
 * Writes one CSV file beside each file of a finished export, all with the same columns: `fields`, or every field that an
 * event of the export has. Removes CSV files of parts that are gone. Throws the system's error.
 */
export async function writeCsvFiles(
  directory: string,
  parts: readonly Part[],
  options: FormatOptions,
  reporter: Reporter,
): Promise<void> {
  const fields = options.fields ?? (await allColumns(directory, parts));
  // An empty part needs no message.
  const quiet = { ...reporter, notice: () => undefined };
  const written = new Set<string>();
  let write: ReturnType<typeof createCsvWriter>['write'];
  const checked = withFieldWarnings(
    { write: (items) => write(items), end: async () => undefined, abort: async () => undefined },
    options.fields ?? [],
    'events',
    reporter,
  );
  for (const part of parts) {
    const name = part.file.replace(/\.ndjson(\.gz)?$/, '.csv');
    const temporary = path.join(directory, `${name}.tmp`);
    const handle = await open(temporary, 'w', 0o600);
    try {
      const file = { isTerminal: false, write: (chunk: string | Uint8Array) => handle.appendFile(chunk) };
      const csv = createCsvWriter({ ...options, fields }, file, quiet);
      write = (items) => csv.write(items);
      for await (const items of itemsOf(directory, part)) await checked.write(items);
      await csv.end();
      await handle.sync();
    } finally {
      await handle.close();
    }
    await renameOver(temporary, path.join(directory, name));
    written.add(name);
  }
  await checked.end();
  for (const name of await readdir(directory))
    if (CSV_FILE.test(name) && !written.has(name)) await rm(path.join(directory, name), { force: true });
}

async function allColumns(directory: string, parts: readonly Part[]): Promise<readonly FieldPath[]> {
  let members: Members | undefined;
  for (const part of parts) {
    for await (const items of itemsOf(directory, part)) members = membersOf(items, members);
  }
  const isEmpty = !members || (members.names.size === 0 && !members.bare);
  return isEmpty ? emptyColumns('events') : csvColumns(members as Members, 'events');
}
