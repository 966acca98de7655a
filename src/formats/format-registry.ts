import { type Advice, advise, hooktrail } from '../advice.ts';

/** What the command line knows of an output format. `formats.ts` has the writer of each. */
export interface Format {
  /** Other words for it, which are also endings of files. */
  readonly synonyms: readonly string[];
  /** True if a flag is named like it. */
  readonly hasFlag?: true;
  /** True if a jq program can run on what it prints. */
  readonly isJson?: true;
  /** True if it begins with a line of titles. */
  readonly hasTitles?: true;
}

export type FormatName = 'table' | 'json' | 'ndjson' | 'csv' | 'markdown';

/** The formats in the order in which errors and help list them; the first is the default. */
export const formats: Readonly<Record<FormatName, Format>> = {
  table: { synonyms: ['text', 'pretty', 'wide'], hasTitles: true },
  json: { synonyms: ['yaml', 'yml'], hasFlag: true, isJson: true },
  ndjson: { synonyms: ['jsonl', 'lines'], hasFlag: true, isJson: true },
  csv: { synonyms: ['excel'], hasFlag: true, hasTitles: true },
  markdown: { synonyms: ['md'] },
};

export const FORMAT_NAMES = Object.keys(formats) as readonly FormatName[];

/** The format that each synonym stands for. */
export function formatSynonyms(): Readonly<Record<string, FormatName>> {
  return Object.fromEntries(
    FORMAT_NAMES.flatMap((name) => formats[name].synonyms.map((synonym) => [synonym, name])),
  );
}

/** The format that the ending of a file's name stands for. */
export function formatOfFile(file: string): FormatName | undefined {
  const ending = endingOf(file);
  return formatSynonyms()[ending] ?? FORMAT_NAMES.find((name) => name === ending);
}

/** Endings of files whose format no command writes, with what to do instead. */
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

/** The ending of a file whose name promises a format that there is not, with what to do instead. */
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
