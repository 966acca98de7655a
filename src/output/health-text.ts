import { type Call, typedCommand } from '../command.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { type Health, type HealthReport, healthJson } from '../events/health.ts';
import { shellWord } from '../settings/command-words.ts';
import { loadWidths } from '../terminal/cell-width.ts';
import { grouped } from '../terminal/numbers-text.ts';
import { takesUnicode } from '../terminal/palette.ts';
import type { Instant } from '../time/instant.ts';
import { ReadableTimes } from './explanation-text.ts';
import type { SummaryFormat } from './format-flags.ts';
import { printJson } from './formats.ts';
import { markdownNote, markdownTable } from './markdown.ts';
import { ended, loadTableLook, type Table, tableLines } from './table.ts';
import { NONE } from './table-layout.ts';

export interface HealthOptions extends Pick<SummaryFormat<'table' | 'json' | 'markdown'>, 'format' | 'jq'> {
  readonly filters: EventFilters;
  readonly from: string | undefined;
}

const ORDER = 'newest first in order of creation, which is not the order of delivery';

/** Prints the state of each subscription, or of each value of another field. */
export async function printHealth(
  report: HealthReport,
  { filters, format, jq, from }: HealthOptions,
  call: Pick<Call, 'context' | 'reporter' | 'commands'>,
): Promise<void> {
  const { context, reporter } = call;
  const { stdout } = context;
  if (format === 'json') return await printJson(healthJson(report), jq, context, reporter);
  const isOpen = from === undefined && !filters.before;
  const counts = countsText(report, new ReadableTimes(filters.zone, report.before), isOpen);
  const table = healthTable(report, filters, takesUnicode(context));
  if (format === 'markdown') {
    const facts = [counts, ORDER, ...filters.texts().filter((text) => !/^--(since|until) /.test(text))];
    const note = markdownNote({ facts, command: typedCommand(call) });
    return await stdout.write(report.rows.length === 0 ? note : `${markdownTable(table)}\n${note}`);
  }
  if (report.rows.length === 0) return await stdout.write(`${counts}\n`);
  await loadWidths();
  const look = await loadTableLook(stdout, reporter);
  const { palette } = look;
  await stdout.write(ended([...tableLines(table, look), '', palette.bold(counts), palette.dim(ORDER)]));
  if (
    report.rows.some(({ state }) => state === 'failing') &&
    stdout.isTerminal &&
    context.stderr.isTerminal
  ) {
    const source = from === undefined ? [] : ['--from', shellWord(from)];
    const words = ['hooktrail events explain', ...filters.words('status'), ...source].join(' ');
    reporter.notice(`next: \`${words}\` says why they fail`);
  }
}

function healthTable({ rows, by }: HealthReport, { zone }: EventFilters, unicode: boolean): Table {
  const time = (instant: Instant | undefined) =>
    instant ? zone.shown(instant.text).replace(/\.\d+/, '') : NONE;
  return {
    heads: [
      { title: by.steps.at(-1) as string, isWhole: true },
      { title: 'state', kind: 'status' },
      { title: 'failed', kind: 'number' },
      { title: 'failing since', kind: 'time', spare: 1 },
      { title: 'last success', kind: 'time', spare: 3 },
      { title: 'last ten', kind: 'text', spare: 2, least: 10 },
    ],
    rows: rows.map((row) => [
      valueText(row.value),
      row.state,
      `${grouped(row.failed)} of ${grouped(row.events)}`,
      time(row.failingSince),
      time(row.lastSuccess),
      marks(row, unicode),
    ]),
  };
}

function valueText(value: unknown): string {
  if (value === null) return NONE;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function marks({ recent }: Health, unicode: boolean): string {
  return unicode ? recent.replaceAll('F', '✗').replaceAll('S', '·') : recent.replaceAll('S', '.');
}

/** `2 of 8 failing, 1 recovered, since 2026-11-22 00:00Z`. */
function countsText({ rows, after, before }: HealthReport, times: ReadableTimes, isOpen: boolean): string {
  const span = isOpen
    ? `since ${times.dated(after)}`
    : `from ${times.dated(after)} to ${times.dated(before)}`;
  if (rows.length === 0) return `no events ${span}`;
  const number = (state: Health['state']) => rows.filter((row) => row.state === state).length;
  const [failing, recovered] = [number('failing'), number('recovered')];
  return `${failing} of ${rows.length} failing, ${recovered} recovered, ${span}`;
}
