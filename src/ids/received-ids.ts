import { type FileHandle, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Call } from '../command.ts';
import { faultText, fewOf, HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { PIECE_BYTES } from '../export/part-formats.ts';
import { encodingOf, openPipe, openToRead } from '../files/whole-files.ts';
import { MISSING } from '../items/field-cursor.ts';
import { parseFieldPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { type Items, isObject } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { BYTE_ORDER_MARK, isObjectText, itemsOfText } from '../sources/item-text.ts';
import { decompressed, isParquet, parquetFile } from '../sources/stored-place.ts';
import { startProgress } from '../terminal/progress.ts';
import { grouped } from '../terminal/terminal-text.ts';
import { UTC } from '../time/time-zone.ts';
import type { EventKeys } from './event-keys.ts';
import { type ColumnFacts, chooseColumn, countGuids, holdsGuid, type IdColumn } from './id-column.ts';
import { IdTally } from './id-tally.ts';
import { TableColumnReader, type TableForm, tableFormOf } from './table-rows.ts';

export interface ReceivedIds {
  /** Numbers are the counts in the file. */
  readonly keys: EventKeys;
  /** The file as named, or `standard input`. */
  readonly name: string;
  /** Undefined for a text without columns, where each GUID counts. */
  readonly column: IdColumn | undefined;
}

/** `--received` and `--received-field`; `name` is the file in messages. */
interface Given {
  readonly file: string;
  readonly name: string;
  readonly field: string | undefined;
}

/**
 * Reads event ids from a file or standard input (`-`): CSV and other tables, NDJSON, JSON, Parquet, or any
 * text with GUIDs, plain or gzip. `field`: the column, or the path in JSON. Throws `UsageError` for a file
 * that is missing, holds no id, or is truncated, and `ServiceError` if it cannot be read.
 */
export async function readReceivedIds(
  file: string,
  field: string | undefined,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): Promise<ReceivedIds> {
  const given: Given = { file, field, name: file === '-' ? 'standard input' : file };
  const progress = startProgress(context, reporter, 'reading ids');
  const tally = new IdTally(field !== undefined);
  let source: IdSource | undefined;
  try {
    source = await openSource(given, context);
    const column = source.columns && chooseColumn(source.columns, field);
    if (column?.isGuessed) reporter.notice(guessText(column));
    for await (const _ of countedIn(source, column, tally))
      progress.update({ note: `${grouped(tally.keys.size)} ids` });
    if (tally.keys.size === 0) throw noId(given, column);
    return { keys: tally.keys, name: given.name, column };
  } catch (error) {
    if (error instanceof HooktrailError || context.signal.aborted) throw error;
    throw new ServiceError(`--received: ${given.name} cannot be read: ${faultText(error)}`, { cause: error });
  } finally {
    progress.stop();
    await source?.close?.();
  }
}

function guessText({ name, others }: IdColumn): string {
  return `--received: the ids are those of '${name}'; --received-field chooses another: ${fewOf(others).join(', ')}`;
}

function noId({ name, field }: Given, column: IdColumn | undefined): UsageError {
  if (field === undefined || column === undefined)
    return new UsageError(`--received: ${name} holds no event id`, {
      next: 'give a file with GUIDs in it: CSV, JSON, NDJSON, Parquet or any text; --received-field names the column',
    });
  const others = fewOf(column.others).join(', ');
  return new UsageError(`--received-field: '${field}' holds no id in ${name}`, {
    next: others === '' ? 'name the column of the ids' : `name a column that holds GUIDs: ${others}`,
  });
}

function cutOff({ name }: Given, what: string): UsageError {
  return new UsageError(`--received: ${name} ends in the middle of ${what}`, {
    next: 'create the file again: ids that it lacks would count as missing',
  });
}

/** A file whose form is known. `count` yields after each piece, to show progress. */
type IdSource = ColumnSource | PlainSource;

interface ColumnSource {
  readonly columns: readonly ColumnFacts[];
  count(tally: IdTally, column: IdColumn): AsyncIterable<void>;
  close?(): Promise<void>;
}

interface PlainSource {
  readonly columns: undefined;
  count(tally: IdTally): AsyncIterable<void>;
  close?: undefined;
}

async function* countedIn(source: IdSource, column: IdColumn | undefined, tally: IdTally) {
  if (source.columns === undefined) yield* source.count(tally);
  else if (column) yield* source.count(tally, column);
}

async function openSource(given: Given, { stdin, signal }: Call['context']): Promise<IdSource> {
  const { file } = given;
  if (file === '-') return await openText(stdin.stream(), given);
  const missing = (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      throw new UsageError(`--received: there is no file '${file}'`, { cause: error });
    throw error;
  };
  if ((await stat(file).catch(missing)).isDirectory())
    throw new UsageError(`--received: ${file} is a directory`, {
      next: 'name a file, or pipe its files in with -',
    });
  const pipe = await openPipe(file, signal);
  if (pipe) return await openText(pipe, given);
  const handle = await openToRead(file);
  if (await isParquet(handle)) return await openParquet(handle);
  return await openText(handle.createReadStream({ start: 0, highWaterMark: PIECE_BYTES }), given);
}

/** Bytes at the start of a text that determine its form. */
const HEAD_BYTES = 1 << 18;

async function openText(stream: Readable, given: Given): Promise<IdSource> {
  const pieces = asUtf8(decompressed(stream, '--received'))[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const { value, done } = await pieces.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  if (head.indexOf(BYTE_ORDER_MARK) === 0) head = head.subarray(BYTE_ORDER_MARK.length);
  const all = (async function* () {
    yield head;
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
  })();
  const text = head.toString();
  // An array of strings is read as plain text.
  if (isObjectText(text.slice(0, 1000))) return await openJson(all, given);
  const form = tableFormOf(text, given.field);
  if (form)
    return { columns: form.columns, count: (tally, column) => tableRows(all, form, column, tally, given) };
  if (given.field !== undefined)
    throw new UsageError(`--received-field: ${given.name} has no columns`, {
      next: 'leave it out: each GUID of the text counts',
    });
  return { columns: undefined, count: (tally) => plainText(all, /^\s*\[\s*"/.test(text), tally, given) };
}

async function* asUtf8(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isFirst = true;
  for await (const piece of pieces) {
    if (isFirst && encodingOf(piece) === 'utf16le') decoder = new TextDecoder('utf-16le');
    isFirst = false;
    yield decoder ? Buffer.from(decoder.decode(piece, { stream: true })) : piece;
  }
}

async function* tableRows(
  pieces: AsyncIterable<Buffer>,
  form: TableForm,
  column: IdColumn,
  tally: IdTally,
  given: Given,
): AsyncGenerator<void> {
  const rows = new TableColumnReader(form, column.index, (bytes, start, end) =>
    tally.addCell(bytes, start, end),
  );
  for await (const piece of pieces) {
    rows.add(piece);
    yield;
  }
  if (!rows.end()) throw cutOff(given, 'a row');
}

/** Bytes that show whether a GUID begins at the first: its longest form, and the character after it. */
const GUID_BYTES = 37;
const SPACE = 0x20;
const BRACKET = 0x5d;
const CUT_OFF_GUID = /(?<![\w-])[0-9a-f]{8}-[0-9a-f-]{0,26}$/i;

/** `isList`: the text is a JSON array. */
async function* plainText(
  pieces: AsyncIterable<Buffer>,
  isList: boolean,
  tally: IdTally,
  given: Given,
): AsyncGenerator<void> {
  // The first byte is the one before the unread text.
  let rest = Buffer.from(' ');
  let last: number | undefined;
  for await (const piece of pieces) {
    const bytes = Buffer.concat([rest, piece]);
    const unread = tally.addText(bytes, bytes.length - GUID_BYTES);
    rest = Buffer.from(bytes.subarray(unread - 1));
    last = bytes.findLast((byte) => byte > SPACE) ?? last;
    yield;
  }
  tally.addText(rest, rest.length);
  if (CUT_OFF_GUID.test(rest.toString('latin1'))) throw cutOff(given, 'an id');
  if (isList && tally.keys.size > 0 && last !== BRACKET) throw cutOff(given, 'a list');
}

/** Items of a list examined to find the path of the ids. */
const LOOKED_AT_ITEMS = 200;

/** The first items may lack `field`. */
async function openJson(pieces: AsyncIterable<Buffer>, { name, field }: Given): Promise<IdSource> {
  const pages = itemsIn(pieces, name);
  let page = await pages.next();
  let paths = pathsIn(page);
  while (!page.done && paths.length === 0 && field === undefined) {
    page = await pages.next();
    paths = pathsIn(page);
  }
  const others = paths.filter((path) => path.name !== field);
  return {
    columns: field === undefined ? paths : [{ name: field, guids: 0 }, ...others],
    async *count(tally, column) {
      const reader = new FieldReader([parseFieldPath(column.name, '--received-field')], UTC);
      for (; !page.done; page = await pages.next()) {
        const items = page.value;
        for (let item = 0; item < items.count; item++) {
          reader.read(items.bytes, items.start(item));
          reader.each(0, (bytes, start, end) => {
            if (start !== MISSING) tally.addTextCell(valueText(bytes, start, end));
          });
        }
        yield;
      }
    },
  };
}

async function* itemsIn(pieces: AsyncIterable<Buffer>, name: string): AsyncGenerator<Items, undefined> {
  try {
    yield* itemsOfText(pieces, name);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new UsageError(`--received: ${error.message}`, { next: 'make the file again', cause: error });
  }
}

function pathsIn(page: IteratorResult<Items, undefined>): ColumnFacts[] {
  return page.done ? [] : pathsWithGuids([...page.value.first(LOOKED_AT_ITEMS).values()]);
}

function pathsWithGuids(values: readonly unknown[]): ColumnFacts[] {
  const texts = new Map<string, string[]>();
  for (const value of values)
    for (const [path, leaf] of leavesOf(value, ''))
      if (typeof leaf === 'string' && holdsGuid(leaf)) {
        const known = texts.get(path);
        if (known) known.push(leaf);
        else texts.set(path, [leaf]);
      }
  return [...texts].map(([name, found]) => ({ name, guids: countGuids(found) }));
}

function* leavesOf(value: unknown, path: string): Generator<readonly [path: string, leaf: unknown]> {
  if (Array.isArray(value)) {
    for (const element of value) yield* leavesOf(element, `${path}[]`);
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const step = name.replace(/[.\\[\]:]/g, '\\$&');
      yield* leavesOf(member, path === '' ? step : `${path}.${step}`);
    }
  } else yield [path, value];
}

async function openParquet(handle: FileHandle): Promise<IdSource> {
  try {
    const file = await parquetFile(handle);
    // Load the library only where it is used.
    const { readColumnTexts, textColumns } = await import('../export/parquet-files.ts');
    const columns: ColumnFacts[] = [];
    for (const name of await textColumns(file)) {
      const first = await readColumnTexts(file, name).next();
      columns.push({ name, guids: countGuids(first.done ? [] : first.value) });
    }
    return {
      columns,
      async *count(tally, { name }) {
        for await (const texts of readColumnTexts(file, name)) {
          for (const text of texts) if (text !== undefined) tally.addTextCell(text);
          yield;
        }
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
