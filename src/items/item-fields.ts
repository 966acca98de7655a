import { UsageError } from '../errors.ts';
import { nearest } from '../settings/nearest-word.ts';
import { type Items, isObject, type ListKind } from './items.ts';
import { startsWith, stringEnd, stringText, valueEnd } from './json-scanner.ts';
import { withKnownFieldsAtTop } from './known-fields.ts';

/** The place of a value inside an item. */
export interface FieldPath {
  /** The path as typed: the name of its column or member in the output. */
  readonly text: string;
  /** Member names, or indexes into arrays. Empty for the item itself. */
  readonly steps: readonly string[];
}

/**
 * Reads `--fields a,b.c,items.0.id`: paths parted by commas, steps by dots; white space around a path does
 * not count. A backslash makes the next character part of a name: `a\.b` is the member named `a.b`. Throws
 * `UsageError`.
 */
export function parseFieldPaths(text: string, flag = '--fields'): readonly FieldPath[] {
  const paths = text.split(COMMA).map((path) => parseFieldPath(path, flag, text));
  const keys = paths.map(({ steps }) => JSON.stringify(steps));
  const twice = paths.find((_, index) => keys.indexOf(keys[index] as string) < index);
  if (twice) throw wrong(text, `${twice.text} is named twice`, flag);
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

/** Not behind an odd number of backslashes, the last of which would make it part of a name. */
const UNESCAPED = String.raw`(?<!(?<!\\)(?:\\\\)*\\)`;
const COMMA = new RegExp(`${UNESCAPED},`);
const DOT = new RegExp(`${UNESCAPED}\\.`);
const LONE_BACKSLASH = new RegExp(`${UNESCAPED}\\\\$`);

/**
 * Reads one path, as `parseFieldPaths` reads each of several, or jq's with a dot in front. Throws
 * `UsageError` that names the flag.
 */
export function parseFieldPath(typed: string, flag: string, all = typed): FieldPath {
  const text = withoutOuterSpace(typed).replace(/^\.(?=[^.])/, '');
  if (text === '') throw wrong(all, 'a field name is empty', flag);
  if (COMMA.test(text)) throw wrong(all, 'one field is expected; a comma inside a name is \\,', flag);
  const steps = text.split(DOT).map((step) => {
    if (step === '') throw wrong(all, `a part of '${text}' is empty`, flag);
    if (LONE_BACKSLASH.test(step)) throw wrong(all, `'${text}' ends in a lone backslash`, flag);
    return step.replace(/\\(.)/gsu, '$1');
  });
  return { text, steps };
}

/**
 * The text without white space around it; of what follows a backslash at its end the first character belongs
 * to a name.
 */
function withoutOuterSpace(typed: string): string {
  const text = typed.trimStart();
  const inner = text.trimEnd();
  const [backslashes = ''] = /\\*$/.exec(inner.slice(-MOST_BACKSLASHES)) ?? [];
  return backslashes.length % 2 === 0 ? inner : text.slice(0, inner.length + 1);
}

/**
 * An even number: whether more backslashes than these escape each other does not depend on those before them.
 */
const MOST_BACKSLASHES = 1000;

function wrong(text: string, why: string, flag: string): UsageError {
  return new UsageError(`${flag}: invalid value '${text}': ${why}`, {
    next: 'name fields as in eventId, payload.customer.id or items.0.sku; write a dot inside a name as \\.',
  });
}

/** The message that no item has a field, with the one of some items that was probably meant. */
export function noSuchField(field: FieldPath, items: Items, list: ListKind = 'events'): string {
  const near = nearestField(field, items);
  const what = { events: 'event', 'event-types': 'event type', subscriptions: 'subscription' }[list];
  const place = near && /\.0(\.|$)/.test(near) ? ' (only the first of each list)' : '';
  return `no ${what} has the field '${field.text}'${near ? `; did you mean ${near}?${place}` : ''}`;
}

/** A place in a list is no name that somebody could have misspelt. */
const isPosition = (name: string) => /^\d+$/.test(name);

function nearestField({ text }: FieldPath, items: Items): string | undefined {
  const lastOf = (path: string) => path.slice(path.lastIndexOf('.') + 1);
  const fields = new Map<string, string>();
  // `statuss` is near the last word of `publishStatus`.
  const wordsOf = (name: string) => name.split(/(?=[A-Z])|[_-]/).filter((word) => word.length > 3);
  for (const namesOf of [(field: string) => [field], lastOf, (field: string) => wordsOf(lastOf(field))])
    for (const field of fieldsOf(items))
      for (const name of [namesOf(field)].flat())
        if (!fields.has(name) && !isPosition(name)) fields.set(name, field);
  const names = [...fields.keys()];
  const near = nearest(text, names) ?? nearest(lastOf(text), names);
  return near && fields.get(near);
}

/** Items whose fields are looked through for a suggestion. */
const SAMPLE_ITEMS = 500;
/** Objects and lists inside each other that are looked into for it. */
const SAMPLE_DEPTH = 8;

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
  for (const value of items.first(SAMPLE_ITEMS).values())
    walk(isObject(value) ? withKnownFieldsAtTop(value) : value, []);
  return [...found];
}

/** The start of a field that the item does not have. */
export const MISSING = -1;

/** Finds fields in the text of one item after another, without building any value. */
export interface Cursor {
  /**
   * Reads the item at `at`, which is valid JSON without white space between tokens. Returns the offset after
   * it.
   */
  read(bytes: Buffer, at: number): number;
  /** The offsets of each field's value in the last item read, in the order of the paths. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /**
   * The characters of a field that is a string in the last item read; undefined if it is missing or anything
   * else.
   */
  text(path: number): string | undefined;
}

/** A step that paths share, with the steps that follow it. */
class Step {
  readonly quoted: Buffer;
  readonly place: number;
  /** Paths that end here. */
  readonly found: number[] = [];
  readonly next: Step[] = [];
  readonly byName = new Map<string, Step>();

  constructor(name = '', place = 0) {
    this.quoted = Buffer.from(JSON.stringify(name));
    this.place = place;
  }

  /** The step to a member, which is added if it is new. */
  to(name: string): Step {
    const step = this.byName.get(name) ?? new Step(name, this.next.length);
    if (step.place === this.next.length) this.next.push(step);
    this.byName.set(name, step);
    return step;
  }

  /** The step that the member name between two offsets (quotes included) takes. */
  named(bytes: Buffer, start: number, end: number): Step | undefined {
    let index = start;
    while (index < end && bytes[index] !== 0x5c) index++;
    // A name with escapes is decoded before it is compared.
    if (index < end || this.next.length > FEW) return this.byName.get(stringText(bytes, start, end));
    for (const step of this.next)
      if (step.quoted.length === end - start && startsWith(bytes, start, step.quoted)) return step;
    return undefined;
  }
}

/** The number of names up to which comparing their bytes takes less time than decoding a name. */
const FEW = 8;

export interface CreateCursorOptions {
  /**
   * Called with the offsets of the name (quotes included) of a member whose value no path shows, unless that
   * is null.
   */
  readonly onOther?: ((bytes: Buffer, nameStart: number, nameEnd: number) => void) | undefined;
  /**
   * Called at each object that is a member of the item itself. May return the offset after it, if that is
   * known by then.
   */
  readonly onObject?: (at: number) => number | undefined;
  /** Where the offsets go, for cursors that share them; at least one place for each path. */
  readonly starts?: Int32Array;
  readonly ends?: Int32Array;
}

/**
 * A cursor for these paths, taken as they are: short names of known fields are those at the top alone
 * (`createCursor` in `known-fields.ts` finds them wherever they are). Of members with the same name the last
 * one counts, as in `JSON.parse`.
 */
export function createExactCursor(
  paths: readonly FieldPath[],
  {
    onOther,
    onObject,
    starts = new Int32Array(paths.length),
    ends = new Int32Array(paths.length),
  }: CreateCursorOptions = {},
): Cursor {
  const root = new Step();
  for (const [path, { steps }] of paths.entries())
    steps.reduce((step, name) => step.to(name), root).found.push(path);

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
    // Items of one type have the same members in the same order.
    let expected = 0;
    do {
      const nameStart = index + 1;
      let next = step.next[expected];
      let nameEnd = nameStart + (next?.quoted.length ?? 0);
      if (!next || !startsWith(bytes, nameStart, next.quoted)) {
        nameEnd = stringEnd(bytes, nameStart);
        next = step.named(bytes, nameStart, nameEnd);
      }
      const first = bytes[nameEnd + 1];
      if (onOther && first !== 0x6e && !(next && (next.found.length > 0 || first === 0x7b)))
        onOther(bytes, nameStart, nameEnd);
      const known = onObject && first === 0x7b && step === root ? onObject(nameEnd + 1) : undefined;
      if (next) {
        forget(next);
        expected = next.place + 1;
        index = visit(bytes, nameEnd + 1, next);
      } else index = known ?? valueEnd(bytes, nameEnd + 1);
    } while (bytes[index] === 0x2c);
    return index + 1;
  };
  const visitArray = (bytes: Buffer, at: number, step: Step): number => {
    if (bytes[at + 1] === 0x5d) return at + 2;
    let index = at;
    let element = 0;
    do {
      const next = step.byName.get(String(element++));
      index = next ? visit(bytes, index + 1, next) : valueEnd(bytes, index + 1);
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
      return visit(bytes, at, root);
    },
  };
}
