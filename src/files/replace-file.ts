import { promises as files } from 'node:fs';
import path from 'node:path';

/**
 * Replaces a file's content so that a crash at any moment leaves the old content or the new one: temporary file
 * in the same folder, fsync, rename, fsync of the folder. The mode is 0600.
 */
export async function replaceFile(file: string, content: string | Uint8Array): Promise<void> {
  // Every command that reads the settings reads this file; cryptography takes 3 ms to load.
  const { randomBytes } = await import('node:crypto');
  const temporary = `${file}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    const handle = await files.open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await files.rename(temporary, file);
  } catch (error) {
    await files.rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(path.dirname(file));
}

/** Makes new and renamed files of a folder durable. Windows cannot open a folder; there a rename itself is journalled. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await files.open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
