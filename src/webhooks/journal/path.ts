import fs from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../errors.ts';
import { HEADER } from './record.ts';

export const NOT_A_FILE = 'it is no regular file';

/** The same file by whatever path: processes have to meet at one place. Throws `UsageError` that names the flag. */
export function realJournalPath(file: string): string {
  const whole = path.resolve(file);
  try {
    const real = fs.realpathSync(whole);
    if (!fs.statSync(real).isFile()) throw new Error(NOT_A_FILE);
    return real;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(whole, error);
  }
  let place: string;
  try {
    place = path.join(fs.realpathSync(path.dirname(whole)), path.basename(whole));
  } catch (error) {
    throw unusable(whole, error);
  }
  // A link to a file that is yet to be made; a circle of links ended above.
  const target = linkTarget(place);
  return target === undefined ? place : realJournalPath(path.resolve(path.dirname(place), target));
}

/** Refuses a file that holds something else than a journal, before anything is made beside it. Throws `UsageError`. */
export function refuseForeign(file: string): void {
  const fd = openIfThere(file);
  if (fd === undefined) return;
  try {
    const found = Buffer.alloc(HEADER.length);
    const length = fs.readSync(fd, found, 0, HEADER.length, 0);
    if (!HEADER.subarray(0, length).equals(found.subarray(0, length))) throw foreign(file);
  } finally {
    fs.closeSync(fd);
  }
}

/** The descriptor of a journal to be read; undefined where there is no file. Throws `UsageError` that names the flag. */
export function openIfThere(file: string): number | undefined {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(file, error);
  }
  if (fs.fstatSync(fd).isFile()) return fd;
  fs.closeSync(fd);
  throw unusable(file, new Error(NOT_A_FILE));
}

export function unusable(file: string, error: unknown): UsageError {
  return new UsageError(`--journal: ${file} cannot be used: ${(error as Error).message}`, {
    cause: error,
    next: 'name a file in a folder that exists and can be written',
  });
}

export function foreign(file: string): UsageError {
  return new UsageError(`--journal: ${file} is not a journal of this version of hooktrail`, {
    next: 'name another file; this one is left as it is',
  });
}

function linkTarget(file: string): string | undefined {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}
