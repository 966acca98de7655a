import { UsageError } from '../errors.ts';

/** A parser for a flag that takes a whole number of a range; throws `UsageError` that names the flag. */
export function wholeNumber(
  flag: string,
  lowest: number,
  highest = Number.MAX_SAFE_INTEGER,
): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= lowest && value <= highest) return value;
    const accepted =
      highest === Number.MAX_SAFE_INTEGER
        ? `a whole number of at least ${lowest}`
        : `a whole number from ${lowest} to ${highest}`;
    throw new UsageError(`${flag}: '${text}' is not accepted: ${accepted}`);
  };
}

/** A parser for a flag that takes a share from 0 to 1. */
export function share(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d*\.?\d+$/.test(text) && value <= 1) return value;
    throw new UsageError(`${flag}: '${text}' is not accepted: a share from 0 to 1, such as 0.05`);
  };
}
