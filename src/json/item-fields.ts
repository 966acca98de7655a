import { UsageError } from '../errors.ts';
import { nearest } from '../settings/flag-values.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import type { Items } from './items.ts';
import { stringEnd, stringText, valueEnd } from './json-scanner.ts';

/** The place of a value inside an item. */
export interface FieldPath {
  /** The path as typed: the name of its column or member in the output. */
  readonly text: string;
  /** Member names, or indexes into arrays. Empty for the item itself. */
  readonly steps: readonly string[];
}

/**
 * Reads `--fields a,b.c,items.0.id`: paths parted by commas, steps by dots; white space around a path does not count.
 * A backslash makes the next character part of a name: `a\.b` is the member named `a.b`. Throws `UsageError`.
 */
export function parseFieldPaths(text: string, flag = '--fields'): readonly FieldPath[] {
  const paths: FieldPath[] = [];
  let start = 0;
  for (const end of separators(text, ',')) {
    paths.push(parsePath(trimmed(text.slice(start, end)), text, flag));
    start = end + 1;
  }
  const names = new Set<string>();
  for (const { steps, text: name } of paths) {
    const key = JSON.stringify(steps);
    if (names.has(key)) throw wrong(text, `${name} is named twice`, flag);
    names.add(key);
  }
  return paths;
}

/** The path of a member of the item, whatever characters its name has. */
export function memberPath(name: string): FieldPath {
  return { text: name, steps: [name] };
}

/** The path with these steps; its text is read as them again, also before an operator of a condition. */
export function fieldPath(steps: readonly string[]): FieldPath {
  const text = steps.map((step) => step.replace(/[\\.,!=<>~&|\s]/gu, '\\$&')).join('.');
  return { text, steps };
}

/** The field of some items that was probably meant by a path that none of them has; undefined if none is near. */
export function nearestField(path: FieldPath, items: Items): string | undefined {
  const fields = fieldsOf(items);
  const lower = path.text.toLowerCase();
  const last = (text: string) => text.slice(text.lastIndexOf('.') + 1);
  const spelledAlike =
    fields.find((field) => field.toLowerCase() === lower) ??
    fields.find((field) => last(field).toLowerCase() === last(lower));
  if (spelledAlike !== undefined) return spelledAlike;
  const near = nearest(path.text, fields);
  if (near !== undefined) return near;
  // `statuss` is near the last word of `publishStatus`.
  const words = fields.flatMap((field) =>
    [last(field), ...last(field).split(/(?=[A-Z])|[_-]/)].map((word) => ({ word, field })),
  );
  const word = nearest(
    last(path.text),
    words.filter(({ word }) => word.length > 3).map(({ word }) => word),
  );
  return words.find((one) => one.word === word)?.field;
}

/** Items whose fields are looked through for a suggestion, and how deep. */
const [SAMPLE_ITEMS, SAMPLE_DEPTH] = [500, 8];

/** The paths of the fields that some items have, each once. */
export function fieldsOf(items: Items): string[] {
  const found = new Set<string>();
  const walk = (value: unknown, steps: readonly string[]): void => {
    if (value === null || typeof value !== 'object' || steps.length === SAMPLE_DEPTH) return;
    for (const [name, member] of Object.entries(value)) {
      const path = [...steps, name];
      found.add(fieldPath(path).text);
      walk(member, path);
      if (Array.isArray(value)) return;
    }
  };
  for (let item = 0; item < Math.min(items.count, SAMPLE_ITEMS); item++)
    walk(JSON.parse(items.text(item).toString()), []);
  return [...found];
}

/** Reads one path, as `parseFieldPaths` reads each of several. Throws `UsageError` that names the flag. */
export function parseFieldPath(text: string, flag: string): FieldPath {
  return parsePath(trimmed(text), text, flag);
}

function parsePath(path: string, all: string, flag = '--fields'): FieldPath {
  if (path === '') throw wrong(all, 'a field name is empty', flag);
  const steps: string[] = [];
  let start = 0;
  for (const end of separators(path, '.')) {
    const step = path.slice(start, end);
    if (step === '') throw wrong(all, `a part of '${path}' is empty`, flag);
    if (/(^|[^\\])(\\\\)*\\$/.test(step)) throw wrong(all, `'${path}' ends in a lone backslash`, flag);
    steps.push(step.replace(/\\(.)/gsu, '$1'));
    start = end + 1;
  }
  return { text: path, steps };
}

/** Offsets of the separators that no backslash makes part of a name, and of the end. */
function* separators(text: string, separator: string): Generator<number> {
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === separator) yield index;
  }
  yield text.length;
}

function trimmed(path: string): string {
  const text = path.trimStart();
  const end = text.trimEnd();
  // White space after a backslash belongs to the name.
  return /(^|[^\\])(\\\\)*\\$/.test(end) ? text.slice(0, end.length + 1) : end;
}

function wrong(text: string, why: string, flag = '--fields'): UsageError {
  return new UsageError(`${flag}: invalid value '${text}': ${why}`, {
    next: 'name fields as in eventId, payload.customer.id or items.0.sku; write a dot inside a name as \\.',
  });
}

/** The start of a field that the item does not have. */
export const MISSING = -1;

/** Finds fields in the text of one item after another, without building any value. */
export interface Cursor {
  /** Reads the item at `at`; it is valid JSON without white space between tokens. */
  read(bytes: Buffer, at: number): void;
  /** The offsets of each field's value in the last item read, in the order of the paths. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** The characters of a field that is a string in the last item read; undefined if it is missing or anything else. */
  text(path: number): string | undefined;
  /** The total bytes of the values found in the last item read. */
  foundLength(): number;
}

/** A step that paths share, with the steps that follow it. */
interface Step {
  readonly name: string;
  readonly bytes: Buffer;
  /** The element it names if the value is an array; -1 if it names none. */
  readonly index: number;
  /** Paths that end here. */
  readonly found: number[];
  readonly next: Step[];
}

/** A cursor for these paths. Of members with the same name the last one counts, as in `JSON.parse`. */
export function createCursor(paths: readonly FieldPath[]): Cursor {
  const root = stepTree(paths);
  const starts = new Int32Array(paths.length);
  const ends = new Int32Array(paths.length);

  const visit = (bytes: Buffer, at: number, step: Step): number => {
    const first = bytes[at];
    let end: number;
    if (step.next.length === 0 || (first !== 0x7b && first !== 0x5b)) end = valueEnd(bytes, at);
    else end = first === 0x7b ? visitObject(bytes, at, step) : visitArray(bytes, at, step);
    for (const path of step.found) {
      starts[path] = at;
      ends[path] = end;
    }
    return end;
  };
  const visitObject = (bytes: Buffer, at: number, step: Step): number => {
    if (bytes[at + 1] === 0x7d) return at + 2;
    let index = at;
    do {
      const nameEnd = stringEnd(bytes, index + 1);
      const next = stepNamed(step.next, bytes, index + 1, nameEnd);
      if (next) {
        forget(next);
        index = visit(bytes, nameEnd + 1, next);
      } else index = valueEnd(bytes, nameEnd + 1);
    } while (bytes[index] === 0x2c);
    return index + 1;
  };
  const visitArray = (bytes: Buffer, at: number, step: Step): number => {
    if (bytes[at + 1] === 0x5d) return at + 2;
    let index = at;
    let element = 0;
    do {
      const next = step.next.find((candidate) => candidate.index === element);
      index = next ? visit(bytes, index + 1, next) : valueEnd(bytes, index + 1);
      element++;
    } while (bytes[index] === 0x2c);
    return index + 1;
  };
  /** Drops the values of an earlier member of the same name. */
  const forget = (step: Step): void => {
    for (const path of step.found) starts[path] = MISSING;
    for (const next of step.next) forget(next);
  };

  let page: Buffer;
  return {
    starts,
    ends,
    text: (path) => {
      const start = starts[path] as number;
      return start === MISSING || page[start] !== 0x22
        ? undefined
        : stringText(page, start, ends[path] as number);
    },
    read: (bytes, at) => {
      page = bytes;
      starts.fill(MISSING);
      visit(bytes, at, root);
    },
    foundLength: () => {
      let length = 0;
      for (let path = 0; path < starts.length; path++) {
        if (starts[path] !== MISSING) length += (ends[path] as number) - (starts[path] as number);
      }
      return length;
    },
  };
}

function stepTree(paths: readonly FieldPath[]): Step {
  const root: Step = { name: '', bytes: Buffer.alloc(0), index: -1, found: [], next: [] };
  for (const [path, { steps }] of paths.entries()) {
    let step = root;
    for (const name of steps) {
      let next = step.next.find((candidate) => candidate.name === name);
      if (!next) {
        const index = /^(0|[1-9]\d{0,8})$/.test(name) ? Number(name) : -1;
        next = { name, bytes: Buffer.from(name), index, found: [], next: [] };
        step.next.push(next);
      }
      step = next;
    }
    step.found.push(path);
  }
  return root;
}

/** The step that the member name between `start` and `end` (quotes included) takes. */
function stepNamed(steps: readonly Step[], bytes: Buffer, start: number, end: number): Step | undefined {
  // A name with escapes is decoded before it is compared.
  let escaped = false;
  for (let index = start + 1; index < end - 1; index++) {
    if (bytes[index] === 0x5c) {
      escaped = true;
      break;
    }
  }
  if (escaped) {
    const name: unknown = JSON.parse(bytes.toString('utf8', start, end));
    return steps.find((step) => step.name === name);
  }
  for (let candidate = 0; candidate < steps.length; candidate++) {
    const step = steps[candidate] as Step;
    const length = step.bytes.length;
    if (length !== end - start - 2) continue;
    let index = 0;
    while (index < length && bytes[start + 1 + index] === step.bytes[index]) index++;
    if (index === length) return step;
  }
  return undefined;
}

/** Reads when items were created, from the field that searches filter by (service description, part 4). */
export function createdOnReader(): (bytes: Buffer, at: number) => Instant | undefined {
  const cursor = createCursor([memberPath('createdOn')]);
  return (bytes, at) => {
    cursor.read(bytes, at);
    const text = cursor.text(0);
    return text === undefined ? undefined : parseInstant(text);
  };
}

/** True if a page begins with a newer event than it ends with; the service description promises no order. */
export function isNewestFirst(items: Items): boolean {
  return directionBetween(items, items) === 'newest first';
}

export type Direction = 'newest first' | 'oldest first';

/** The direction in which events are listed, by the first of some items and the last of others; undefined if they do not tell. */
export function directionBetween(first: Items, last: Items): Direction | undefined {
  if (first.count === 0 || last.count === 0) return undefined;
  const createdOn = createdOnReader();
  const [a, b] = [createdOn(first.bytes, first.start(0)), createdOn(last.bytes, last.start(last.count - 1))];
  const order = a && b ? compareInstants(a, b) : 0;
  if (order === 0) return undefined;
  return order > 0 ? 'newest first' : 'oldest first';
}

/** True if the page has an event that was created at that time or later. */
export function holdsEventsFrom(items: Items, time: Instant): boolean {
  const createdOn = createdOnReader();
  for (let index = 0; index < items.count; index++) {
    const created = createdOn(items.bytes, items.start(index));
    if (created !== undefined && compareInstants(created, time) >= 0) return true;
  }
  return false;
}
