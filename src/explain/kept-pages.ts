import type { FileHandle } from 'node:fs/promises';
import { openRemovedFile } from '../files/folders.ts';
import { Items } from '../items/items.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';

/** Each page: a byte for its outcome, four for the length of its lines, then the lines. */
const HEADER_BYTES = 5;
const OUTCOMES_OF_PAGE = [undefined, false, true];
const LINE_END = 0x0a;

/** The file is removed once it is open: nobody else can read it, and it goes with the process. */
export class KeptPages {
  #file: FileHandle | undefined;

  async add({ items, haveFailed }: PageOfOutcomes): Promise<void> {
    if (items.count === 0) return;
    this.#file ??= await openRemovedFile();
    const lines = items.toLines();
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(OUTCOMES_OF_PAGE.indexOf(haveFailed));
    header.writeUInt32LE(lines.length, 1);
    await this.#file.appendFile(Buffer.concat([header, lines]));
  }

  async *pages(): AsyncGenerator<PageOfOutcomes> {
    const file = this.#file;
    let at = 0;
    while (file) {
      const header = Buffer.alloc(HEADER_BYTES);
      const { bytesRead } = await file.read(header, 0, HEADER_BYTES, at);
      if (bytesRead === 0) return;
      const lines = Buffer.allocUnsafe(header.readUInt32LE(1));
      await readWhole(file, lines, at + HEADER_BYTES);
      at += HEADER_BYTES + lines.length;
      yield { items: itemsOfLines(lines), haveFailed: OUTCOMES_OF_PAGE[header.readUInt8()] };
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

async function readWhole(file: FileHandle, into: Buffer, at: number): Promise<void> {
  let read = 0;
  while (read < into.length) {
    const { bytesRead } = await file.read(into, read, into.length - read, at + read);
    if (bytesRead === 0) throw new Error('the temporary file of events is shorter than it was written');
    read += bytesRead;
  }
}

function itemsOfLines(lines: Buffer): Items {
  const spans: number[] = [];
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(LINE_END, start);
    spans.push(start, end);
    start = end + 1;
  }
  return new Items(lines, spans);
}
