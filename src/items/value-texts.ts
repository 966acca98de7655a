import { compareNumbers, isNumber, normalNumber } from './exact-numbers.ts';

/** The characters of a string; the JSON text of any other value. */
export function bareText(json: string): string {
  if (!json.startsWith('"')) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** Returns the same text for all spellings of a value. */
export function canonicalText(json: string): string {
  if (json.startsWith('"')) return json.includes('\\') ? JSON.stringify(JSON.parse(json)) : json;
  const number = String(Number(json));
  if (number === json || !isNumber(json)) return json;
  return isNumber(number) && compareNumbers(number, json) === 0 ? number : normalNumber(json);
}

/**
 * Returns a function for the form in which texts are compared with `wanted`: lower case, and NFC unless it is
 * ASCII. macOS and some editors write é as e and an accent.
 */
export function comparableForm(wanted: string): (text: string) => string {
  const isAscii = Buffer.byteLength(wanted) === wanted.length;
  return isAscii ? (text) => text.toLowerCase() : (text) => text.normalize('NFC').toLowerCase();
}
