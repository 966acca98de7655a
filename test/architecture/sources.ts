import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** A file of the project; `path` from its root, with `/`. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

const root = path.resolve(import.meta.dirname, '../..');

/** Every source file of `bin`, `src` and `test`. */
export async function readSources(): Promise<Source[]> {
  const found: Source[] = [];
  for (const folder of ['bin', 'src', 'test']) {
    const entries = await readdir(path.join(root, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const file = path.join(entry.parentPath, entry.name);
      if (!entry.isFile() || !/\.(ts|js|mjs)$/.test(entry.name)) continue;
      const name = path.relative(root, file).split(path.sep).join('/');
      found.push({ path: name, text: await readFile(file, 'utf8') });
    }
  }
  return found;
}
