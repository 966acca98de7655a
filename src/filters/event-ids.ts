import { type Advice, advise, hooktrailOver } from '../advice.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { guidsIn, isObject, notAGuid } from '../items/items.ts';
import { knownValues } from '../items/known-fields.ts';

/**
 * Event ids given as arguments, several with commas too; all are checked before any is used. Throws
 * `UsageError`, whose next step looks in `from`, an export or a file, if the events come from there.
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
 * Event ids from lines of text, as the lines arrive: one a line, or in whatever form this program prints
 * events (tables, Markdown, CSV, JSON, NDJSON). `ending` stops reading, even during a wait for input.
 * `onEmpty` is called for an empty list: no line, a header alone, or `[]`. Throws `UsageError` at a line that
 * holds no id where one belongs, if no line holds one, and without `onEmpty` for an empty list.
 */
export async function* idsOfInput(
  { stdin }: Pick<Context, 'stdin'>,
  ending: AbortSignal,
  onEmpty?: () => void,
): AsyncGenerator<string> {
  const list = new IdList();
  for await (const line of stdin.lines(ending)) yield* list.idsOfLine(line);
  if (ending.aborted) return;
  if (list.holdsIds()) return;
  if (!list.isEmpty || !onEmpty) throw noIds();
  onEmpty();
}

/** The lines of a list of ids, in the form that its first line with a text shows. */
class IdList {
  /** True while there is no line, a header alone, or `[]`. */
  isEmpty = true;
  #idsOf: IdsOf | undefined;
  #lines = 0;
  #found = 0;
  /** The lines so far of a row of CSV that goes on in the next one. */
  #row = '';

  /** The ids of the next line. Throws `UsageError` if it holds none where one belongs. */
  idsOfLine(typed: string): readonly string[] {
    this.#lines++;
    const line = this.#row + (this.#lines === 1 ? typed.replace(/^\ufeff/, '') : typed);
    if (this.#row === '' && line.trim() === '') return [];
    const idsOf = this.#formOf(line);
    // An open cell ends at a quote alone: a long one is not read again with each of its lines.
    const goesOn = this.#row !== '' && !typed.includes('"');
    const ids = goesOn ? undefined : idsOf(line, this.#lines);
    this.#row = ids ? '' : `${line}\n`;
    this.#found += ids?.length ?? 0;
    return ids ?? [];
  }

  /** The form of the list, of which this is the first line if there is none yet. */
  #formOf(line: string): IdsOf {
    const header = this.#idsOf ? undefined : idsBelowHeader(line);
    // In JSON no digit or letter follows a brace, unlike in {GUID}.
    this.#idsOf ??= header ?? (/^\s*(\[|\{(?!\s*\w))/.test(line) ? idsOfJson : idOfLine);
    const isEmptyArray = this.#idsOf === idsOfJson && /^[\s[\]]*$/.test(line);
    if (!header && !isEmptyArray) this.isEmpty = false;
    return this.#idsOf;
  }

  /** True if any line held an id. Throws `UsageError` if the list ends within a row. */
  holdsIds(): boolean {
    if (this.#row !== '')
      throw new UsageError(`standard input, line ${this.#lines}: the CSV ends within a cell`);
    return this.#found > 0;
  }
}

/** Said of an empty list, which a pipe brings on a quiet night. */
export const EMPTY_LIST = 'standard input holds no event id: there is nothing to do';

export function noIds(): UsageError {
  return new UsageError('an event id is missing', {
    next: 'give one or more ids, or - to read them from standard input: one a line, or the output of events search',
  });
}

/** The event ids of a line; undefined if it ends within a cell of CSV, which goes on on the next line. */
type IdsOf = (line: string, number: number) => readonly string[] | undefined;

/** Headings of columns with event ids: of tables of events, and of statistics by a field. */
const ID_HEADING = /^(eventid|example)$/i;

/** Reads the rows below a table's heading, or below the header of CSV; undefined if the line is neither. */
function idsBelowHeader(header: string): IdsOf | undefined {
  if (guidsIn(header).length > 0) return undefined;
  // Spreadsheets save CSV with semicolons where the comma is the decimal sign, and copy cells with tabs.
  const separator = header.trim().startsWith('|') ? '|' : (/[,;\t]/.exec(header)?.[0] ?? ',');
  const cells = cellsOf(header, separator);
  const column = cells.findIndex((cell) => ID_HEADING.test(cell));
  // Below a table in Markdown, blocks of JSON may hold any text.
  const isRow = (row: string) => separator !== '|' || row.trim().startsWith('|');
  const isOpen = (row: string) =>
    separator !== '|' && /(^|[,;\t])"/.test(row.replaceAll(/"(?:[^"]|"")*"/g, ''));
  // Lines below a table have no id in the column.
  if (column >= 0)
    return (row) => {
      if (isOpen(row)) return undefined;
      return isRow(row) ? guidsIn(cellsOf(row, separator)[column] ?? '').slice(0, 1) : [];
    };
  const index = header.search(/(?<!\S)(eventid|example)(?!\S)/i);
  if (index < 0) return undefined;
  // Characters that are wider than others, before it, may shift the column.
  return (line) =>
    guidsIn(line)
      .sort((a, b) => Math.abs(line.indexOf(a) - index) - Math.abs(line.indexOf(b) - index))
      .slice(0, 1);
}

/** The cells of a line of CSV (RFC 4180) or of a Markdown table. */
function cellsOf(line: string, separator: string): string[] {
  const ofCsv = new RegExp(`"(?:[^"]|"")*"?|[^${separator}"]+|${separator}`, 'g');
  const cells = line.match(separator === '|' ? /(?:\\.|[^|\\])+|\|/g : ofCsv) ?? [];
  const joined: string[] = [''];
  for (const cell of cells)
    if (cell === separator) joined.push('');
    else joined[joined.length - 1] += cell.replace(/^"|"$/g, '');
  return joined.map((cell) => cell.trim());
}

/**
 * The ids of events on a line of JSON: a whole value, part of an array, or the member of an indented event.
 */
function idsOfJson(line: string): readonly string[] {
  const text = line.trim().replace(/,$/, '');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = /^"eventId"\s*:\s*"([^"]*)"/.exec(text)?.[1];
  }
  return [value].flat().flatMap((event) => {
    const id = isObject(event) ? knownValues(event).eventId : event;
    return typeof id === 'string' ? guidsIn(id).slice(0, 1) : [];
  });
}

function idOfLine(line: string, number: number): readonly string[] {
  // Ids in JSON's quotes, as `jq .eventId` prints them, are found in the line as others are.
  const [id, another] = guidsIn(line);
  // A table without its header begins with the time, and has the subscription behind the event.
  const isRow = /^"?\d{4}-\d\d-\d\d[T ]/.test(line);
  if (id === undefined || (another !== undefined && !isRow))
    throw new UsageError(`standard input, line ${number}: ${notAGuid(line.trim())}`, {
      next: findByPart(line, 'an event') ?? 'give one event id a line, or the output of events search',
    });
  return [id];
}

const PART = /^([0-9a-f][0-9a-f-]{3,34}|(?=\D*\d)(?![0-9a-f-]+$)\w[\w.:-]{3,60}?)(…|\.\.\.)?$/i;
/**
 * The next step where the text may be part of an id, or the number of an order; undefined where it is not.
 */
export function findByPart(text: string, what: string, from?: string): Advice | undefined {
  const [, part] = PART.exec(text.trim()) ?? [];
  if (part === undefined || guidsIn(text).length > 0) return undefined;
  return advise`${hooktrailOver(from, 'events search --grep', part)} finds ${what} by part of its id, or by another text`;
}
