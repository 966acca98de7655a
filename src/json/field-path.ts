import { UsageError } from '../errors.ts';

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
