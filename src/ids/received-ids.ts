import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Call } from '../command.ts';
import { faultText, fewOf, HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { PIECE_BYTES } from '../export/part-formats.ts';
import { encodingOf, openPipe, openToRead } from '../files/whole-files.ts';
import { MISSING } from '../items/field-cursor.ts';
import { parseFieldPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { pastedGuid } from '../items/guids.ts';
import { isObject } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { BYTE_ORDER_MARK, isObjectText, itemsOfText } from '../sources/item-text.ts';
import { decompressed, isParquet, parquetFile } from '../sources/stored-place.ts';
import { startProgress } from '../terminal/progress.ts';
import { grouped } from '../terminal/terminal-text.ts';
import { UTC } from '../time/time-zone.ts';
import { EventKeys, eventKey, isHexDigit, readGuid } from './event-keys.ts';
import { type ColumnFacts, chooseColumn, countGuids, holdsGuid, type IdColumn } from './id-column.ts';
import { TableColumnReader, tableFormOf } from './table-rows.ts';

export interface ReceivedIds {
  /** Numbers are the counts in the file. */
  readonly keys: EventKeys;
  /** The file as named, or `standard input`. */
  readonly name: string;
  /** Undefined for a text without columns, where each GUID counts. */
  readonly column: IdColumn | undefined;
}

type ReadCall = Pick<Call, 'context' | 'reporter'>;

/**
 * Reads event ids from a file or standard input (`-`): CSV and other tables, NDJSON, JSON, Parquet, or any
 * text with GUIDs, plain or gzip. `field`: the column, or the path in JSON. Throws `UsageError` for a file
 * that is missing, holds no id, or is truncated, and `ServiceError` if it cannot be read.
 */
export async function readReceivedIds(
  file: string,
  field: string | undefined,
  call: ReadCall,
): Promise<ReceivedIds> {
  const name = file === '-' ? 'standard input' : file;
  const ids = new IdCounter(name, field, call);
  try {
    await readInto(ids, file, call);
  } catch (error) {
    if (error instanceof HooktrailError || call.context.signal.aborted) throw error;
    throw new ServiceError(`--received: ${name} cannot be read: ${faultText(error)}`, { cause: error });
  } finally {
    ids.progress.stop();
  }
  if (ids.keys.size === 0) throw ids.noId();
  return { keys: ids.keys, name, column: ids.column };
}

async function readInto(ids: IdCounter, file: string, { context }: ReadCall): Promise<void> {
  const { stdin, signal } = context;
  if (file === '-') return await readText(ids, stdin.stream());
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
  if (pipe) return await readText(ids, pipe);
  const handle = await openToRead(file);
  if (!(await isParquet(handle)))
    return await readText(ids, handle.createReadStream({ start: 0, highWaterMark: PIECE_BYTES }));
  try {
    await readParquet(ids, await parquetFile(handle));
  } finally {
    await handle.close();
  }
}

/** Bytes at the start of a text that determine its form. */
const HEAD_BYTES = 1 << 18;

async function readText(ids: IdCounter, stream: Readable): Promise<void> {
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
  if (isObjectText(text.slice(0, 1000))) return await readJson(ids, all);
  const form = tableFormOf(text, ids.field);
  if (form === undefined && ids.field !== undefined)
    throw new UsageError(`--received-field: ${ids.name} has no columns`, {
      next: 'leave it out: each GUID of the text counts',
    });
  const column = form && ids.choose(form.columns);
  if (!form || !column) return await readPlainText(ids, all, /^\s*\[\s*"/.test(text));
  const rows = new TableColumnReader(form, column.index, (bytes, start, end) =>
    ids.addCell(bytes, start, end),
  );
  for await (const piece of all) {
    rows.add(piece);
    ids.noteProgress();
  }
  if (!rows.end()) throw ids.cutOff('a row');
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

/** Bytes that show whether a GUID begins at the first: its longest form, and the character after it. */
const GUID_BYTES = 37;
const SPACE = 0x20;
const BRACKET = 0x5d;
const CUT_OFF_GUID = /(?<![\w-])[0-9a-f]{8}-[0-9a-f-]{0,26}$/i;

/** `isList`: the text is a JSON array. */
async function readPlainText(ids: IdCounter, pieces: AsyncIterable<Buffer>, isList: boolean): Promise<void> {
  // The first byte is the one before the unread text.
  let rest = Buffer.from(' ');
  let last: number | undefined;
  for await (const piece of pieces) {
    const bytes = Buffer.concat([rest, piece]);
    const unread = ids.addText(bytes, bytes.length - GUID_BYTES);
    rest = Buffer.from(bytes.subarray(unread - 1));
    last = bytes.findLast((byte) => byte > SPACE) ?? last;
    ids.noteProgress();
  }
  ids.addText(rest, rest.length);
  if (CUT_OFF_GUID.test(rest.toString('latin1'))) throw ids.cutOff('an id');
  if (isList && ids.keys.size > 0 && last !== BRACKET) throw ids.cutOff('a list');
}

/** Items of a list examined to find the path of the ids. */
const LOOKED_AT_ITEMS = 200;

async function readJson(ids: IdCounter, pieces: AsyncIterable<Buffer>): Promise<void> {
  let reader: FieldReader | undefined;
  try {
    for await (const items of itemsOfText(pieces, ids.name)) {
      if (!reader) {
        const paths = pathsWithGuids([...items.first(LOOKED_AT_ITEMS).values()]);
        const path = ids.choosePath(paths);
        if (path === undefined) continue;
        reader = new FieldReader([parseFieldPath(path, '--received-field')], UTC);
      }
      for (let item = 0; item < items.count; item++) {
        reader.read(items.bytes, items.start(item));
        reader.each(0, (bytes, start, end) => {
          if (start !== MISSING) ids.addTextCell(valueText(bytes, start, end));
        });
      }
      ids.noteProgress();
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new UsageError(`--received: ${error.message}`, { next: 'make the file again', cause: error });
  }
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

async function readParquet(ids: IdCounter, file: Awaited<ReturnType<typeof parquetFile>>): Promise<void> {
  // Load the library only where it is used.
  const { readColumnTexts, textColumns } = await import('../export/parquet-files.ts');
  const names = await textColumns(file);
  const facts: ColumnFacts[] = [];
  for (const name of names) {
    const first = await readColumnTexts(file, name).next();
    const texts = first.done ? [] : first.value;
    facts.push({ name, guids: countGuids(texts) });
  }
  const column = ids.choose(facts);
  if (!column) return;
  for await (const texts of readColumnTexts(file, column.name)) {
    for (const text of texts) if (text !== undefined) ids.addTextCell(text);
    ids.noteProgress();
  }
}

class IdCounter {
  readonly keys = new EventKeys();
  column: IdColumn | undefined;
  readonly name: string;
  readonly field: string | undefined;
  readonly progress;
  readonly #reporter;
  readonly #words = new Uint32Array(4);

  constructor(name: string, field: string | undefined, { context, reporter }: ReadCall) {
    this.name = name;
    this.field = field;
    this.progress = startProgress(context, reporter, 'reading ids');
    this.#reporter = reporter;
  }

  /** Chooses the column of the ids, and reports a guess. */
  choose(columns: readonly ColumnFacts[]): IdColumn | undefined {
    this.column = chooseColumn(columns, this.field);
    if (this.column?.isGuessed)
      this.#reporter.notice(
        `--received: the ids are those of '${this.column.name}'; --received-field chooses another: ${fewOf(this.column.others).join(', ')}`,
      );
    return this.column;
  }

  /** Like `choose`, for paths of JSON; the first items may lack `field`. */
  choosePath(paths: readonly ColumnFacts[]): string | undefined {
    if (this.field === undefined) return this.choose(paths)?.name;
    const others = paths.map(({ name }) => name).filter((name) => name !== this.field);
    this.column ??= { index: 0, name: this.field, others, isGuessed: false };
    return this.field;
  }

  noId(): UsageError {
    if (this.field === undefined || this.column === undefined)
      return new UsageError(`--received: ${this.name} holds no event id`, {
        next: 'give a file with GUIDs in it: CSV, JSON, NDJSON, Parquet or any text; --received-field names the column',
      });
    const others = fewOf(this.column.others).join(', ');
    return new UsageError(`--received-field: '${this.field}' holds no id in ${this.name}`, {
      next: others === '' ? 'name the column of the ids' : `name a column that holds GUIDs: ${others}`,
    });
  }

  noteProgress(): void {
    this.progress.update({ note: `${grouped(this.keys.size)} ids` });
  }

  /** Counts the GUIDs that begin after the first byte and before `end`. Returns the offset after them. */
  addText(bytes: Buffer, end: number): number {
    let at = 1;
    while (at < end) {
      const isStart = isHexDigit(bytes[at] as number) && !isWord(bytes[at - 1]);
      const after = isStart ? readGuid(bytes, at, bytes.length, this.#words) : undefined;
      if (after !== undefined && !isWord(bytes[after])) {
        this.keys.count(this.#words);
        at = after;
      } else at++;
    }
    return at;
  }

  addCell(bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end && !isWord(bytes[at])) at++;
    const after = readGuid(bytes, at, end, this.#words);
    if (after === undefined || isWord(bytes[after]) || (after < end && this.field !== undefined))
      this.addTextCell(bytes.toString('utf8', start, end));
    else this.keys.count(this.#words);
  }

  /** Like `addCell`, for text. In a named column any text is an id. */
  addTextCell(text: string): void {
    const bare = text
      .trim()
      .replace(/^"(.*)"$/s, '$1')
      .trim();
    const guid = pastedGuid(bare);
    if (guid === undefined && (this.field === undefined || bare === '')) return;
    this.keys.count(eventKey(guid ?? bare));
  }

  cutOff(what: string): UsageError {
    return new UsageError(`--received: ${this.name} ends in the middle of ${what}`, {
      next: 'create the file again: ids that it lacks would count as missing',
    });
  }
}

function isWord(byte = 0): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}
