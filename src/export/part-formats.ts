import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gzip } from 'node:zlib';
import { Items } from '../items/items.ts';
import type { PartEncoder, PartFormat } from './part-format.ts';

export async function formatOf(file: string): Promise<PartFormat> {
  if (file.endsWith('.gz')) return compressedLines;
  return file.endsWith('.parquet') ? (await import('./parquet-files.ts')).parquet : lines;
}

const lines: PartFormat = {
  createEncoder: () => new LinesEncoder(async (text) => text),
  read: (file) => linesOf(file.pieces()),
};

const compress = promisify(gzip);

/** Gzip allows any number of members (RFC 1952, section 2.2). */
const compressedLines: PartFormat = {
  createEncoder: () => new LinesEncoder(compress),
  read: (file) => linesOf(gunzipped(file.pieces())),
};

class LinesEncoder implements PartEncoder {
  readonly #encode: (text: Buffer) => Promise<Buffer>;
  #isEmpty = true;

  constructor(encode: (text: Buffer) => Promise<Buffer>) {
    this.#encode = encode;
  }

  async add(items: Items): Promise<Buffer> {
    this.#isEmpty = false;
    return await this.#encode(items.toLines());
  }

  async flush(): Promise<Buffer> {
    return Buffer.alloc(0);
  }

  async end(): Promise<Buffer> {
    // An empty file is not valid gzip.
    return this.#isEmpty ? await this.#encode(Buffer.alloc(0)) : Buffer.alloc(0);
  }
}

/** Bytes read at once. */
export const PIECE_BYTES = 1 << 19;
const NEWLINE = 0x0a;

async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Items> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const spans: number[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      spans.push(start, end);
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    if (spans.length > 0) yield new Items(bytes.subarray(0, start), spans);
  }
}

/** RFC 1952. Throws the errors of the source and of zlib. */
export function gunzipped(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // The consumer gets the error, whichever stream it comes from.
  return pipeline(source, createGunzip({ chunkSize: PIECE_BYTES }), () => undefined);
}
