import type { Items } from '../items/items.ts';

/** How the events of an export stand in its files. */
export interface PartFormat {
  /** Begins a file. */
  createEncoder(): PartEncoder;
  /** The events in a whole file that was written so. */
  read(content: Buffer): AsyncIterable<Items>;
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
