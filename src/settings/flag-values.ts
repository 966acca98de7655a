import { UsageError } from '../errors.ts';
import { durationMs, durationText } from '../time/lengths.ts';
import { didYouMean } from './nearest-word.ts';

// `--help` loads this file, so nothing here may import commander or the settings.

export const CONNECTION = 'Connection:';

export type FlagParser<Value> = ((text: string) => Value) & { readonly takes: FlagType };
export interface FlagType {
  readonly type: 'integer' | 'number' | 'duration' | 'size' | 'url';
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Completion and `help --json` offer the words. */
export type WordParser<Value> = ((text: string) => Value) & { readonly words: readonly string[] };

export function takes<Value>(type: FlagType, parse: (text: string) => Value): FlagParser<Value> {
  return Object.assign(parse, { takes: type });
}

/** Returns a parser for whole numbers in a range, which throws `UsageError` that names the flag. */
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
 * Returns a parser for numbers with or without decimals, such as 0.5, which throws `UsageError` that names
 * the flag.
 */
export function decimalNumber(flag: string, least: number, most: number): FlagParser<number> {
  return takes({ type: 'number', minimum: least, maximum: most }, (text) => {
    const value = decimalOf(text);
    if (value >= least && value <= most) return value;
    throw new UsageError(`${flag}: invalid value '${text}': must be a number from ${least} to ${most}`);
  });
}

/** `NaN` for other texts, such as `1e3` and `0x1`. */
function decimalOf(text: string): number {
  return /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
}

/**
 * Returns a parser for one of a few words, ignoring case. `synonyms`: words that people write instead; the
 * error suggests the right word.
 */
export function oneOf<Word extends string>(
  flag: string,
  words: readonly Word[],
  synonyms: Readonly<Record<string, Word>> = {},
): WordParser<Word> {
  const parse = (text: string) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found) return found;
    const synonym = words.find((word) => word === synonyms[text.toLowerCase()]);
    const meant = didYouMean(text, words, undefined, synonym);
    throw new UsageError(`${flag}: invalid value '${text}': must be ${orList(words)}`, meant);
  };
  return Object.assign(parse, { words });
}

/** Returns a parser for some of a few words, with commas between them. */
export function listOf<Word extends string>(flag: string, words: readonly Word[]): WordParser<Word[]> {
  const parse = oneOf(flag, words);
  return Object.assign((text: string) => text.split(',').map((word) => parse(word)), { words });
}

export function orList(texts: readonly string[]): string {
  const [only = '', ...others] = texts;
  return others.length === 0 ? only : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}

/** Rejects an empty file name, which may come from an unset shell variable. */
export function fileName(flag: string): (text: string) => string {
  return (text) => {
    if (text !== '') return text;
    throw new UsageError(`${flag}: invalid value '': must be the name of a file`);
  };
}

export function share(flag: string): FlagParser<number> {
  return takes({ type: 'number', minimum: 0, maximum: 1 }, (text) => {
    const value = decimalOf(text);
    if (value <= 1) return value;
    throw new UsageError(`${flag}: invalid value '${text}': must be a share from 0 to 1, such as 0.05`);
  });
}

/** Milliseconds of the longest wait of Node's timers. */
const LONGEST_WAIT_MS = 2_147_483_647;

/**
 * Returns a parser for a length of time such as 15s or 2m, in milliseconds, which throws `UsageError`.
 * `highestMs`: by default the longest wait of a timer; `Infinity` for no limit. A bare number has the `bare`
 * unit, if given.
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
