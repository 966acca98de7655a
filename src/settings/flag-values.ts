import { UsageError } from '../errors.ts';
import { didYouMean } from './command-words.ts';

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
export function wholeNumber(
  flag: string,
  lowest: number,
  highest = Number.MAX_SAFE_INTEGER,
): FlagParser<number> {
  const isBounded = highest !== Number.MAX_SAFE_INTEGER;
  const type = { type: 'integer', minimum: lowest, ...(isBounded ? { maximum: highest } : {}) } as const;
  return takes(type, (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= lowest && value <= highest) return value;
    const accepted = isBounded
      ? `a whole number from ${lowest} to ${highest}`
      : `a whole number of at least ${lowest}`;
    throw new UsageError(`${flag}: invalid value '${text}': must be ${accepted}`);
  });
}

/** A parser for a flag that takes one of a few words, in any case of letters. */
export function oneOf<Word extends string>(flag: string, words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found) return found;
    const accepted = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
    throw new UsageError(`${flag}: invalid value '${text}': must be ${accepted}`, {
      ...didYouMean(text, words),
    });
  };
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
 * A parser for a flag that takes a length of time such as 15s or 2m, in milliseconds; throws `UsageError`. Without `highest`
 * it is one that a timer can wait; `Infinity` takes any. A number alone is of the `bare` unit, if there is one.
 */
export function duration(
  flag: string,
  lowest: number,
  highest = LONGEST_WAIT_MS,
  bare?: 'ms' | 's',
): FlagParser<number> {
  return takes({ type: 'duration' }, (text) => {
    const match = /^(\d{1,9})(ms|[smhdw])?$/.exec(text);
    const unit = match?.[2] ?? bare;
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
