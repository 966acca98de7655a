import { comparableForm } from './comparable-text.ts';
import { isPunctuation, rawText, tokenEnd } from './json-scanner.ts';

/** Characters that separate tokens, or that begin an escape inside a string. */
const STRUCTURE = /["\\{}[\],:]/;

/** Finds a text in the values and names of an item, in any case, composed or not. */
export function textFinder(wanted: string): (bytes: Buffer, start: number, end: number) => boolean {
  const formOf = comparableForm(wanted);
  const form = formOf(wanted);
  const mayCrossTokens = STRUCTURE.test(wanted);
  const hasWanted = (text: string) => formOf(text).includes(form);
  return (bytes, start, end) => {
    const text = bytes.toString('utf8', start, end);
    const hasEscapes = text.includes('\\');
    // Without escapes, the item's JSON text contains the text of all its values.
    if (!hasEscapes && !hasWanted(text)) return false;
    if (!hasEscapes && !mayCrossTokens) return true;
    return someToken(bytes, start, end, hasWanted);
  };
}

/** True if `holds` is for any string, number or literal of an item, names included. */
function someToken(bytes: Buffer, start: number, end: number, holds: (text: string) => boolean): boolean {
  let at = start;
  while (at < end) {
    if (isPunctuation(bytes[at] as number)) {
      at++;
      continue;
    }
    const behind = tokenEnd(bytes, at);
    if (holds(rawText(bytes, at, behind))) return true;
    at = behind;
  }
  return false;
}
