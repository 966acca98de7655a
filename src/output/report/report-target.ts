import { realpath, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Machine } from '../../context.ts';
import { ServiceError, UsageError } from '../../errors.ts';
import { checkWritable } from '../../files/folders.ts';
import { replaceFile } from '../../files/replace-file.ts';
import { refusePlanted } from '../../files/trusted-path.ts';

/** Throws `UsageError` if the page could not be written, before the service is asked. */
export async function checkTarget(file: string, isOpened: boolean, machine: Machine): Promise<void> {
  if (file === '-') {
    if (isOpened) throw new UsageError('--open: a page on standard output cannot be shown: name a file');
    return;
  }
  // The system opens a file with the program for its extension, which might run it.
  if (isOpened && !/\.html?$/i.test(file))
    throw new UsageError(
      `--open: '${file}' does not end in .html, so the system would not show it as a page`,
    );
  refusePlanted(file, 'the report', machine);
  if (await isDevice(file)) return;
  const folder = path.dirname(path.resolve(file));
  const found = await stat(folder).catch(() => undefined);
  if (!found)
    throw new UsageError(`the folder ${folder} does not exist`, { next: 'make it, or choose another file' });
  if (!found.isDirectory())
    throw new UsageError(`${folder} is not a folder`, { next: 'choose another file' });
  if ((await stat(file).catch(() => undefined))?.isDirectory())
    throw new UsageError(`${file} is a folder`, {
      next: `name a file, such as ${path.join(file, 'report.html')}`,
    });
  try {
    await checkWritable(path.resolve(file), machine);
  } catch (error) {
    throw new UsageError(`the folder ${folder} cannot be written: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Writes the page. An existing file is replaced as a whole or not at all; a pipe or a device is written to. */
export async function writeReport(file: string, text: string, machine: Machine): Promise<void> {
  // Gathering the report took a while: the place may have changed.
  refusePlanted(file, 'the report', machine);
  try {
    if (await isDevice(file)) await writeFile(file, text);
    else await replaceFile(await realpath(file).catch(() => path.resolve(file)), text);
  } catch (error) {
    throw new ServiceError(`${file} could not be written: ${(error as Error).message}`, {
      next: 'free some space, or choose another file',
      cause: error,
    });
  }
}

/** Returns whether the place is something that must not be replaced by a file. */
async function isDevice(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

/** Returns the URL of the file, whatever characters its path contains. */
export function fileUrl(file: string): URL {
  return pathToFileURL(path.resolve(file));
}
