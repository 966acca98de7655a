import { UsageError } from '../errors.ts';
import { durationMs, durationText } from '../time/lengths.ts';
import { didYouMean } from './nearest-word.ts';

// `--help` loads this file, so nothing here may import commander or the settings.

/** The heading of flags for the connection, which help shows in one line. */
export const CONNECTION = 'Connection:';

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
    const accepted =
      isBounded || value > most
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
    if (/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) && value >= least && value <= most) return value;
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
    if (/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) && value <= 1) return value;
    throw new UsageError(`${flag}: invalid value '${text}': must be a share from 0 to 1, such as 0.05`);
  });
}

/** The longest time that Node's timers can wait, in milliseconds. */
const LONGEST_WAIT_MS = 2_147_483_647;

/**
 * A parser for a flag that takes a length of time such as 15s or 2m, in milliseconds; throws `UsageError`.
 * Without `highestMs` it is one that a timer can wait; `Infinity` takes any. A number alone is of the `bare`
 * unit, if there is one.
 */
export function duration(
  flag: string,
  lowestMs: number,
  highestMs = LONGEST_WAIT_MS,
  bare?: 'ms' | 's',
): FlagParser<number> {
  return takes({ type: 'duration' }, (text) => {
    const valueMs = durationMs(text, bare);
    if (valueMs !== undefined && valueMs >= lowestMs && valueMs <= highestMs) return valueMs;
    const most = highestMs === LONGEST_WAIT_MS ? '24d' : durationText(highestMs);
    const range = `${Number.isFinite(highestMs) ? 'from' : 'at least'} ${durationText(lowestMs)}`;
    const end = Number.isFinite(highestMs) ? ` to ${most}` : '';
    throw new UsageError(
      `${flag}: invalid value '${text}': must be a length of time such as 15s, 2m or 1h, ${range}${end}`,
    );
  });
}
