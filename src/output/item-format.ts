import type { Context } from '../context.ts';
import type { FieldPath } from './field-path.ts';
import type { Reporter } from './reporter.ts';

export type FormatName = 'table' | 'json' | 'ndjson' | 'csv';

/** What is listed: it decides the default columns, and what an empty list says. */
export type ListKind = 'events' | 'event-types';

export interface FormatOptions {
  readonly format: FormatName;
  /** Those fields alone, in that order. */
  readonly fields?: readonly FieldPath[];
  /** A jq program that runs over the JSON output. */
  readonly jq?: string;
  /** Leaves text in CSV cells as it is, even where a spreadsheet would run it. */
  readonly csvRaw?: boolean;
  /** Items like those to come, for a table whose first page is small: columns are made as wide as these need, too. */
  readonly sample?: ItemPage;
  readonly list: ListKind;
}

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
  /** Whether it reads pages again after `write`: their memory is not to be used for others. */
  readonly keepsPages?: boolean;
  write(items: ItemPage): Promise<void>;
  /** After the last page: closes the array, prints what is left. */
  end(): Promise<void>;
  /** Instead of `end` when the read failed: what was printed becomes well-formed. Never rejects. */
  abort(): Promise<void>;
}

export type ItemContext = Pick<Context, 'stdout' | 'environment'>;

/** The writer of a format; each format's libraries are loaded when it is the one asked for. */
export async function createItemWriter(
  options: FormatOptions,
  context: ItemContext,
  reporter: Reporter,
): Promise<ItemWriter> {
  const { stdout } = context;
  const { fields, jq } = options;
  if (jq !== undefined) {
    const { createJqWriter } = await import('./json/jq-items.ts');
    return createJqWriter({ program: jq, fields, perItem: options.format === 'ndjson' }, stdout, reporter);
  }
  switch (options.format) {
    case 'json':
    case 'ndjson': {
      const { createJsonWriter } = await import('./json/items.ts');
      return createJsonWriter(options.format, fields, stdout);
    }
    case 'csv': {
      const { createCsvWriter } = await import('./csv/items.ts');
      return createCsvWriter(options, stdout, reporter);
    }
    case 'table': {
      const { createTableWriter } = await import('./table/items.ts');
      return createTableWriter(options, stdout, reporter);
    }
  }
}
