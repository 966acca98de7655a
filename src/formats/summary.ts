import { advise, hooktrailOver } from '../advice.ts';
import type { Call } from '../command.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { Items } from '../items/items.ts';
import { loadWidths } from '../terminal/cell-width.ts';
import { takesUnicode } from '../terminal/palette.ts';
import { readDateTime } from '../time/date-time.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type CsvCell, type CsvRow, csvMark, csvTable, csvText, noticeZone } from './csv.ts';
import type { FormatOptions } from './format-options.ts';
import { createItemWriter, printJson } from './item-writer.ts';
import { markdownNote, markdownTable } from './markdown.ts';
import { ended, loadTableLook, type Table, type TableLook } from './table.ts';
import { type NoteWindow, tableNote } from './table-note.ts';

export interface Summary {
  readonly json: object;
  readonly ndjson?: readonly object[];
  /** Pass texts from outside through `guarded`, so that no spreadsheet runs them. */
  readonly csv?: (guarded: (text: string) => string) => {
    readonly titles: readonly string[];
    readonly rows: readonly CsvRow[];
  };
  readonly table: Table | undefined;
  readonly facts: readonly string[];
  readonly window: NoteWindow | undefined;
  readonly lines: (look: SummaryLook) => readonly string[];
  readonly next?: string | false;
}

export interface SummaryOptions {
  readonly format: FormatOptions;
  readonly filters: EventFilters;
  readonly from: string | undefined;
}

export interface SummaryLook extends TableLook {
  readonly unicode: boolean;
}

export type SummaryCall = Pick<Call, 'flags' | 'settings' | 'context' | 'reporter' | 'commands'>;

type PrintSummary = (summary: Summary, options: SummaryOptions, call: SummaryCall) => Promise<void>;

const summaryPrinters: Readonly<Record<FormatOptions['format'], PrintSummary>> = {
  table: printSummaryTable,
  pretty: printSummaryTable,
  json: ({ json }, { format: { jq } }, { context, reporter }) => printJson(json, jq, context, reporter),
  ndjson: printSummaryLines,
  csv: printSummaryCsv,
  markdown: printSummaryMarkdown,
};

export async function printSummary(
  summary: Summary,
  options: SummaryOptions,
  call: SummaryCall,
): Promise<void> {
  await summaryPrinters[options.format.format](summary, options, call);
}

async function printSummaryTable(
  { lines, next }: Summary,
  { format: { hasHeader = true }, filters, from }: SummaryOptions,
  { context, reporter }: SummaryCall,
): Promise<void> {
  const { stdout, stderr } = context;
  await loadWidths();
  const look = await loadTableLook(stdout, reporter);
  await stdout.write(ended(lines({ ...look, unicode: takesUnicode(context), hasHeader })));
  if (!next || !stdout.isTerminal || !stderr.isTerminal) return;
  const command = hooktrailOver(from, 'events explain', ...filters.words('status'));
  reporter.notice(advise`next: ${command} ${next}`);
}

async function printSummaryLines(
  { json, ndjson = [json] }: Summary,
  { format }: SummaryOptions,
  { context, reporter }: SummaryCall,
): Promise<void> {
  const writer = await createItemWriter(format, context, reporter);
  await writer.write(Items.of(ndjson.map((value) => Buffer.from(JSON.stringify(value)))), true);
  await writer.end?.();
}

async function printSummaryCsv(
  { csv }: Summary,
  { format }: SummaryOptions,
  { context: { stdout }, reporter }: SummaryCall,
): Promise<void> {
  if (!csv) throw new Error('this summary has no CSV');
  const { csvZone, csvRaw, csvDelimiter, hasHeader = true } = format;
  const { titles, rows } = csv((text) => csvText(text, csvRaw));
  if (rows.some((row) => row.some(isTime))) noticeZone(format, reporter);
  const inOneZone = rows.map((row) => row.map((cell) => inZone(cell, csvZone)));
  const text = csvTable(hasHeader ? [titles, ...inOneZone] : inOneZone, stdout, csvDelimiter);
  await stdout.write(csvMark(format) + text);
}

async function printSummaryMarkdown(
  { table, facts, window }: Summary,
  { filters, from }: SummaryOptions,
  call: SummaryCall,
): Promise<void> {
  await loadWidths();
  // Without time filters the window of stored events is incomplete, since some events may lack a time.
  const isAsked = from === undefined || filters.after !== undefined || filters.before !== undefined;
  const parts = { facts, from, ...(window && isAsked ? { window } : {}) };
  const rows = table && table.rows.length > 0 ? `${markdownTable(table)}\n` : '';
  await call.context.stdout.write(rows + markdownNote(tableNote(call, parts)));
}

function isTime(cell: CsvCell): boolean {
  return typeof cell === 'string' && readDateTime(cell)?.precision === 'time';
}

function inZone(cell: CsvCell, zone: TimeZone | undefined): CsvCell {
  return zone && typeof cell === 'string' ? zone.shown(cell) : cell;
}

export function conditionTexts(filters: EventFilters): string[] {
  return filters.withoutTimes().texts();
}
