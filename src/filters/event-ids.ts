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
  if (!list.isEmpty) throw new UsageError('standard input holds no event id', { next: ID_LIST });
  if (!onEmpty) throw noIds();
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
  readonly #json = new JsonValues();

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
    this.#idsOf ??= header ?? (/^\s*(\[|\{(?!\s*\w))/.test(line) ? this.#idsOfJson : idOfLine);
    const isEmptyArray = this.#idsOf === this.#idsOfJson && /^[\s[\]]*$/.test(line);
    if (!header && !isEmptyArray) this.isEmpty = false;
    return this.#idsOf;
  }

  readonly #idsOfJson: IdsOf = (line, number) => this.#json.endingWith(line, number).flatMap(idsIn);

  /** True if any line held an id. Throws `UsageError` if the list ends within a row, or a value of JSON. */
  holdsIds(): boolean {
    if (this.#row !== '')
      throw new UsageError(`standard input, line ${this.#lines}: the CSV ends within a cell`);
    this.#json.requireEnd();
    return this.#found > 0;
  }
}

/** Said of an empty list, which a pipe brings on a quiet night. */
export const EMPTY_LIST = 'standard input holds no event id: there is nothing to do';

/** The next step for a list without ids. */
const ID_LIST = 'give one event id a line, or the output of events search';

export function noIds(): UsageError {
  return new UsageError('an event id is missing', {
    next: 'give one or more ids, or - to read them from standard input: one a line, or the output of events search',
  });
}

/** The event ids of a line; undefined if it ends within a cell of CSV, which goes on on the next line. */
type IdsOf = (line: string, number: number) => readonly string[] | undefined;

/** Headings of columns with event ids: of tables of events, and of statistics by a field. */
const ID_HEADING = /^(eventid|example)$/i;
/** The same where the column was asked for by its whole path, such as `eventData.eventId`. */
const ID_PATH = /\.eventid$/i;

/** Reads the rows below a table's heading, or below the header of CSV; undefined if the line is neither. */
function idsBelowHeader(header: string): IdsOf | undefined {
  if (guidsIn(header).length > 0) return undefined;
  // Spreadsheets save CSV with semicolons where the comma is the decimal sign, and copy cells with tabs.
  const separator = header.trim().startsWith('|') ? '|' : (/[,;\t]/.exec(header)?.[0] ?? ',');
  const cells = cellsOf(header, separator);
  const known = cells.findIndex((cell) => ID_HEADING.test(cell));
  const column = known >= 0 ? known : cells.findIndex((cell) => ID_PATH.test(cell));
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
 * Values of JSON, one a line, in an array of which each line has an element, or indented over several lines:
 * then a value ends where its brackets do.
 */
class JsonValues {
  /** The lines so far of a value that goes on in the next one. */
  readonly #lines: string[] = [];
  /** Brackets that are open at the end of these. */
  #depth = 0;
  /** The number of the first of these lines. */
  #begunAt = 0;

  /** The value that ends with this line; none if it goes on. Throws `UsageError` for what is not JSON. */
  endingWith(line: string, number: number): readonly unknown[] {
    const isWithin = this.#lines.length > 0;
    // The brackets and commas of the array around the values.
    if (!isWithin && /^[\s[\],]*$/.test(line)) return [];
    const value = isWithin ? undefined : parsed(line);
    if (value !== undefined) return [value];
    if (!isWithin) this.#begunAt = number;
    this.#lines.push(line);
    this.#depth += openedIn(line);
    if (this.#depth > 0) return [];
    const whole = parsed(this.#lines.join('\n'));
    if (whole === undefined) throw this.#unreadable('cannot be read');
    this.#lines.length = 0;
    this.#depth = 0;
    return [whole];
  }

  /** Throws `UsageError` if the last value has no end. */
  requireEnd(): void {
    if (this.#lines.length > 0) throw this.#unreadable('has no end');
  }

  #unreadable(why: string): UsageError {
    return new UsageError(`standard input, line ${this.#begunAt}: the JSON that begins here ${why}`);
  }
}

/** The value of JSON; a comma may stand behind it. Undefined for other text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text.trim().replace(/,$/, ''));
  } catch {
    return undefined;
  }
}

/** How many more brackets a line opens than it closes. No text of JSON goes on in the next line. */
function openedIn(line: string): number {
  const brackets = line.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '').match(/[[\]{}]/g) ?? [];
  const closed = brackets.filter((bracket) => bracket === ']' || bracket === '}').length;
  return brackets.length - 2 * closed;
}

/**
 * Members that hold events: of what `find` prints, of a page of the service, and of statistics by a field.
 */
const HOLDERS = ['item', 'items', 'groups'];

/**
 * The ids of the events in a value of JSON: a text, an event, a list, or what this program prints of events.
 */
function idsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(idsIn);
  if (!isObject(value)) return typeof value === 'string' ? guidsIn(value).slice(0, 1) : [];
  const id = knownValues(value).eventId ?? valueOfPath(value) ?? value['example'];
  if (typeof id === 'string') return guidsIn(id).slice(0, 1);
  return HOLDERS.flatMap((name) => (name in value ? idsIn(value[name]) : []));
}

/** The id that `--fields` shows under its whole path. */
function valueOfPath(value: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(value).find(([name]) => ID_PATH.test(name))?.[1];
}

function idOfLine(line: string, number: number): readonly string[] {
  // Ids in JSON's quotes, as `jq .eventId` prints them, are found in the line as others are.
  const [id, another] = guidsIn(line);
  // A table without its header begins with the time, and has the subscription behind the event.
  const isRow = /^"?\d{4}-\d\d-\d\d[T ]/.test(line);
  if (id === undefined || (another !== undefined && !isRow))
    throw new UsageError(`standard input, line ${number}: ${notAGuid(line.trim())}`, {
      next: findByPart(line, 'an event') ?? ID_LIST,
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
