import { UsageError } from '../errors.ts';
import { nearest } from '../settings/command-words.ts';
import type { Items } from './items.ts';

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
function fieldsOf(items: Items): string[] {
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
