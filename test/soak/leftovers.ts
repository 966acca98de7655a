import { readdirSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readLock } from '../../src/lock/lock-file.ts';
import type { Home } from '../support/home.ts';
import { processesWith } from './process-table.ts';

/** A command that has lost its watch ends within this time. */
const LAST_COMMANDS_MS = 15_000;

/** Describes what the processes of a home have left behind when all have ended: processes, files, locks. */
export async function leftovers({ folder, env }: Home, killed: ReadonlySet<number>): Promise<string[]> {
  const found: string[] = [];
  const place = path.dirname(folder);
  const end = Date.now() + LAST_COMMANDS_MS;
  while (processesWith(place).length > 0 && Date.now() < end) await delay(200);
  for (const process of processesWith(place)) found.push(`process ${process} is left`);
  for (const file of filesBelow(env['TMPDIR'] as string)) found.push(`${file} is left`);
  const files = filesBelow(place);
  for (const file of files.filter((name) => name.endsWith('.tmp'))) found.push(`${file} is left`);
  const locks = new Set(files.filter((file) => file.endsWith('.lock')).map((file) => path.dirname(file)));
  for (const lock of locks) {
    const { released, holder } = await readLock(lock);
    if (!released && !(holder && killed.has(holder.pid)))
      found.push(`the lock ${lock} is held by ${holder?.pid ?? 'nobody'}`);
  }
  return found;
}

/** Makes unfinished files old enough for the next writer to remove them. */
export function ageUnfinished({ folder }: Home): void {
  for (const file of filesBelow(path.dirname(folder)).filter((name) => name.endsWith('.tmp'))) {
    try {
      const then = statSync(file).mtimeMs / 1000 - 4_000;
      utimesSync(file, then, then);
    } catch {
      // A living writer has finished it meanwhile.
    }
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
