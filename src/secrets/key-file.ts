import type { Context } from '../context.ts';
import { faultText, ServiceError, UsageError } from '../errors.ts';
import { refusePlanted } from '../files/folders.ts';
import { createFile, UnsyncedError } from '../files/whole-files.ts';
import { generateKey } from './sealed-file.ts';

/**
 * Writes a new key to a new file, mode 0600. Throws `UsageError` if the file exists or cannot be written, and
 * `ServiceError` if a loss of power could lose it.
 */
export async function createKeyFile(file: string, { machine }: Pick<Context, 'machine'>): Promise<void> {
  refusePlanted(file, 'the key', machine);
  try {
    await createFile(file, `${generateKey()}\n`);
  } catch (error) {
    const message = faultText(error);
    if (error instanceof UnsyncedError) {
      throw new ServiceError(`the key is in ${file}, but a loss of power could lose it: ${message}`, {
        next: 'copy it to another disk before something is sealed with it',
        cause: error,
      });
    }
    throw (error as NodeJS.ErrnoException).code === 'EEXIST'
      ? new UsageError(`${file} exists already, and is left as it is`, {
          next: 'name a new file, or remove that one if nothing is sealed with its key',
        })
      : new UsageError(`the key cannot be written to ${file}: ${message}`, {
          next: 'name a file in a folder that exists and can be written',
          cause: error,
        });
  }
}
