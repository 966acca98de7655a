import { UsageError } from '../errors.ts';

/** The step to every element of a list, or to every value of a map, written `[]` as in jq. */
export const EACH: unique symbol = Symbol('[]');

/** The name of a member, the index of an element, or every element. */
export type PathStep = string | typeof EACH;

/** What can be derived of a field, written behind it and a colon. */
export const DERIVATIONS = ['length', 'domain', 'hour', 'weekday', 'delay'] as const;

/** `size` is that of the item alone, written `item:size`. */
export type Derivation = 'size' | (typeof DERIVATIONS)[number];

/** A way through an item that goes through lists, or ends in what is derived of a value. */
export interface Walk {
  /** Empty for what is derived of the item itself. */
  readonly steps: readonly PathStep[];
  readonly derivation: Derivation | undefined;
}

/** The place of a value inside an item, or of several values. */
export interface FieldPath {
  /** The path as typed without needless backslashes: the name of its column or member in the output. */
  readonly text: string;
  /**
   * Member names, or indexes into arrays, as they are written: of `lines[].sku` a member `lines[]` with a
   * member `sku`. Empty for the item itself.
   */
  readonly steps: readonly string[];
  /** What the path means in an item that has no member of these names; undefined if it is only names. */
  readonly walk?: Walk | undefined;
}

/**
 * Reads `--fields a,b.c,lines[].sku`: paths parted by commas, steps by dots; white space around a path does
 * not count. A backslash makes the next character part of a name: `a\.b` is the member named `a.b`. `""` is
 * the member with an empty name. Throws `UsageError`.
 */
export function parseFieldPaths(text: string, flag = '--fields'): readonly FieldPath[] {
  const paths = parted(lettersOf(text), ',').map((letters) => pathOf(letters, flag, text));
  const seen = new Set<string>();
  for (const path of paths) {
    const key = JSON.stringify([path.steps, path.walk !== undefined]);
    if (seen.has(key)) throw wrong(text, `${path.text} is named twice`, flag);
    seen.add(key);
  }
  return paths;
}

/**
 * Reads one path, as `parseFieldPaths` reads each of several, or jq's with a dot in front. Throws
 * `UsageError` that names the flag; `all` is the flag's whole value.
 */
export function parseFieldPath(typed: string, flag: string, all = typed): FieldPath {
  const letters = lettersOf(typed);
  if (letters.includes(','))
    throw wrong(all, 'one field is expected; a comma inside a name is written \\,', flag);
  return pathOf(letters, flag, all);
}

/** True if the field's values depend on a time zone. */
export function isOfZone({ walk }: FieldPath): boolean {
  return walk?.derivation === 'hour' || walk?.derivation === 'weekday';
}

/** The path of a member of the item, whatever characters its name has. */
export function memberPath(name: string): FieldPath {
  return fieldPath([name]);
}

/** The path with these steps, and what is derived of the value there. Its text is read as the same path. */
export function fieldPath(steps: readonly PathStep[], derivation?: Derivation): FieldPath {
  const behind = derivation === undefined ? '' : `:${derivation}`;
  const isOfItem = derivation === 'size';
  const text = textOf(steps, derivation, escapedName);
  const names: string[] = isOfItem ? ['item'] : [];
  for (const step of steps)
    if (step === EACH) names.push(`${names.pop() ?? ''}[]`);
    else names.push(step);
  if (behind !== '') names.push((names.pop() ?? '') + behind);
  const isPlain = derivation === undefined && !steps.includes(EACH);
  return { text, steps: names, ...(isPlain ? {} : { walk: { steps, derivation } }) };
}

/** The text of a path before an operator of a condition, where it is read as the same path. */
export function pathText({ steps, walk }: Pick<FieldPath, 'steps' | 'walk'>): string {
  if (walk) return textOf(walk.steps, walk.derivation, nameInCondition);
  return textOf(steps, undefined, nameInCondition);
}

function textOf(
  steps: readonly PathStep[],
  derivation: Derivation | undefined,
  nameText: (name: string) => string,
): string {
  const behind = derivation === undefined ? '' : `:${derivation}`;
  if (derivation === 'size') return `item${behind}`;
  const stepText = (step: PathStep, index: number) =>
    step === EACH ? '[]' : (index === 0 ? '' : '.') + nameText(step);
  return steps.map(stepText).join('') + behind;
}

/** A derivation's name at the end of a member's name. */
const DERIVED_NAME = new RegExp(`:(?=(size|${DERIVATIONS.join('|')})$)`);

/** A member's name as a part of a path. */
function escapedName(name: string): string {
  return nameWithEscapes(name, /[\\.,[\]]|^\s|\s$/gu);
}

/** The same where an operator may follow. */
function nameInCondition(name: string): string {
  return nameWithEscapes(name, /[\\.,!=<>~&|\s[\]]/gu);
}

function nameWithEscapes(name: string, special: RegExp): string {
  if (name === '') return EMPTY_NAME;
  const escaped = name.replace(special, '\\$&').replace(DERIVED_NAME, '\\:');
  return escaped.startsWith(EMPTY_NAME) ? `\\${escaped}` : escaped;
}

/** How the empty name of a member is written. */
const EMPTY_NAME = '""';

/** More than an item has levels: a cursor takes a piece of the stack for each. */
const MOST_STEPS = 1000;

/** A character, with the backslash in front of it if there is one; or a lone backslash at the end. */
type Letter = string;

function lettersOf(text: string): Letter[] {
  return text.match(/\\?[\s\S]/gu) ?? [];
}

function nameOf(letters: readonly Letter[]): string {
  const isEmpty = letters.slice(0, 2).join('') === EMPTY_NAME && /^[[:]?$/.test(letters[2] ?? '');
  const named = isEmpty ? letters.slice(2) : letters;
  return named.map((letter) => letter.replace(/^\\(?=[\s\S])/, '')).join('');
}

/** The letters without backslashes that change nothing: white space needs one at the ends of a name. */
function withoutNeedlessEscapes(letters: readonly Letter[]): string {
  const isNameEnd = (letter: Letter | undefined) => letter === undefined || /^[.[:]$/.test(letter);
  return letters
    .map((letter, at) => {
      const isAtEnd = isNameEnd(letters[at - 1]) || isNameEnd(letters[at + 1]);
      const isNeeded = /^\\(?:[\\.,[\]:"]|$)/.test(letter) || (isAtEnd && /^\\\s$/.test(letter));
      return isNeeded ? letter : letter.replace(/^\\/, '');
    })
    .join('');
}

/** The letters between those that are a separator. */
function parted(letters: readonly Letter[], separator: ',' | '.'): Letter[][] {
  const parts: Letter[][] = [];
  let part: Letter[] = [];
  for (const letter of letters)
    if (letter === separator) {
      parts.push(part);
      part = [];
    } else part.push(letter);
  return [...parts, part];
}

function pathOf(typed: readonly Letter[], flag: string, all: string): FieldPath {
  const letters = withoutJqDot(withoutOuterSpace(typed));
  const text = letters.join('');
  if (text === '') throw wrong(all, 'a field name is empty', flag);
  if (letters.at(-1) === '\\') throw wrong(all, `'${text}' ends in a lone backslash`, flag);
  const parts = parted(letters, '.');
  if (parts.some((part) => part.length === 0)) throw wrong(all, `a part of '${text}' is empty`, flag);
  const names = parts.map(nameOf);
  if (text === 'item:size') return { text, steps: names, walk: { steps: [], derivation: 'size' } };
  const { field: last, derivation } = withoutDerivation(parts.pop() as Letter[]);
  const steps = [...parts, last].flatMap((part) => {
    const { name, lists } = withoutLists(part);
    if (name.includes('[') || name.includes(']')) throw wrongBrackets(text, flag, all);
    return [...(name.length > 0 ? [nameOf(name)] : []), ...Array<typeof EACH>(lists).fill(EACH)];
  });
  if (steps[0] === EACH) throw wrongBrackets(text, flag, all);
  if (steps.length > MOST_STEPS) throw wrong(all, `a path has at most ${MOST_STEPS} steps`, flag);
  const isPlain = derivation === undefined && !steps.includes(EACH);
  const title = withoutNeedlessEscapes(letters);
  return { text: title, steps: names, ...(isPlain ? {} : { walk: { steps, derivation } }) };
}

function withoutOuterSpace(letters: readonly Letter[]): readonly Letter[] {
  const isInner = (letter: Letter) => letter.trim() !== '';
  const first = letters.findIndex(isInner);
  return first < 0 ? [] : letters.slice(first, letters.findLastIndex(isInner) + 1);
}

/** jq writes a dot in front of a path. */
function withoutJqDot(letters: readonly Letter[]): readonly Letter[] {
  return letters[0] === '.' && letters.length > 1 && letters[1] !== '.' ? letters.slice(1) : letters;
}

/** The last part of a path, parted from what is derived of it. */
function withoutDerivation(part: Letter[]): {
  readonly field: Letter[];
  readonly derivation: Derivation | undefined;
} {
  const colon = part.lastIndexOf(':');
  const word = part.slice(colon + 1).join('');
  const derivation = colon > 0 ? DERIVATIONS.find((one) => one === word) : undefined;
  return { field: derivation ? part.slice(0, colon) : part, derivation };
}

/** A part of a path, parted from the `[]` behind its name; their number. */
function withoutLists(part: readonly Letter[]): { readonly name: readonly Letter[]; readonly lists: number } {
  let end = part.length;
  while (part[end - 1] === ']' && part[end - 2] === '[') end -= 2;
  return { name: part.slice(0, end), lists: (part.length - end) / 2 };
}

function wrong(text: string, why: string, flag: string): UsageError {
  return new UsageError(`${flag}: invalid value '${text}': ${why}`, {
    next: 'name fields as in eventId, payload.customer.id or lines[].sku; write a dot inside a name as \\.',
  });
}

/** Other languages' ways to write a path: JSONPath, jq, JavaScript. */
const OTHER_LANGUAGES: readonly (readonly [written: RegExp, meant: string])[] = [
  [/^\$?\.?(\[\*?\])?\.?/, ''],
  [/\[ *(?:\* *)?\]\??/g, '[]'],
  [/\[ *(\d+) *\]/g, '.$1'],
  [/\[ *(["'])([^"'\\.,[\]]+)\1 *\]/g, '.$2'],
  [/\[\](?=[^.:[\]])/g, '[].'],
];
/** Longer texts are not worth a guess. */
const LONGEST_GUESSED_CHARACTERS = 500;

/** The error for a bracket that is no part of `[]`; its next step has the path that was meant. */
function wrongBrackets(path: string, flag: string, all: string): UsageError {
  const next =
    'use lines[].sku for every element, lines.0.sku for the first; write a bracket inside a name as \\[';
  const message = `${flag}: invalid value '${all}': '${path}' has a bracket other than [] after a name`;
  const meant = path.length > LONGEST_GUESSED_CHARACTERS ? path : pathMeant(path);
  if (meant === path || !isPath(meant)) return new UsageError(message, { next });
  const corrected = all.replace(path, () => meant);
  return new UsageError(message, {
    next: `write ${flag} '${corrected}'`,
    correction: { typed: all, meant: corrected },
  });
}

function pathMeant(path: string): string {
  return OTHER_LANGUAGES.reduce((text, [written, meant]) => text.replace(written, meant), path);
}

function isPath(text: string): boolean {
  try {
    parseFieldPath(text, '');
    return true;
  } catch {
    return false;
  }
}
