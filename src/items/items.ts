/** What is listed: it decides the default columns, and what an empty list says. */
export type ListKind = 'events' | 'event-types';

/**
 * Some items: valid JSON values (UTF-8), none with white space between tokens, at rising offsets of `bytes` with at
 * least one byte between two of them. A page belongs to the writer it is given to, which may overwrite it.
 */
export interface ItemPage {
  readonly bytes: Buffer;
  /** Two offsets an item: of its first byte, and behind its last. */
  readonly spans: Uint32Array;
  readonly count: number;
}

/** Prints items in one format, page by page; each call ends when standard output has taken what it printed. */
export interface ItemWriter {
  write(items: ItemPage): Promise<void>;
  /** After the last page: closes the array, prints what is left. */
  end(): Promise<void>;
  /** Instead of `end` when the read failed: what was printed becomes well-formed. Never rejects. */
  abort(): Promise<void>;
}
