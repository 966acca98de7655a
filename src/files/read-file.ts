import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

/**
 * Opens a file for reading. Unlike `open(2)` without `O_NONBLOCK`, this does not wait for the writer of a pipe that
 * somebody has put there: no signal would end that wait.
 */
export function openWithoutWaiting(file: string): { readonly fd: number; readonly stats: Stats } {
  const fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    return { fd, stats: fstatSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Reads a whole file that must be a regular one. Throws the system's error, or an `Error` for a pipe or a device. */
export function readRegularFile(file: string): Buffer {
  const { fd, stats } = openWithoutWaiting(file);
  try {
    // For a folder, reading it gives the system's own error.
    if (!stats.isFile() && !stats.isDirectory()) throw new Error('it is not a regular file');
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Windows PowerShell writes UTF-16 with a byte order mark, for instance with `>`. All other input is UTF-8. */
export function encodingOf(bytes: Uint8Array): 'utf8' | 'utf16le' {
  return bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf16le' : 'utf8';
}
