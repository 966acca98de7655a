import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder, and those above it that are missing, for the user alone; one that is there stays as it is. Throws the
 * system's error. Node's own `recursive` never comes back where a folder is there and ENOENT is the answer to making
 * another in it, as in /proc.
 */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    const parent = path.dirname(folder);
    if (code !== 'ENOENT' || existsSync(parent)) throw error;
    makeFolder(parent);
    makeFolder(folder);
  }
}
