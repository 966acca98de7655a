import type { EventFilters } from '../filters/event-filters.ts';
import { csvText } from '../formats/csv.ts';
import { ERROR_HEAD, SECOND_ID, whoHead } from '../formats/event-heads.ts';
import {
  conditionTexts,
  printSummary,
  type Summary,
  type SummaryCall,
  type SummaryOptions,
} from '../formats/formats.ts';
import { anyText, lengthText, nothingText, proseLines, windowText } from '../formats/summary-words.ts';
import { type Table, type TableLook, tableWithNote } from '../formats/table.ts';
import { NONE } from '../formats/table-layout.ts';
import { toSeconds } from '../stats/statistics-text.ts';
import { takesUnicode } from '../terminal/palette.ts';
import { grouped } from '../terminal/terminal-text.ts';
import { type Instant, milliseconds } from '../time/instant.ts';
import type { HealthReport } from './health.ts';
import { healthJson, healthMembers } from './health-json.ts';
import { type Health, NO_EVENTS } from './health-row.ts';

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
  const silent = rows.filter(({ silentSince }) => silentSince !== undefined).length;
  const unusual = silent === 0 ? '' : `, ${silent} silent for unusually long`;
  const quiet = rows.filter(({ events, silentSince }) => events === 0 && !silentSince).length;
  const withoutEvents = quiet === 0 ? '' : `, ${quiet} without events`;
  const states = `${failing} of ${rows.length} failing, ${recovered} recovered${unusual}${withoutEvents}, ${span}`;
  const counts = rows.length === 0 ? nothingText(report, span) : states;
  const table = healthTable(report, options.filters, takesUnicode(call.context));
  const isOld = rows.some(({ edge }) => edge);
  const notes = isOld ? [ORDER, EARLIER] : [ORDER];
  const summary = {
    json: healthJson(report),
    ndjson: healthJson(report),
    csv: healthCsv(report),
    table,
    facts: [counts, ...notes, ...conditionTexts(options.filters)],
    window: report,
    lines: (look: TableLook) => {
      const said = proseLines(counts, look);
      if (rows.length === 0) return said;
      const dim = notes.flatMap((note) => proseLines(note, look)).map(look.palette.dim);
      return [...tableWithNote(table, look), '', ...said.map(look.palette.bold), ...dim];
    },
    next: failing + recovered > 0 && 'says why they fail',
  };
  await printSummary(summary, options, call);
}

/** The order in which columns are left out, the highest first: times tell the most. */
const RANKS = { empty: 5, lastTen: 4, error: 3, lastFailure: 2, lastSuccess: 1 } as const;

function healthTable(report: HealthReport, { zone }: EventFilters, unicode: boolean): Table {
  const { rows, by } = report;
  const time = (instant: Instant | undefined) => zone.shown(toSeconds(instant));
  const isNamed = rows.some(({ label }) => label !== null);
  const hasErrors = rows.some(({ lastError }) => lastError !== undefined);
  const isSilent = rows.some(({ silentSince }) => silentSince !== undefined);
  const silent = ({ silentSince, usualGapSeconds = 0 }: Health) => {
    if (!silentSince) return NONE;
    const length = lengthText(milliseconds(report.before) - milliseconds(silentSince));
    return `${length}, usually every ${lengthText(1000 * usualGapSeconds)}`;
  };
  const isFailing = rows.some(({ failingSince }) => failingSince !== undefined);
  const marks = (recent: string) =>
    unicode ? recent.replaceAll('F', '✗').replaceAll('S', '·') : recent.replaceAll('S', '.');
  return {
    heads: [
      ...(isNamed ? [whoHead('address')] : []),
      ...by.map(({ steps, text }) => ({
        ...whoHead(by.length > 1 ? text : (steps.at(-1) as string)),
        ...(isNamed ? SECOND_ID : {}),
      })),
      { title: 'state', kind: 'status' },
      { title: 'failed', kind: 'number' },
      ...(isSilent ? [{ title: 'silent for', kind: 'text' as const }] : []),
      { title: 'failing since', kind: 'time', spare: isFailing ? 0 : RANKS.empty },
      { title: 'last failure', kind: 'time', spare: RANKS.lastFailure },
      ...(hasErrors ? [{ ...ERROR_HEAD, spare: RANKS.error }] : []),
      { title: 'last success', kind: 'time', spare: RANKS.lastSuccess },
      { title: 'last ten', kind: 'text', spare: RANKS.lastTen, least: 10 },
    ],
    rows: rows.map((row) => [
      ...(isNamed ? [row.label ?? NONE] : []),
      ...row.values.map((value) => (value === null ? NONE : anyText(value))),
      row.state,
      `${grouped(row.failed)} of ${grouped(row.events)}`,
      ...(isSilent ? [silent(row)] : []),
      time(row.failingSince),
      time(row.lastFailed),
      ...(hasErrors ? [row.lastError ?? NONE] : []),
      time(row.lastSuccess),
      marks(row.recent),
    ]),
  };
}

/** A line for each row, with the members of the JSON; values of the fields first. */
function healthCsv(report: HealthReport): NonNullable<Summary['csv']> {
  const lines = healthJson(report).map(({ by, value: _, ...members }) => ({ by, members }));
  const titles = Object.keys(healthMembers(NO_EVENTS));
  const cellOf = (cell: unknown) => {
    if (cell === null) return '';
    return typeof cell === 'number' ? cell : csvText(anyText(cell));
  };
  return {
    titles: [...report.by.map(({ text }) => csvText(text)), ...titles],
    rows: lines.map(({ by, members }) => [...Object.values(by), ...Object.values(members)].map(cellOf)),
  };
}
