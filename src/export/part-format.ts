import type { Items } from '../items/items.ts';

export interface PartFormat {
  createEncoder(): PartEncoder;
  read(file: StoredFile): AsyncIterable<Items>;
}

export interface StoredFile {
  readonly bytes: number;
  pieces(): AsyncIterable<Buffer>;
  slice(start: number, end: number): Promise<Buffer>;
}

export interface PartEncoder {
  /** Returns the bytes that are ready, possibly none, and keeps no reference to the items. */
  add(items: Items): Promise<Buffer>;
  flush(): Promise<Buffer>;
  end(): Promise<Buffer>;
}
