import { stringText, valueText } from '../value-text.ts';

/**
 * The characters that make a spreadsheet take text for a formula, as OWASP's "CSV Injection" lists them: also behind
 * a tab or a line break, and as the full-width forms that some locales type. NUL is ASVS's addition.
 */
const FORMULA = /^[=+\-@\t\r\n\0\uff1d\uff0b\uff0d\uff20]/;

/** A text cell; unless `raw`, an apostrophe keeps a spreadsheet from running it. */
export function csvText(text: string, raw: boolean): string {
  return !raw && FORMULA.test(text) ? `'${text}` : text;
}

/** The cell of a JSON value: text guarded, numbers as the service wrote them, nested values as JSON, null empty. */
export function csvCell(bytes: Buffer, start: number, end: number, raw: boolean): string {
  return bytes[start] === 0x22 ? csvText(stringText(bytes, start, end), raw) : valueText(bytes, start, end);
}
