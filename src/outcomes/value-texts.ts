import { compareNumbers, isNumber, normalNumber } from '../items/exact-numbers.ts';
import { orderedNumber } from './ordered-number.ts';

/** In a list: that some of its elements have no value, as `= null` asks. */
export const NULL_TEXT = 'null';

/** The characters of a string, the JSON text of anything else. */
export function bareText(json: string): string {
  if (!json.startsWith('"')) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** One text of the many that JSON has for a value. */
export function canonicalText(json: string): string {
  if (json.startsWith('"')) return json.includes('\\') ? JSON.stringify(JSON.parse(json)) : json;
  const number = String(Number(json));
  if (number === json || !isNumber(json)) return json;
  return isNumber(number) && compareNumbers(number, json) === 0 ? number : normalNumber(json);
}

/**
 * The same text for values that a filter takes for one: `--type` and `--subscription` ignore case, and
 * `--where 'field = 1'` takes the text "1" for the number.
 */
export function filteredText(json: string, ignoresCase: boolean): string {
  if (ignoresCase) return json.toLowerCase();
  const text = bareText(json);
  return isNumber(text) ? canonicalText(text) : text;
}

/** The numbers that JSON texts are, if they all are such that can be put in order. */
export function orderedNumbers(texts: readonly string[]): Float64Array | undefined {
  const numbers = new Float64Array(texts.length);
  for (const [index, text] of texts.entries()) {
    const bytes = Buffer.from(text);
    const number = orderedNumber(bytes, 0, bytes.length);
    if (Number.isNaN(number)) return undefined;
    numbers[index] = number;
  }
  return numbers;
}
