import { comparableForm } from './comparable-text.ts';
import { rawText, someToken } from './json-scanner.ts';

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
    return someToken(bytes, start, end, (at, to) => hasWanted(rawText(bytes, at, to)));
  };
}
