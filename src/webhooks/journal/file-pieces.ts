import fs from 'node:fs';
import { promisify } from 'node:util';

const CHUNK = 4 * 1024 * 1024;

/** A file's content from an offset to the end, in pieces. */
export async function* pieces(fd: number, from: number): AsyncGenerator<Buffer> {
  const read = promisify(fs.read);
  for (let at = from; ; ) {
    const { bytesRead, buffer } = await read(fd, Buffer.allocUnsafe(CHUNK), 0, CHUNK, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
