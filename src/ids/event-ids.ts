import type { Context } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { findByPart } from '../filters/part-of-id.ts';
import { guidsIn, notAGuid } from '../items/guids.ts';
import { isObject } from '../items/items.ts';
import { knownValues } from '../items/known-fields.ts';
import { isObjectText, itemsOfText } from '../sources/item-text.ts';
import { columnNamedForIds, isNameOfIds } from './id-column.ts';
import { formOfHeader, TableColumnReader, type UseCell } from './table-rows.ts';

/**
 * Checks event ids given as arguments, several with commas too, before any is used. Throws `UsageError`,
 * whose next step searches `from`, an export or a file, if the events come from there.
 */
export function idsOfArguments(args: readonly string[], from?: string): readonly string[] {
  return args.flatMap((text) => {
    if (text.trim() === '-')
      throw new UsageError('<eventId>: - reads all ids from standard input: give only -, or only ids');
    const parts = text.replace(/,\s*$/, '').split(',').map(guidsIn);
    if (parts.every(({ length }) => length === 1)) return parts.flat();
    throw new UsageError(`<eventId>: ${notAGuid(text)}`, { next: findByPart(text, 'an event', from) });
  });
}

/**
 * Yields event ids from standard input, as its lines arrive: one per line, CSV, JSON, NDJSON, or a table of
 * this program. `ending`: stops reading, even during a wait for input. `onEmpty`: called for an empty list:
 * no line, a header alone, or `[]`. Throws `UsageError` for a line without an expected id, if no line has
 * one, and without `onEmpty` for an empty list.
 */
export async function* idsOfInput(
  { stdin }: Pick<Context, 'stdin'>,
  ending: AbortSignal,
  onEmpty?: () => void,
): AsyncGenerator<string> {
  const input = await IdInput.open(stdin.lines(ending));
  let found = 0;
  try {
    for await (const id of input.ids()) {
      found++;
      yield id;
    }
  } catch (error) {
    // Reading may have stopped in the middle of a row or an object.
    if (!ending.aborted) throw error;
  }
  if (ending.aborted || found > 0) return;
  if (!input.isEmpty) throw new UsageError('standard input holds no event id', { next: ID_LIST });
  if (!onEmpty) throw noIds();
  onEmpty();
}

export const EMPTY_LIST = 'standard input holds no event id: there is nothing to do';

const ID_LIST = 'give one event id a line, or the output of events search';

export function noIds(): UsageError {
  return new UsageError('an event id is missing', {
    next: 'give one or more ids, or - to read them from standard input: one a line, or the output of events search',
  });
}

const TABLE_HEADING = /(?<!\S)(?:eventid|example)(?!\S)/i;
const BRACKETS = /^[\s[\],]*$/;

class IdInput {
  /** True while there is no line, a header alone, or `[]`. */
  isEmpty = true;
  readonly #lines: AsyncIterator<string>;
  /** Lines that show the form: blank ones, brackets, and the first one with text. */
  readonly #head: string[] = [];
  #start = '';

  private constructor(lines: AsyncIterator<string>) {
    this.#lines = lines;
  }

  static async open(lines: AsyncGenerator<string>): Promise<IdInput> {
    const input = new IdInput(lines);
    await input.#readHead();
    return input;
  }

  async #readHead(): Promise<void> {
    while (/^\[*$/.test(this.#start)) {
      const { value, done } = await this.#lines.next();
      if (done) return;
      const line = this.#head.length === 0 ? value.replace(/^\ufeff/, '') : value;
      this.#head.push(line);
      this.#start += line.trim();
    }
  }

  ids(): AsyncGenerator<string> {
    if (isObjectText(this.#start)) return this.#idsOfJson();
    if (this.#start.startsWith('[')) return this.#idsOfTexts();
    const header = this.#head.at(-1) ?? '';
    if (guidsIn(header).length > 0) return this.#idsOfLines();
    const form = formOfHeader(header);
    const column = form && columnNamedForIds(form.columns);
    if (form && column !== undefined)
      return this.#idsOfRows((use) => new TableColumnReader(form, column, use));
    // Read Markdown by line, not by column: blocks of JSON after its table may hold any ids.
    const index = /^\s*\|/.test(header) ? -1 : header.search(TABLE_HEADING);
    return index < 0 ? this.#idsOfLines() : this.#idsOfTable(index);
  }

  async *#numbered(isHeader?: (line: string) => boolean): AsyncGenerator<readonly [string, number]> {
    let number = 0;
    for (const line of this.#head) yield [line, ++number];
    this.isEmpty = this.#head.every((line) => BRACKETS.test(line) || isHeader?.(line));
    for (let next = await this.#lines.next(); !next.done; next = await this.#lines.next()) {
      this.isEmpty &&= BRACKETS.test(next.value);
      yield [next.value, ++number];
    }
  }

  /** Reads the ids in JSON objects: events, or other output of this program. */
  async *#idsOfJson(): AsyncGenerator<string> {
    const lines = this.#numbered();
    const pieces = (async function* () {
      for await (const [line] of lines) yield Buffer.from(`${line}\n`);
    })();
    try {
      for await (const items of itemsOfText(pieces, 'standard input'))
        for (const value of items.values()) yield* idsIn(value);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new UsageError(error.message, { next: ID_LIST, cause: error });
    }
  }

  async *#idsOfTexts(): AsyncGenerator<string> {
    let last = '';
    for await (const [line] of this.#numbered()) {
      yield* guidsIn(line);
      last = line.trim() || last;
    }
    if (!last.endsWith(']'))
      throw new UsageError('standard input: the array is not closed', { next: ID_LIST });
  }

  /** Reads the ids in one column of CSV. Lines after the rows hold none. */
  async *#idsOfRows(createReader: (use: UseCell) => TableColumnReader): AsyncGenerator<string> {
    const cells: string[] = [];
    const rows = createReader((bytes, start, end) => cells.push(bytes.toString('utf8', start, end)));
    let count = 0;
    for await (const [line, number] of this.#numbered((first) => first === this.#head.at(-1))) {
      count = number;
      rows.add(Buffer.from(`${line}\n`));
      for (const cell of cells.splice(0)) yield* guidsIn(cell).slice(0, 1);
    }
    if (!rows.end()) throw new UsageError(`standard input, line ${count}: the CSV ends within a cell`);
  }

  async *#idsOfTable(index: number): AsyncGenerator<string> {
    // Wide characters before the column may shift it.
    for await (const [line] of this.#numbered((first) => first === this.#head.at(-1)))
      yield* guidsIn(line)
        .sort((a, b) => Math.abs(line.indexOf(a) - index) - Math.abs(line.indexOf(b) - index))
        .slice(0, 1);
  }

  async *#idsOfLines(): AsyncGenerator<string> {
    for await (const [line, number] of this.#numbered()) if (line.trim() !== '') yield idOfLine(line, number);
  }
}

/** Members with events: in the output of `find`, in a page of the service, and in statistics by a field. */
const HOLDERS = ['item', 'items', 'groups'];

function idsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(idsIn);
  if (!isObject(value)) return [];
  const id = knownValues(value).eventId ?? valueOfPath(value) ?? value['example'];
  if (typeof id === 'string') return guidsIn(id).slice(0, 1);
  return HOLDERS.flatMap((name) => (name in value ? idsIn(value[name]) : []));
}

function valueOfPath(value: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(value).find(([name]) => isNameOfIds(name))?.[1];
}

function idOfLine(line: string, number: number): string {
  // Also finds ids in JSON's quotes, as printed by `jq .eventId`.
  const [id, another] = guidsIn(line);
  // A table row without its header begins with the time, and has the subscription after the event.
  const isRow = /^"?\d{4}-\d\d-\d\d[T ]/.test(line);
  if (id === undefined || (another !== undefined && !isRow))
    throw new UsageError(`standard input, line ${number}: ${notAGuid(line.trim())}`, {
      next: findByPart(line, 'an event') ?? ID_LIST,
    });
  return id;
}
