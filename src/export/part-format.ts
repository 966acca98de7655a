import type { Items } from '../items/items.ts';

export interface PartFormat {
  createEncoder(): PartEncoder;
  /** Requires a file that this format wrote. */
  read(file: StoredFile): AsyncIterable<Items>;
}

export interface StoredFile {
  readonly bytes: number;
  /** From the beginning. */
  pieces(): AsyncIterable<Buffer>;
  /** Copies the bytes. */
  slice(start: number, end: number): Promise<Buffer>;
}

export interface PartEncoder {
  /** Returns the bytes that are ready, possibly none, and keeps no reference to the items. */
  add(items: Items): Promise<Buffer>;
  /** Returns everything that is buffered, to free memory. */
  flush(): Promise<Buffer>;
  /** Returns the last bytes of the file. */
  end(): Promise<Buffer>;
}
