import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { hooktrail } from './program.ts';
import type { SandboxOptions } from './sandbox.ts';
import { idsOf, startSearching } from './searching.ts';

/** Returns the rows of a file of Parquet, as its library reads them. */
export async function rowsOf(bytes: Buffer): Promise<Record<string, unknown>[]> {
  const { buffer, byteOffset, byteLength } = bytes;
  const slice = (start: number, end = byteLength) =>
    buffer.slice(byteOffset + start, byteOffset + end) as ArrayBuffer;
  // Microseconds since the epoch: a `Date` would lose some.
  const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };
  return await parquetReadObjects({ file: { byteLength, slice }, parsers: parsers as never });
}

/** A sandbox and a directory to export into. */
export async function startExporting(options: SandboxOptions = {}) {
  const searching = await startSearching(options);
  const { env } = searching;
  const directory = path.join(env['HOME'] as string, 'export');
  /** Returns the paths of the files below the directory, those of partitions too. */
  const parts = async () => {
    const names = (await readdir(directory, { recursive: true })).map((name) => name.replaceAll('\\', '/'));
    return names.filter((name) => /^([^/]*\/)?part-[^/]*\.(ndjson|parquet)/.test(name)).sort();
  };
  /** Returns the lines of all parts, in the order of their numbers, whatever folders they are in. */
  const lines = async () => {
    const texts = (await parts())
      .sort((a, b) => path.basename(a).localeCompare(path.basename(b)))
      .filter((name) => !name.endsWith('.tmp'))
      .map(async (name) => {
        const bytes = await readFile(path.join(directory, name));
        if (name.endsWith('.parquet')) return (await rowsOf(bytes)).map(({ item }) => `${item}\n`).join('');
        return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
      });
    return (await Promise.all(texts)).join('');
  };
  return {
    ...searching,
    directory,
    /** From now on the service does not have these events. */
    forget: (ids: readonly string[]) => {
      const { store } = searching.sandbox.control;
      const page = store.page.bind(store);
      store.page = (filter, start, size) => {
        const all = page(filter, 1, Number.POSITIVE_INFINITY).events;
        const events = all.filter(({ eventId }) => !ids.includes(eventId));
        return { count: events.length, events: events.slice(start - 1, start - 1 + size) };
      };
    },
    export: (...args: string[]) => hooktrail(['events', 'export', directory, ...args], { env }),
    lines,
    ids: async () => idsOf(await lines()),
    parts,
    manifest: async (): Promise<Manifest> =>
      JSON.parse(await readFile(path.join(directory, 'manifest.json'), 'utf8')),
  };
}

type Manifest = Record<string, unknown> & { parts: { file: string; sha256: string | null }[] };
export type Exporting = Awaited<ReturnType<typeof startExporting>>;
