import { Items } from './items.ts';
import { ARRAY, BACKSLASH, JsonScanner, JsonSyntaxError, OBJECT, stringText } from './json-scanner.ts';

const SPACE = 0x20;

/** The object or list inside a text (RFC 8259), compact; undefined otherwise. Offsets include quotes. */
export function jsonInText(bytes: Buffer, start: number, end: number): Buffer | undefined {
  if (!mayHoldJson(bytes[start + 1] as number)) return undefined;
  const text = Buffer.from(stringText(bytes, start, end));
  const scanner = new JsonScanner(text);
  const first = scanner.space(0);
  if (text[first] !== OBJECT && text[first] !== ARRAY) return undefined;
  const last = endOfValue(scanner, first);
  if (last === undefined || scanner.space(last) !== text.length) return undefined;
  return scanner.spaced ? new Items(text, [first, last]).compacted().bytes : text;
}

/** An escape may be that of a line feed. */
function mayHoldJson(first: number): boolean {
  return first === OBJECT || first === ARRAY || first === SPACE || first === BACKSLASH;
}

function endOfValue(scanner: JsonScanner, at: number): number | undefined {
  try {
    return scanner.value(at);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
