import type { EventFilters } from '../filters/event-filters.ts';
import { conditionTexts, printSummary, type SummaryCall, type SummaryOptions } from '../formats/formats.ts';
import { anyText, nothingText, proseLines, windowText } from '../formats/summary-words.ts';
import { type Table, type TableLook, tableLines } from '../formats/table.ts';
import { NONE } from '../formats/table-layout.ts';
import { toSeconds } from '../stats/statistics-text.ts';
import { takesUnicode } from '../terminal/palette.ts';
import { grouped } from '../terminal/terminal-text.ts';
import type { Instant } from '../time/instant.ts';
import { type Health, type HealthReport, healthJson } from './health.ts';

const ORDER = 'newest first in order of creation, which is not the order of delivery';
const EARLIER = 'failing from the beginning of this time on: since then or earlier';

/** Prints the state of each subscription, or of each value of another field. */
export async function printHealth(
  report: HealthReport,
  options: SummaryOptions,
  call: SummaryCall,
): Promise<void> {
  const { rows } = report;
  const number = (state: Health['state']) => rows.filter((row) => row.state === state).length;
  const [failing, recovered] = [number('failing'), number('recovered')];
  const span = windowText(report, options);
  const quiet = number('silent') + number('off');
  const withoutEvents = quiet === 0 ? '' : `, ${quiet} without events`;
  const states = `${failing} of ${rows.length} failing, ${recovered} recovered${withoutEvents}, ${span}`;
  const counts = rows.length === 0 ? nothingText(report, span) : states;
  const table = healthTable(report, options.filters, takesUnicode(call.context));
  const isOld = rows.some(({ edge }) => edge);
  const notes = isOld ? [ORDER, EARLIER] : [ORDER];
  const summary = {
    json: healthJson(report),
    table,
    facts: [counts, ...notes, ...conditionTexts(options.filters)],
    window: report,
    lines: (look: TableLook) => {
      const said = proseLines(counts, look);
      if (rows.length === 0) return said;
      const dim = notes.flatMap((note) => proseLines(note, look)).map(look.palette.dim);
      return [...tableLines(table, look), '', ...said.map(look.palette.bold), ...dim];
    },
    next: failing + recovered > 0 && 'says why they fail',
  };
  await printSummary(summary, options, call);
}

function healthTable({ rows, by }: HealthReport, { zone }: EventFilters, unicode: boolean): Table {
  const time = (instant: Instant | undefined) => zone.shown(toSeconds(instant));
  const isNamed = rows.some(({ label }) => label !== null);
  return {
    heads: [
      ...(isNamed ? [{ title: 'address', kind: 'text' as const, least: 16 }] : []),
      { title: by.steps.at(-1) as string, isWhole: true, spare: isNamed ? 5 : 0 },
      { title: 'state', kind: 'status' },
      { title: 'failed', kind: 'number' },
      { title: 'failing since', kind: 'time', spare: rows[0]?.failingSince ? 0 : 4 },
      { title: 'last success', kind: 'time', spare: 3 },
      { title: 'last ten', kind: 'text', spare: 2, least: 10 },
    ],
    rows: rows.map((row) => [
      ...(isNamed ? [row.label ?? NONE] : []),
      row.value === null ? NONE : anyText(row.value),
      row.state,
      `${grouped(row.failed)} of ${grouped(row.events)}`,
      time(row.failingSince),
      time(row.lastSuccess),
      unicode ? row.recent.replaceAll('F', '✗').replaceAll('S', '·') : row.recent.replaceAll('S', '.'),
    ]),
  };
}
