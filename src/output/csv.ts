import { stringify } from 'csv-stringify/sync';
import { stringText, valueText } from '../items/value-text.ts';

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

/** Rows as CSV (RFC 4180): every line ended by CR LF, cells in quotes where they need them. */
export function csvLines(rows: readonly (readonly (string | number | null)[])[]): string {
  return stringify(rows as (string | number | null)[][], {
    record_delimiter: '\r\n',
    // RFC 4180, section 2.6: a line break of any kind belongs in quotes.
    quoted_match: /[\r\n]/,
    // An empty line would read as no record at all.
    quoted_empty: rows[0]?.length === 1,
  });
}
