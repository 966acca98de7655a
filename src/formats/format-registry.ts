import { type Advice, advise, hooktrail } from '../advice.ts';

export interface Format {
  readonly synonyms: readonly string[];
  readonly isJson?: true;
  readonly hasTitles?: true;
  /** Prints columns instead of whole items. */
  readonly hasColumns?: true;
  readonly isForPeople?: true;
  /** Prints records and nothing else: no notes, and no summary without rows. */
  readonly hasOnlyRecords?: true;
}

export type FormatName = 'table' | 'json' | 'ndjson' | 'csv' | 'markdown';

export const formats: Readonly<Record<FormatName, Format>> = {
  table: { synonyms: ['text', 'pretty', 'wide'], hasTitles: true, hasColumns: true, isForPeople: true },
  json: { synonyms: ['yaml', 'yml'], isJson: true },
  ndjson: { synonyms: ['jsonl', 'lines'], isJson: true, hasOnlyRecords: true },
  csv: { synonyms: ['excel'], hasTitles: true, hasColumns: true, hasOnlyRecords: true },
  markdown: { synonyms: ['md'], hasColumns: true, isForPeople: true },
};

export const FORMAT_NAMES = Object.keys(formats) as readonly FormatName[];

/** `pretty` is the JSON of one item, for people. */
export function formatTraits(name: FormatName | 'pretty'): Format {
  return name === 'pretty' ? { synonyms: [] } : formats[name];
}

export function formatSynonyms(): Readonly<Record<string, FormatName>> {
  return Object.fromEntries(
    FORMAT_NAMES.flatMap((name) => formats[name].synonyms.map((synonym) => [synonym, name])),
  );
}

export function formatOfFile(file: string): FormatName | undefined {
  const ending = endingOf(file);
  return FORMAT_NAMES.find((name) => name === ending) ?? formatSynonyms()[ending];
}

const FOREIGN_ENDINGS: readonly { readonly endings: string; readonly next: Advice }[] = [
  { endings: 'tsv tab xls xlsx xlsm ods numbers', next: 'end its name in .csv, which spreadsheets open' },
  {
    endings: 'parquet',
    next: advise`${hooktrail('events export events --format parquet')} writes Parquet into a directory`,
  },
  {
    endings: 'arrow feather avro orc sqlite sqlite3 db duckdb',
    next: 'end its name in .ndjson, which databases read',
  },
  {
    endings: 'html htm pdf doc docx',
    next: advise`${hooktrail('events report failures.html')} writes a page`,
  },
  { endings: 'xml', next: 'end its name in .json' },
];

export function foreignFormatOf(
  file: string,
): { readonly ending: string; readonly next: Advice } | undefined {
  const [, ending = ''] = /\.(\w+)$/.exec(file.toLowerCase()) ?? [];
  const foreign = FOREIGN_ENDINGS.find(({ endings }) => endings.split(' ').includes(ending));
  return foreign && { ending, next: foreign.next };
}

function endingOf(file: string): string {
  return file.slice(file.lastIndexOf('.') + 1).toLowerCase();
}
