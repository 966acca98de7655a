import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { faultText, ServiceError } from '../errors.ts';
import { openRemovedFile } from '../files/folders.ts';
import { openToRead } from '../files/whole-files.ts';
import { Items } from '../items/items.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';

/** A page's range of bytes in the file. The spans of its items count from there. */
interface KeptPage {
  readonly offset: number;
  readonly length: number;
  readonly spans: Uint32Array;
  readonly checksum: number;
  readonly haveFailed: boolean | undefined;
}

/** Pages to read again: where they are in a file, or copies of them in a temporary file. Not both. */
export class KeptPages {
  readonly #pages: KeptPage[] = [];
  #file = '';
  /** Removed once it is open: nobody else can read it, and it goes with the process. */
  #copies: FileHandle | undefined;
  #copiedBytes = 0;

  /** Returns false for a page that is not a part of a file. */
  addPlace({ items, haveFailed }: PageOfOutcomes): boolean {
    const { origin, bytes, count } = items;
    if (count === 0) return true;
    if (!origin) return false;
    const start = items.start(0);
    const spans = Uint32Array.from(items.spans).map((at) => at - start);
    this.#file = origin.file;
    this.#add(bytes.subarray(start, items.end(count - 1)), origin.offset + start, spans, haveFailed);
    return true;
  }

  async addCopy({ items, haveFailed }: PageOfOutcomes): Promise<void> {
    if (items.count === 0) return;
    this.#copies ??= await openRemovedFile();
    const lines = items.toLines();
    await this.#copies.appendFile(lines);
    this.#add(lines, this.#copiedBytes, spansOfLines(items), haveFailed);
    this.#copiedBytes += lines.length;
  }

  #add(bytes: Buffer, offset: number, spans: Uint32Array, haveFailed: boolean | undefined): void {
    this.#pages.push({ offset, length: bytes.length, spans, checksum: crc32(bytes), haveFailed });
  }

  /**
   * The bytes of a page change with the next one. Throws `ServiceError` if the file has changed or cannot be
   * read.
   */
  async *pages(): AsyncGenerator<PageOfOutcomes> {
    if (this.#pages.length === 0) return;
    const handle = this.#copies ?? (await openToRead(this.#file).catch(this.#throwUnreadable));
    let block = Buffer.alloc(0);
    try {
      for (const { offset, length, spans, checksum, haveFailed } of this.#pages) {
        if (block.length < length) block = Buffer.alloc(length);
        const bytes = block.subarray(0, length);
        await readRange(handle, bytes, offset).catch(this.#throwUnreadable);
        if (crc32(bytes) !== checksum)
          throw new ServiceError(`${this.#name} was changed while it was read`, {
            next: 'run the command again',
          });
        yield { items: new Items(bytes, spans), haveFailed };
      }
    } finally {
      if (handle !== this.#copies) await handle.close();
    }
  }

  get #name(): string {
    return this.#copies ? 'the temporary file of events' : this.#file;
  }

  readonly #throwUnreadable = (error: unknown): never => {
    throw new ServiceError(`${this.#name} cannot be read: ${faultText(error)}`, { cause: error });
  };

  async close(): Promise<void> {
    await this.#copies?.close();
    this.#copies = undefined;
  }
}

/** Reads less if the file is shorter. */
async function readRange(handle: FileHandle, into: Buffer, offset: number): Promise<void> {
  for (let read = 0; read < into.length; ) {
    const { bytesRead } = await handle.read(into, read, into.length - read, offset + read);
    if (bytesRead === 0) return;
    read += bytesRead;
  }
}

/** Spans in `toLines()`. */
function spansOfLines(items: Items): Uint32Array {
  const spans = new Uint32Array(2 * items.count);
  let at = 0;
  for (let item = 0; item < items.count; item++) {
    spans[2 * item] = at;
    at += items.end(item) - items.start(item);
    spans[2 * item + 1] = at++;
  }
  return spans;
}
