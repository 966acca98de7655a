import type { AsyncBuffer, FileMetaData, SchemaElement } from 'hyparquet';
import { parquetMetadataAsync } from 'hyparquet/src/metadata.js';
import { parquetReadColumn } from 'hyparquet/src/read.js';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { MISSING } from '../items/field-cursor.ts';
import { memberPath } from '../items/field-path.ts';
import { Items } from '../items/items.ts';
import { NULL, valueText } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-fields.ts';
import { type Instant, parseInstant } from '../time/instant.ts';
import type { PartEncoder, PartFormat, StoredFile } from './part-format.ts';

/*
 * Parquet (https://parquet.apache.org) for query engines. Known fields are columns. Only the column `item`,
 * with the exact text of each event, is read back.
 */

const TEXT_FIELDS = ['eventId', 'eventType', 'subscriptionId', 'publishStatus', 'createdOn'] as const;
const CREATED_ON = TEXT_FIELDS.indexOf('createdOn');
const ITEM = 'item';

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
/** Microseconds, since not all engines know nanoseconds; `createdOnText` has every digit. */
const TIMESTAMP = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MICROS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
} as const;

const textColumn = (name: string): SchemaElement => ({ name, ...TEXT, repetition_type: 'OPTIONAL' });
const COLUMNS: readonly SchemaElement[] = [
  ...TEXT_FIELDS.slice(0, CREATED_ON).map(textColumn),
  { name: 'createdOn', ...TIMESTAMP, repetition_type: 'OPTIONAL' },
  textColumn('createdOnText'),
  { name: ITEM, ...TEXT, repetition_type: 'REQUIRED' },
];
const SCHEMA: SchemaElement[] = [{ name: 'events', num_children: COLUMNS.length }, ...COLUMNS];

/** Bytes of items per row group, which bounds the memory of a file being written. */
const ROW_GROUP_BYTES = 4 << 20;

interface Rows {
  readonly texts: (string | undefined)[][];
  readonly createdOn: (bigint | undefined)[];
  readonly items: Uint8Array[];
  bytes: number;
}

const noRows = (): Rows => ({ texts: TEXT_FIELDS.map(() => []), createdOn: [], items: [], bytes: 0 });

class ParquetEncoder implements PartEncoder {
  readonly #bytes = new ByteWriter();
  readonly #writer = new ParquetWriter({ writer: this.#bytes, schema: SCHEMA, codec: 'SNAPPY' });
  readonly #cursor = createCursor(TEXT_FIELDS.map(memberPath));
  #rows = noRows();

  async add(items: Items): Promise<Buffer> {
    const copy = items.toLines();
    let at = 0;
    for (let index = 0; index < items.count; index++) {
      const end = at + items.end(index) - items.start(index);
      this.#addRow(copy, at, end);
      at = end + 1;
    }
    return this.#rows.bytes < ROW_GROUP_BYTES ? this.#taken() : await this.flush();
  }

  async flush(): Promise<Buffer> {
    const { texts, createdOn, items } = this.#rows;
    if (items.length === 0) return this.#taken();
    const columnData = [
      ...texts.slice(0, CREATED_ON).map((data, index) => ({ name: TEXT_FIELDS[index] as string, data })),
      { name: 'createdOn', data: createdOn },
      { name: 'createdOnText', data: texts[CREATED_ON] ?? [] },
      // Statistics and dictionaries are useless for such texts: nobody searches by their order and hardly any
      // repeat.
      { name: ITEM, data: items, statistics: false, encoding: 'PLAIN' as const },
    ];
    this.#rows = noRows();
    await this.#writer.write({ columnData, rowGroupSize: items.length });
    return this.#taken();
  }

  async end(): Promise<Buffer> {
    const rest = await this.flush();
    await this.#writer.finish();
    return Buffer.concat([rest, this.#taken()]);
  }

  #addRow(bytes: Buffer, start: number, end: number): void {
    const { texts, createdOn, items } = this.#rows;
    const { starts, ends } = this.#cursor;
    this.#cursor.read(bytes, start);
    for (const [field, values] of texts.entries()) {
      const from = starts[field] as number;
      const isNone = from === MISSING || bytes[from] === NULL;
      values.push(isNone ? undefined : valueText(bytes, from, ends[field] as number));
    }
    const time = parseInstant(this.#cursor.text(CREATED_ON) ?? '');
    createdOn.push(time && microseconds(time));
    items.push(bytes.subarray(start, end));
    this.#rows.bytes += end - start;
  }

  /** The writer continues at the same offset of the file. */
  #taken(): Buffer {
    const taken = Buffer.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return taken;
  }
}

export const parquet: PartFormat = {
  createEncoder: () => new ParquetEncoder(),
  read: async function* (file) {
    for await (const texts of readItemTexts(file)) yield Items.of(texts);
  },
};

type ParquetFile = Pick<StoredFile, 'bytes' | 'slice'>;

function asyncBufferOf({ bytes, slice }: ParquetFile): AsyncBuffer {
  return {
    byteLength: bytes,
    slice: async (start, end = bytes) => {
      const { buffer, byteLength } = await slice(start, end);
      return (byteLength === buffer.byteLength ? buffer : buffer.slice(0, byteLength)) as ArrayBuffer;
    },
  };
}

function microseconds({ seconds, fraction }: Instant): bigint {
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

export class ParquetError extends Error {
  override readonly name = 'ParquetError';
}

/** Yields texts by row group. Throws `ParquetError` without that column, and the errors of `file`. */
export async function* readItemTexts(given: ParquetFile): AsyncGenerator<readonly Buffer[]> {
  const file = asyncBufferOf(given);
  // Keep the bytes as they are.
  const parsers = { stringFromBytes: (bytes: Uint8Array) => bytes };
  const metadata = await understood(parquetMetadataAsync(file));
  if (!metadata.schema.some(({ name, type }) => name === ITEM && type === 'BYTE_ARRAY'))
    throw new ParquetError('has no column `item` with the text of each event');
  for await (const column of rowGroupsOf({ file, metadata, columns: [ITEM], parsers }))
    yield Array.from(column, (text) => {
      if (!(text instanceof Uint8Array)) throw new ParquetError('has a row whose `item` is not a text');
      return Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    });
}

interface ColumnOptions {
  readonly file: AsyncBuffer;
  readonly metadata: FileMetaData;
  readonly columns: readonly [string];
  readonly parsers?: object;
}

async function* rowGroupsOf(options: ColumnOptions): AsyncGenerator<Iterable<unknown>> {
  let rowStart = 0;
  for (const { num_rows } of options.metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows);
    const column = await understood(parquetReadColumn({ ...options, rowStart, rowEnd } as never));
    yield column as Iterable<unknown>;
    rowStart = rowEnd;
  }
}

/** On damaged bytes the library throws plain errors of any kind. */
async function understood<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    // Errors of the file have a code.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new ParquetError(`cannot be read as Parquet: ${(error as Error).message}`, { cause: error });
  }
}

export async function textColumns(file: ParquetFile): Promise<readonly string[]> {
  const { schema } = await understood(parquetMetadataAsync(asyncBufferOf(file)));
  const isText = ({ type }: SchemaElement) => type === 'BYTE_ARRAY' || type === 'FIXED_LEN_BYTE_ARRAY';
  const names: string[] = [];
  // The schema lists each element before its children.
  let inside = 0;
  for (const element of schema.slice(1)) {
    if (inside === 0 && isText(element)) names.push(element.name);
    inside = Math.max(0, inside - 1) + (element.num_children ?? 0);
  }
  return names;
}

/** Yields texts by row group, undefined for a row without one. Throws like `readItemTexts`. */
export async function* readColumnTexts(
  given: ParquetFile,
  name: string,
): AsyncGenerator<readonly (string | undefined)[]> {
  const file = asyncBufferOf(given);
  const metadata = await understood(parquetMetadataAsync(file));
  for await (const column of rowGroupsOf({ file, metadata, columns: [name] }))
    yield Array.from(column, (text) => (typeof text === 'string' ? text : undefined));
}
