import { stringify } from 'csv-stringify/sync';

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
