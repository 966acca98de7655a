import type { Output } from '../context.ts';
import { emptyColumns, knownNames, nothingFound } from '../json/item-columns.ts';
import { type FieldPath, fieldPath } from '../json/item-fields.ts';
import type { Items, ItemWriter, ListKind } from '../json/items.ts';
import { stringEnd, stringText, valueEnd, valueText } from '../json/json-scanner.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import type { FormatOptions } from './format-flags.ts';

/**
 * Prints items as CSV, with one column for each scalar inside an object. The first page decides the columns, of `fields` those that are objects, and without `fields` one
 * warning names the first later value that has no column. Without matches it prints the header only, with `fields` or the standard ones.
 */
export function createCsvWriter(
  options: FormatOptions,
  stdout: Pick<Output, 'isTerminal' | 'write'>,
  reporter: Reporter,
): ItemWriter {
  const { fields, list, csvRaw: isRaw = false, hasHeader = true } = options;
  const safe = (text: string) => (stdout.isTerminal ? terminalSafe(text) : text);
  const cellOf = (bytes: Buffer, start: number, end: number) =>
    csvQuoted(safe(csvCell(bytes, start, end, isRaw)));
  // Excel reads a file as UTF-8 if it begins with this mark.
  const mark = options.csvBom ? '\ufeff' : '';
  let records: RecordReader | undefined;
  const header = (columns: readonly FieldPath[]) =>
    mark + (hasHeader ? csvLines([columns.map(({ text }) => safe(csvText(text, isRaw)))]) : '');

  return {
    write: async (page) => {
      if (page.count === 0) return;
      let text = '';
      if (!records) {
        const columns = csvColumns(page, fields, list);
        const stranger = (name: string) =>
          reporter.warning(
            `a later page has ${name}, which the first did not: it has no column; name the columns with --fields`,
          );
        records = new RecordReader(columns, cellOf, fields ? undefined : stranger);
        text = header(columns);
      }
      for (let item = 0; item < page.count; item++) text += records.record(page.bytes, page.start(item));
      await stdout.write(text);
    },
    end: async () => {
      if (records) return;
      await stdout.write(header(fields ?? emptyColumns(list)));
      reporter.notice(nothingFound(list));
    },
    abort: async () => {},
  };
}

/**
 * Characters at the start of a cell that make a spreadsheet run it as a formula (OWASP, "CSV Injection"): also after a
 * tab or a line break, and in the full-width forms that some locales type. NUL is in OWASP's ASVS.
 */
const FORMULA = /^[=+\-@\t\r\n\0\uff1d\uff0b\uff0d\uff20]/;

/** Returns a text cell. Unless `raw`, an apostrophe keeps a spreadsheet from running it. */
export function csvText(text: string, raw: boolean): string {
  return !raw && FORMULA.test(text) ? `'${text}` : text;
}

/** The cell of a JSON value: guarded text, numbers as the service wrote them, lists as JSON, empty for null. */
function csvCell(bytes: Buffer, start: number, end: number, raw: boolean): string {
  return bytes[start] === 0x22 ? csvText(stringText(bytes, start, end), raw) : valueText(bytes, start, end);
}

/** RFC 4180, section 2.6: a comma, a quote or a line break of any kind belongs in quotes. */
function csvQuoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows as CSV (RFC 4180), every line ended by CR LF. */
export function csvLines(rows: readonly (readonly (string | number | null)[])[]): string {
  const line = (row: readonly (string | number | null)[]) => {
    const text = row.map((cell) => csvQuoted(String(cell ?? ''))).join(',');
    return `${text === '' && row.length === 1 ? LONE_EMPTY : text}\r\n`;
  };
  return rows.map(line).join('');
}

/** The only cell of a line, if it is empty: readers would skip an empty line. */
const LONE_EMPTY = '""';

/** A member of items, with the members inside it. */
class Member {
  readonly name: string;
  /** The name as JSON is usually written. */
  readonly quoted: Buffer;
  readonly place: number;
  readonly inside: Member[] = [];
  readonly byName = new Map<string, Member>();
  /** The indexes of the columns that show its value. */
  readonly columns: number[] = [];
  /** True if it was seen with a value other than null or an object with members. */
  isPlain = false;
  /** The number of the item in which it was read last. */
  readIn = 0;

  constructor(name = '', place = 0) {
    this.name = name;
    this.quoted = Buffer.from(JSON.stringify(name));
    this.place = place;
  }

  at(name: string): Member {
    const known = this.byName.get(name);
    if (known) return known;
    const member = new Member(name, this.inside.length);
    this.inside.push(member);
    this.byName.set(name, member);
    return member;
  }
}

/** Objects inside objects have columns of their own down to this level; a deeper one is JSON in a cell. */
const DEEPEST = 20;

/** Walks the members of an object, each of which is looked up among those of `member`. Returns the offset after it. */
function walkObject(
  bytes: Buffer,
  at: number,
  member: Member,
  visit: (found: Member | undefined, nameAt: number, valueAt: number) => number,
): number {
  if (bytes[at + 1] === 0x7d) return at + 2;
  let index = at;
  // Items of one type have the same members in the same order.
  let expected = 0;
  do {
    const nameAt = index + 1;
    let found = member.inside[expected];
    let nameEnd = nameAt;
    if (found && startsWith(bytes, nameAt, found.quoted)) nameEnd += found.quoted.length;
    else {
      nameEnd = stringEnd(bytes, nameAt);
      found = member.byName.get(stringText(bytes, nameAt, nameEnd));
    }
    if (found) expected = found.place + 1;
    index = visit(found, nameAt, nameEnd + 1);
  } while (bytes[index] === 0x2c);
  return index + 1;
}

function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}

const isFilledObject = (bytes: Buffer, at: number) => bytes[at] === 0x7b && bytes[at + 1] !== 0x7d;

/** The members of a page's items, and `isPlain` on the result itself if an item is not an object. */
function membersIn({ bytes, count, start }: Pick<Items, 'bytes' | 'count' | 'start'>): Member {
  const root = new Member();
  const add = (at: number, member: Member, depth: number): number => {
    if (!isFilledObject(bytes, at) || depth > DEEPEST) {
      const isNothing = bytes[at] === 0x6e || (bytes[at] === 0x7b && bytes[at + 1] === 0x7d);
      if (!isNothing || (depth === 0 && bytes[at] !== 0x7b)) member.isPlain = true;
      return valueEnd(bytes, at);
    }
    return walkObject(bytes, at, member, (found, nameAt, valueAt) =>
      add(valueAt, found ?? member.at(stringText(bytes, nameAt, valueAt - 1)), depth + 1),
    );
  };
  for (let item = 0; item < count; item++) add(start(item), root, 0);
  return root;
}

/** The columns for items such as these: a known field before the others, and an object's members in its place. */
function csvColumns(
  page: Items,
  fields: readonly FieldPath[] | undefined,
  list: ListKind,
): readonly FieldPath[] {
  const root = membersIn({ bytes: page.bytes, count: page.count, start: (index) => page.start(index) });
  const leaves = (member: Member, path: FieldPath): FieldPath[] => {
    const inside = member.inside.flatMap((one) => leaves(one, inner(path, one.name)));
    return member.isPlain || inside.length === 0 ? [path, ...inside] : inside;
  };
  if (fields) {
    return fields.flatMap((field) => {
      const member = field.steps.reduce<Member | undefined>((at, step) => at?.byName.get(step), root);
      return member ? leaves(member, field) : [field];
    });
  }
  const known = knownNames([...root.byName.keys()], list);
  const names = new Set([...known, ...root.byName.keys()]);
  const columns = [...names].flatMap((name) =>
    leaves(root.byName.get(name) as Member, { text: name, steps: [name] }),
  );
  const itself: FieldPath = { text: list === 'events' ? 'value' : 'name', steps: [] };
  return root.isPlain || columns.length === 0 ? [itself, ...columns] : columns;
}

/** The column of a member inside an object, named as --fields takes it. */
function inner({ text, steps }: FieldPath, name: string): FieldPath {
  return { text: `${text}.${fieldPath([name]).text}`, steps: [...steps, name] };
}

type CellOf = (bytes: Buffer, start: number, end: number) => string;

/** Makes a CSV record of each item. Its time grows with the text of the item, whatever the number of columns. */
class RecordReader {
  readonly #root = new Member();
  readonly #count: number;
  readonly #cellOf: CellOf;
  #onStranger: ((name: string) => void) | undefined;
  #item = 0;
  /** The cells of this item by column, and the columns that have one. */
  readonly #cells: string[];
  #filled: number[] = [];

  /** `onStranger` is called once, with the name of a value that no column shows. */
  constructor(columns: readonly FieldPath[], cellOf: CellOf, onStranger?: (name: string) => void) {
    for (const [column, { steps }] of columns.entries())
      steps.reduce((member, step) => member.at(step), this.#root).columns.push(column);
    this.#count = columns.length;
    this.#cellOf = cellOf;
    this.#onStranger = onStranger;
    this.#cells = new Array(columns.length).fill('');
  }

  record(bytes: Buffer, at: number): string {
    this.#item++;
    const isObject = bytes[at] === 0x7b;
    if (isObject && this.#root.inside.length > 0) this.#visitObject(bytes, at, this.#root);
    else if (this.#root.columns.length > 0) this.#fill(bytes, at, valueEnd(bytes, at), this.#root);
    else if (!isObject) this.#report('an item that is no object');
    const text = this.#joined();
    return `${text === '' && this.#count === 1 ? LONE_EMPTY : text}\r\n`;
  }

  #joined(): string {
    let text = '';
    let last = 0;
    for (const column of this.#filled.sort((a, b) => a - b)) {
      text += ','.repeat(column - last) + this.#cells[column];
      this.#cells[column] = '';
      last = column;
    }
    this.#filled = [];
    return text + ','.repeat(Math.max(0, this.#count - 1 - last));
  }

  #visitObject(bytes: Buffer, at: number, member: Member): number {
    return walkObject(bytes, at, member, (found, nameAt, valueAt) => {
      if (found) return this.#visit(bytes, valueAt, found);
      if (this.#onStranger && bytes[valueAt] !== 0x6e)
        this.#report(bytes.toString('utf8', nameAt, valueAt - 1));
      return valueEnd(bytes, valueAt);
    });
  }

  #visit(bytes: Buffer, at: number, member: Member): number {
    // Of members with the same name the last one counts, as in `JSON.parse`.
    if (member.readIn === this.#item) this.#clear(member);
    member.readIn = this.#item;
    if (member.inside.length > 0) {
      if (isFilledObject(bytes, at)) return this.#visitObject(bytes, at, member);
      if (bytes[at] === 0x5b) this.#visitList(bytes, at, member);
    }
    const end = valueEnd(bytes, at);
    if (member.columns.length > 0) this.#fill(bytes, at, end, member);
    else if (bytes[at] !== 0x6e && bytes[at] !== 0x7b) this.#report(JSON.stringify(member.name));
    return end;
  }

  #visitList(bytes: Buffer, at: number, member: Member): void {
    if (bytes[at + 1] === 0x5d) return;
    let index = at;
    let element = 0;
    do {
      const found = member.byName.get(String(element++));
      index = found ? this.#visit(bytes, index + 1, found) : valueEnd(bytes, index + 1);
    } while (bytes[index] === 0x2c);
  }

  #fill(bytes: Buffer, start: number, end: number, { columns }: Member): void {
    const cell = this.#cellOf(bytes, start, end);
    for (const column of columns) {
      this.#filled.push(column);
      this.#cells[column] = cell;
    }
  }

  #clear(member: Member): void {
    this.#filled = this.#filled.filter((column) => !member.columns.includes(column));
    for (const one of member.inside) this.#clear(one);
  }

  #report(name: string): void {
    this.#onStranger?.(name);
    this.#onStranger = undefined;
  }
}
