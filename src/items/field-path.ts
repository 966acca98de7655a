import { UsageError } from '../errors.ts';
import { type Derivation, derivationFacts, FIELD_DERIVATIONS } from './derived-values.ts';

/** Every element of a list or every value of a map, written `[]` as in jq. */
export const EACH: unique symbol = Symbol('[]');

export type PathStep = string | typeof EACH;

export interface Walk {
  readonly steps: readonly PathStep[];
  readonly derivation: Derivation | undefined;
}

export interface FieldPath {
  /** As typed, without needless backslashes; the name of its column or member in the output. */
  readonly text: string;
  /** Literal names or indexes: of `lines[].sku` a member `lines[]` with `sku`. Empty for the item itself. */
  readonly steps: readonly string[];
  /** Used if no member has the literal names; undefined if the path is only names. */
  readonly walk?: Walk | undefined;
}

/**
 * Parses `--fields a,b.c,lines[].sku`. Ignores white space around paths. A backslash makes the next character
 * part of a name: `a\.b` is the member named `a.b`. `""` is the member with an empty name. Throws
 * `UsageError`.
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

/** Also accepts jq's leading dot. Throws `UsageError`; `all` is the flag's whole value. */
export function parseFieldPath(typed: string, flag: string, all = typed): FieldPath {
  const letters = lettersOf(typed);
  if (letters.includes(','))
    throw wrong(all, 'one field is expected; a comma inside a name is written \\,', flag);
  return pathOf(letters, flag, all);
}

export function isOfZone({ walk }: FieldPath): boolean {
  return walk?.derivation !== undefined && derivationFacts(walk.derivation).isOfZone === true;
}

export function memberPath(name: string): FieldPath {
  return fieldPath([name]);
}

/** The text parses to the same path. */
export function fieldPath(steps: readonly PathStep[], derivation?: Derivation): FieldPath {
  const text = textOf(steps, derivation, escapedName);
  const names: string[] = derivation === 'size' ? ['item'] : [];
  for (const step of steps)
    if (step === EACH) names.push(`${names.pop()}[]`);
    else names.push(step);
  if (derivation !== undefined) names.push(`${names.pop()}:${derivation}`);
  const isPlain = derivation === undefined && !steps.includes(EACH);
  return { text, steps: names, ...(isPlain ? {} : { walk: { steps, derivation } }) };
}

/** Escapes what an operator could be mistaken for. */
export function pathText({ steps, walk }: Pick<FieldPath, 'steps' | 'walk'>): string {
  return textOf(walk?.steps ?? steps, walk?.derivation, nameInCondition);
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

const DERIVED_NAME = new RegExp(`:(?=(size|${FIELD_DERIVATIONS.join('|')})$)`);

function escapedName(name: string): string {
  return nameWithEscapes(name, /[\\.,[\]]|^\s|\s$/gu);
}

function nameInCondition(name: string): string {
  return nameWithEscapes(name, /[\\.,!=<>~&|\s[\]]/gu);
}

function nameWithEscapes(name: string, special: RegExp): string {
  if (name === '') return EMPTY_NAME;
  const escaped = name.replace(special, '\\$&').replace(DERIVED_NAME, '\\:');
  return escaped.startsWith(EMPTY_NAME) ? `\\${escaped}` : escaped;
}

const EMPTY_NAME = '""';

/** Deeper than any item; a cursor takes stack for each step. */
const MAX_STEPS = 1000;

/** A character with its backslash, if any; or a lone backslash at the end. */
type Letter = string;

function lettersOf(text: string): Letter[] {
  return text.match(/\\?[\s\S]/gu) ?? [];
}

function nameOf(letters: readonly Letter[]): string {
  const isEmpty = letters.slice(0, 2).join('') === EMPTY_NAME && /^[[:]?$/.test(letters[2] ?? '');
  const named = isEmpty ? letters.slice(2) : letters;
  return named.map((letter) => letter.replace('\\', '')).join('');
}

/** White space needs a backslash only at the ends of a name. */
function withoutNeedlessEscapes(letters: readonly Letter[]): string {
  const isNameEnd = (letter: Letter | undefined) => letter === undefined || /^[.[:]$/.test(letter);
  return letters
    .map((letter, at) => {
      const isAtEnd = isNameEnd(letters[at - 1]) || isNameEnd(letters[at + 1]);
      const isNeeded = /\\[\\.,[\]:"]/.test(letter) || (isAtEnd && /\s/.test(letter));
      return isNeeded ? letter : letter.replace('\\', '');
    })
    .join('');
}

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
  if (steps.length > MAX_STEPS) throw wrong(all, `a path has at most ${MAX_STEPS} steps`, flag);
  const isPlain = derivation === undefined && !steps.includes(EACH);
  const title = withoutNeedlessEscapes(letters);
  return { text: title, steps: names, ...(isPlain ? {} : { walk: { steps, derivation } }) };
}

function withoutOuterSpace(letters: readonly Letter[]): readonly Letter[] {
  const isInner = (letter: Letter) => letter.trim() !== '';
  const first = letters.findIndex(isInner);
  return first < 0 ? [] : letters.slice(first, letters.findLastIndex(isInner) + 1);
}

function withoutJqDot(letters: readonly Letter[]): readonly Letter[] {
  return letters[0] === '.' && letters.length > 1 && letters[1] !== '.' ? letters.slice(1) : letters;
}

function withoutDerivation(part: Letter[]): {
  readonly field: Letter[];
  readonly derivation: Derivation | undefined;
} {
  const colon = part.lastIndexOf(':');
  const word = part.slice(colon + 1).join('');
  const derivation = colon > 0 ? FIELD_DERIVATIONS.find((one) => one === word) : undefined;
  return { field: derivation ? part.slice(0, colon) : part, derivation };
}

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

const OTHER_LANGUAGES: readonly (readonly [written: RegExp, meant: string])[] = [
  [/^\$?\.?(\[\*?\])?\.?/, ''],
  [/\[ *(?:\* *)?\]\??/g, '[]'],
  [/\[ *(\d+) *\]/g, '.$1'],
  [/\[ *(["'])([^"'\\.,[\]]+)\1 *\]/g, '.$2'],
  [/\[\](?=[^.:[\]])/g, '[].'],
];
/** Longer texts get no suggestion. */
const LONGEST_GUESSED_CHARACTERS = 500;

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
