import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { hooktrail } from './program.ts';
import type { SandboxOptions } from './sandbox.ts';
import { idsOf, startSearching } from './searching.ts';

/** A sandbox and a directory to export into. */
export async function startExporting(options: SandboxOptions = {}) {
  const searching = await startSearching(options);
  const { env } = searching;
  const directory = path.join(env['HOME'] as string, 'export');
  const parts = async () => (await readdir(directory)).filter((name) => /^part-.*\.ndjson/.test(name)).sort();
  /** Returns the lines of all parts, in the order of their names. */
  const lines = async () => {
    const texts = (await parts())
      .filter((name) => !name.endsWith('.tmp'))
      .map(async (name) => {
        const bytes = await readFile(path.join(directory, name));
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

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Waits until a number has not changed for a while. */
export async function settled(number: () => number): Promise<void> {
  for (let seen = -1, same = 0; same < 20; ) {
    same = number() === seen ? same + 1 : 0;
    seen = number();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Waits until a condition holds; rejects with the last value if it never does. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (await condition().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('it never came to pass');
}
