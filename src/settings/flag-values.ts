import { Option } from 'commander';
import { type ErrorParts, UsageError } from '../errors.ts';

/**
 * What a flag says of itself as values: help makes text of them, `help --json` and completion take them as
 * they are.
 */
export interface FlagFacts {
  /** The value without the flag, or words for one that depends on more. */
  readonly preset?: string | number | undefined;
  /** The environment variables that give the value too. */
  readonly variables?: readonly string[] | undefined;
  readonly isRepeatable?: true | undefined;
}

/**
 * An option with its facts. commander's own `default` would look like a flag that was given, and its `env`
 * reads the process.
 */
export class Flag extends Option {
  readonly facts: FlagFacts;

  constructor(flags: string, description: string, facts: FlagFacts, parse?: (text: string) => unknown) {
    super(flags, description);
    this.facts = facts;
    if (parse) this.argParser(parse);
  }
}

/** A flag that may be given several times; its value is a list. */
export function listFlag(flags: string, description: string): Flag {
  return new Flag(flags, description, { isRepeatable: true }).argParser(collected);
}

function collected(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

/** Flags of jq itself, which people write after ours. */
export const JQ_FLAG = /^(-[rc]+|--raw-output|--compact-output)$/;

/** A parser of a flag's value that says what it takes, for `help --json`. */
export type FlagParser<Value> = ((text: string) => Value) & { readonly takes: FlagType };
export interface FlagType {
  readonly type: 'integer' | 'number' | 'duration' | 'size' | 'url';
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A parser that names the type of its values. */
export function takes<Value>(type: FlagType, parse: (text: string) => Value): FlagParser<Value> {
  return Object.assign(parse, { takes: type });
}

/** A parser for a flag that takes a whole number of a range; throws `UsageError` that names the flag. */
export function wholeNumber(flag: string, least: number, most = Number.MAX_SAFE_INTEGER): FlagParser<number> {
  const isBounded = most !== Number.MAX_SAFE_INTEGER;
  const type = { type: 'integer', minimum: least, ...(isBounded ? { maximum: most } : {}) } as const;
  return takes(type, (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const accepted = isBounded
      ? `a whole number from ${least} to ${most}`
      : `a whole number of at least ${least}`;
    throw new UsageError(`${flag}: invalid value '${text}': must be ${accepted}`);
  });
}

/**
 * A parser for a flag that takes a number with or without decimals, such as 0.5; throws `UsageError` that
 * names the flag.
 */
export function decimalNumber(flag: string, least: number, most: number): FlagParser<number> {
  return takes({ type: 'number', minimum: least, maximum: most }, (text) => {
    const value = Number(text);
    if (/^\d*\.?\d+$/.test(text) && value >= least && value <= most) return value;
    throw new UsageError(`${flag}: invalid value '${text}': must be a number from ${least} to ${most}`);
  });
}

/**
 * A parser for a flag that takes one of a few words, in any case of letters. `synonyms` are what people write
 * for them; the error of a synonym suggests its word.
 */
export function oneOf<Word extends string>(
  flag: string,
  words: readonly Word[],
  synonyms: Readonly<Record<string, Word>> = {},
): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found) return found;
    const synonym = words.find((word) => word === synonyms[text.toLowerCase()]);
    const meant = didYouMean(text, words, undefined, synonym);
    throw new UsageError(`${flag}: invalid value '${text}': must be ${orList(words)}`, meant);
  };
}

/** `a, b or c`. */
export function orList(texts: readonly string[]): string {
  const [only = '', ...others] = texts;
  return others.length === 0 ? only : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}

/** A parser for a flag that names a file. An empty name, as of an unset variable of a shell, is an error. */
export function fileName(flag: string): (text: string) => string {
  return (text) => {
    if (text !== '') return text;
    throw new UsageError(`${flag}: invalid value '': must be the name of a file`);
  };
}

/** A parser for a flag that takes a share from 0 to 1. */
export function share(flag: string): FlagParser<number> {
  return takes({ type: 'number', minimum: 0, maximum: 1 }, (text) => {
    const value = Number(text);
    if (/^\d*\.?\d+$/.test(text) && value <= 1) return value;
    throw new UsageError(`${flag}: invalid value '${text}': must be a share from 0 to 1, such as 0.05`);
  });
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** The longest time that Node's timers can wait, in milliseconds. */
const LONGEST_WAIT_MS = 2_147_483_647;

/**
 * A parser for a flag that takes a length of time such as 15s or 2m, in milliseconds; throws `UsageError`.
 * Without `highest` it is one that a timer can wait; `Infinity` takes any. A number alone is of the `bare`
 * unit, if there is one.
 */
export function duration(
  flag: string,
  lowest: number,
  highest = LONGEST_WAIT_MS,
  bare?: 'ms' | 's',
): FlagParser<number> {
  return takes({ type: 'duration' }, (text) => {
    const match = /^(\d{1,9})(ms|[smhdw])?$/.exec(text);
    // Nothing is nothing in every unit.
    const unit = match?.[2] ?? (Number(match?.[1]) === 0 ? 's' : bare);
    const value = match && unit ? Number(match[1]) * (UNITS[unit] as number) : Number.NaN;
    if (value >= lowest && value <= highest) return value;
    const most = highest === LONGEST_WAIT_MS ? '24d' : durationText(highest);
    const range = `${Number.isFinite(highest) ? 'from' : 'at least'} ${durationText(lowest)}`;
    const end = Number.isFinite(highest) ? ` to ${most}` : '';
    throw new UsageError(
      `${flag}: invalid value '${text}': must be a length of time such as 15s, 2m or 1h, ${range}${end}`,
    );
  });
}

/** A length of time in the largest unit that keeps it whole: `90s`, `2m`, `1h`. */
export function durationText(milliseconds: number): string {
  for (const name of ['d', 'h', 'm', 's']) {
    const size = UNITS[name] as number;
    if (milliseconds >= size && milliseconds % size === 0) return `${milliseconds / size}${name}`;
  }
  return milliseconds === 0 ? '0s' : `${milliseconds}ms`;
}

/**
 * The candidate that was probably meant, by Damerau–Levenshtein distance without regard to case; undefined
 * where none is near (more than a third of the longer text would have to change).
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.max(text.length, candidate.length) / 3));
    if (distance <= allowed && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  const begun = candidates.filter((candidate) => candidate.startsWith(text.toLowerCase()));
  return best ?? (text.length > 2 && begun.length === 1 ? begun[0] : undefined);
}

/**
 * The parts of an error that ask about a misspelt word. The next step becomes the corrected line if the word
 * stands on the line; where no candidate is near, it is `otherwise`.
 */
export function didYouMean(
  text: string,
  candidates: readonly string[],
  otherwise?: string,
  synonym?: string,
): Pick<ErrorParts, 'next' | 'correction'> {
  const meant = synonym ?? nearest(text, candidates);
  if (meant === undefined) return { next: otherwise };
  return { next: `did you mean ${meant}?`, correction: { typed: text, meant } };
}

/**
 * A command over the same events, in the words of a POSIX shell. A pipe that was read has to be piped again.
 */
export function commandOver(from: string | undefined, words: readonly string[]): string {
  const source = from === undefined ? [] : ['--from', shellWord(from)];
  return [...(from === '-' ? ['… |'] : []), ...words, ...source].join(' ');
}

/**
 * Flags as words of a command line again, in the order of `names` (as commander names them): `authUrl`
 * becomes `--auth-url` and its value, a switch only the flag, a repeated flag as many pairs as it has values.
 */
export function flagWords(flags: object, names: readonly string[]): string[] {
  const values = new Map<string, unknown>(Object.entries(flags));
  return names.flatMap((name) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const value = values.get(name);
    if (value === undefined) return [];
    return value === true ? [flag] : [value].flat().flatMap((one) => [flag, String(one)]);
  });
}

/** Commands that no profile changes. */
const WITHOUT_PROFILE = /^hooktrail (keygen|sandbox|demo|completion|help|profiles|version)\b| --help$/;

/**
 * Completes the commands that a text names in backquotes, so that they mean the profile and the store that
 * this run was told to use: with `--profile night`, `hooktrail login` becomes `hooktrail login --profile
 * night`.
 */
export function completeCommands(
  text: string,
  { profile, store }: { readonly profile?: string | undefined; readonly store?: string | undefined },
): string {
  return text.replace(/`(hooktrail [^`]+)`/g, (whole, command: string) => {
    if (WITHOUT_PROFILE.test(command)) return whole;
    const flags = {
      profile: command.includes(' --profile ') ? undefined : profile,
      store: /^hooktrail login\b(?!.* --store )/.test(command) ? store : undefined,
    };
    return `\`${[command, ...flagWords(flags, ['profile', 'store']).map(shellWord)].join(' ')}\``;
  });
}

/** One word for a POSIX shell, in quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same, in quotes only where it needs them. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}

function editDistance(a: string, b: string): number {
  // Names are short; a service's longer texts are not worth the quadratic cost.
  if (a.length > 200 || b.length > 200) return a === b ? 0 : Number.POSITIVE_INFINITY;
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => i + j),
  );
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (const [i, row] of rows.entries())
    for (let j = 1; i > 0 && j <= b.length; j++) {
      const substitution = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwapped ? at(i - 2, j - 2) + 1 : substitution;
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, substitution, swap);
    }
  return at(a.length, b.length);
}
