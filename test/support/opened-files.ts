import fs from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { onTestFinished, vi } from 'vitest';

/** Until the end of the test, changes each file or folder that is opened. */
export function changeOpened(change: (handle: FileHandle, file: string) => void): void {
  const opening = fs.promises.open;
  const spy = vi.spyOn(fs.promises, 'open').mockImplementation(async (file, ...rest) => {
    const handle = await opening(file, ...rest);
    change(handle, String(file));
    return handle;
  });
  onTestFinished(() => spy.mockRestore());
}

/** Until the end of the test, a write takes so many bytes at most, as on a nearly full disk. */
export function takePartsOfWrites(bytes: number): void {
  changeOpened((handle) => {
    const write = handle.write.bind(handle);
    const writePart = (content: string | Uint8Array) =>
      write(Buffer.from(content as string).subarray(0, bytes));
    vi.spyOn(handle, 'write').mockImplementation(writePart as never);
  });
}
