import { comparableForm } from './comparable-text.ts';
import { isPunctuation, rawText, tokenEnd } from './json-scanner.ts';

/** With one of these, a match in the item's text may span tokens or be part of an escape. */
const STRUCTURE = /["\\{}[\],:]/;

/** Searches values and names, in any case and normalization. */
export function textFinder(wanted: string): (bytes: Buffer, start: number, end: number) => boolean {
  const formOf = comparableForm(wanted);
  const form = formOf(wanted);
  const mayCrossTokens = STRUCTURE.test(wanted);
  const hasWanted = (text: string) => formOf(text).includes(form);
  return (bytes, start, end) => {
    const text = bytes.toString('utf8', start, end);
    const hasEscapes = text.includes('\\');
    // Without escapes, the item's JSON text contains every value's text.
    if (!hasEscapes && !hasWanted(text)) return false;
    if (!hasEscapes && !mayCrossTokens) return true;
    return someToken(bytes, start, end, hasWanted);
  };
}

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
