import type { Items } from '../items/items.ts';

/** How the events of an export stand in its files. */
export interface PartFormat {
  /** Begins a file. */
  createEncoder(): PartEncoder;
  /** The events in a whole file that was written so. */
  read(file: StoredFile): AsyncIterable<Items>;
}

/** A file that is open for reading. */
export interface StoredFile {
  readonly bytes: number;
  /** Its bytes from the beginning. */
  pieces(): AsyncIterable<Buffer>;
  /** Its bytes between two offsets, in memory of their own. */
  slice(start: number, end: number): Promise<Buffer>;
}

/** Turns the events of one file into its bytes. */
export interface PartEncoder {
  /** Returns the bytes that can be written by now, maybe none. The items are not needed after that. */
  add(items: Items): Promise<Buffer>;
  /** Returns the bytes of what is held back, so that little memory is needed until more is added. */
  flush(): Promise<Buffer>;
  /** Returns the last bytes, which make the file whole. */
  end(): Promise<Buffer>;
}
