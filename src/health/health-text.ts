import type { Context } from '../context.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import {
  ADDRESS_HEAD,
  ERROR_HEAD,
  FOR_HEAD,
  SECOND_ID,
  secondReceiver,
  whoHead,
} from '../formats/event-columns.ts';
import {
  conditionTexts,
  printSummary,
  type Summary,
  type SummaryCall,
  type SummaryOptions,
} from '../formats/summary.ts';
import {
  anyText,
  isPast,
  lengthText,
  nothingText,
  proseLines,
  rhythmText,
  toSeconds,
  windowText,
} from '../formats/summary-words.ts';
import { type Table, type TableLook, tableWithNote } from '../formats/table.ts';
import { NONE, OR_EARLIER } from '../formats/table-columns.ts';
import { type Health, NO_EVENTS, subscriptionIdOf } from '../questions/health-row.ts';
import { takesUnicode } from '../terminal/palette.ts';
import { grouped, shortened } from '../terminal/terminal-text.ts';
import { type Instant, milliseconds } from '../time/instant.ts';
import type { HealthReport } from './health.ts';
import { healthJson, healthMembers } from './health-json.ts';

const WORST_FIRST =
  'worst first within each state, by the lower bound of the failure rate: 1 of 1 proves less than 40 of 50';

export async function printHealth(
  report: HealthReport,
  options: SummaryOptions,
  call: SummaryCall,
): Promise<void> {
  const { rows } = report;
  const span = windowText(report, options);
  const isOver = isPast(options, report.before, call.context.clock.now());
  const counts = rows.length === 0 ? nothingText(report, span) : `${statesText(rows, isOver)}, ${span}`;
  const table = healthTable(report, options.filters, { isOver, context: call.context });
  const isOrderHidden = rows.some((row, index) => hasLowerRate(rows[index - 1], row));
  const notes = isOrderHidden ? [WORST_FIRST] : [];
  const summary: Summary = {
    json: healthJson(report),
    ndjson: healthJson(report),
    csv: (guarded) => healthCsv(report, guarded),
    table,
    facts: [counts, ...notes, ...conditionTexts(options.filters)],
    window: report,
    lines: (look: TableLook) => {
      const said = proseLines(counts, look);
      if (rows.length === 0) return said;
      const dim = notes.flatMap((note) => proseLines(note, look)).map(look.palette.dim);
      return [...tableWithNote(table, look), '', ...said.map(look.palette.bold), ...dim];
    },
    next: rows.some(({ failed }) => failed > 0) && (isOver ? 'says why they failed' : 'says why they fail'),
  };
  await printSummary(summary, options, call);
}

/** `2 of 5 failing, 1 recovered, 1 off`; in the past `2 of 5 were failing at the end, …`. */
function statesText(rows: readonly Health[], isOver: boolean): string {
  const number = (isCounted: (row: Health) => boolean) => rows.filter(isCounted).length;
  const failing = number(({ state }) => state === 'failing');
  const others: readonly (readonly [count: number, words: string])[] = [
    [number(({ silentSince }) => silentSince !== undefined), 'silent for unusually long'],
    [number(({ state }) => state === 'off'), 'off'],
    [number(({ state }) => state === 'gone'), 'gone'],
    [number(isQuiet), 'without events'],
  ];
  const parts = others.flatMap(([count, words]) => (count > 0 ? [`${grouped(count)} ${words}`] : []));
  const were = failing === 1 ? 'was' : 'were';
  const open = isOver ? `${were} failing at the end` : 'failing';
  const recovered = `${grouped(number(({ state }) => state === 'recovered'))} ${isOver ? 'had recovered' : 'recovered'}`;
  return [`${grouped(failing)} of ${grouped(rows.length)} ${open}`, recovered, ...parts].join(', ');
}

/** A subscription that is on, without events, which is not unusual for it. */
function isQuiet({ state, silentSince }: Health): boolean {
  return state === 'silent' && !silentSince;
}

/** True if the row above, of the same state, failed at a lower rate. */
function hasLowerRate(above: Health | undefined, { state, failed, events }: Health): boolean {
  return above?.state === state && above.events > 0 && above.failed / above.events < failed / events;
}

/** Columns with a higher rank are left out earlier. */
const RANKS = { empty: 5, lastTen: 4, error: 3, lastFailure: 2, lastSuccess: 1 } as const;

interface TableOptions {
  readonly isOver: boolean;
  readonly context: Pick<Context, 'stdout' | 'environment' | 'machine'>;
}

interface HealthColumn {
  readonly head: Table['heads'][number];
  readonly cell: (row: Health) => string;
}

function healthTable(report: HealthReport, filters: EventFilters, options: TableOptions): Table {
  const columns = [...receiverColumns(report, options), ...deliveryColumns(report, filters, options)];
  return {
    heads: columns.map(({ head }) => head),
    rows: report.rows.map((row) => columns.map(({ cell }) => cell(row))),
  };
}

function receiverColumns({ rows, by }: HealthReport, { context }: TableOptions): HealthColumn[] {
  const { isTerminal } = context.stdout;
  const isNamed = rows.some(({ who }) => who !== null);
  const hasAddress = rows.some(({ address }) => address !== null);
  // Shared names do not identify rows.
  const isByName =
    isNamed &&
    new Set(rows.map(({ who }) => who)).size === rows.length &&
    !rows.some(({ isShared }) => isShared);
  const isByAddress = hasAddress && !isByName;
  const rank = isByName || isByAddress ? { ...SECOND_ID, restoreOrder: 2 } : {};
  const named: HealthColumn = {
    head: isByAddress ? secondReceiver(FOR_HEAD) : FOR_HEAD,
    cell: ({ who }) => who ?? NONE,
  };
  const addressed: HealthColumn = {
    head: isByAddress ? ADDRESS_HEAD : secondReceiver(ADDRESS_HEAD),
    cell: (row) => addressOf(row, isTerminal),
  };
  const valued = by.map(({ steps, text }, index): HealthColumn => {
    const head = whoHead(by.length > 1 ? text : (steps.at(-1) as string));
    return {
      head: { ...head, ...rank },
      cell: ({ values }) => (values[index] === null ? NONE : anyText(values[index])),
    };
  });
  return [...(isNamed ? [named] : []), ...(hasAddress ? [addressed] : []), ...valued];
}

function deliveryColumns(
  { rows, before }: HealthReport,
  { zone }: EventFilters,
  { isOver, context }: TableOptions,
): HealthColumn[] {
  const unicode = takesUnicode(context);
  const time = (instant: Instant | undefined) => zone.shown(toSeconds(instant));
  const isSilent = rows.some(({ silentSince }) => silentSince !== undefined);
  const isFailing = rows.some(({ failingSince }) => failingSince !== undefined);
  const hasErrors = rows.some(({ lastError }) => lastError !== undefined);
  const silent: HealthColumn = {
    head: { title: 'silent for', kind: 'text' },
    cell: (row) => silenceText(row, before),
  };
  const error: HealthColumn = {
    head: { ...ERROR_HEAD, spare: RANKS.error },
    cell: ({ lastError }) => lastError ?? NONE,
  };
  return [
    {
      head: { title: isOver ? 'state then' : 'state', kind: 'status' },
      cell: (row) => (isQuiet(row) ? 'no events' : row.state),
    },
    {
      head: { title: 'failed', kind: 'number' },
      cell: ({ failed, events }) => `${grouped(failed)} of ${grouped(events)}`,
    },
    ...(isSilent ? [silent] : []),
    {
      head: {
        title: isOver ? 'failing from' : 'failing since',
        kind: 'time',
        spare: isFailing ? 0 : RANKS.empty,
      },
      cell: ({ failingSince, edge }) => `${time(failingSince)}${edge ? OR_EARLIER : ''}`,
    },
    {
      head: { title: 'last failure', kind: 'time', spare: RANKS.lastFailure },
      cell: ({ lastFailed }) => time(lastFailed),
    },
    ...(hasErrors ? [error] : []),
    {
      head: { title: 'last success', kind: 'time', spare: RANKS.lastSuccess },
      cell: ({ lastSuccess }) => time(lastSuccess),
    },
    {
      head: { title: 'last ten', kind: 'text', spare: RANKS.lastTen, least: 10 },
      cell: ({ recent }) => recentMarks(recent, unicode),
    },
  ];
}

function silenceText({ silentSince, usualGapSeconds = 0 }: Health, before: Instant): string {
  if (!silentSince) return NONE;
  const length = lengthText(milliseconds(before) - milliseconds(silentSince));
  return `${length}, usually every ${rhythmText(1000 * usualGapSeconds)}`;
}

export function recentMarks(recent: string, unicode: boolean): string {
  return unicode ? recent.replaceAll('F', '✗').replaceAll('S', '·') : recent.replaceAll('S', '.');
}

/** The beginning of a GUID and an ellipsis. */
const SHORT_ID_CHARACTERS = 9;

/** On a narrow terminal, this cell may be all that shows whose row it is. */
function addressOf(row: Health, isTerminal: boolean): string {
  const id = isTerminal ? subscriptionIdOf(row) : undefined;
  return row.address ?? (id === undefined ? NONE : shortened(id, SHORT_ID_CHARACTERS));
}

/** The values of the fields come first. */
function healthCsv(report: HealthReport, guarded: (text: string) => string) {
  const lines = healthJson(report).map(({ by, value: _, ...members }) => ({ by, members }));
  const titles = Object.keys(healthMembers({ ...NO_EVENTS, address: null }));
  const cellOf = (cell: unknown) => {
    if (cell === null) return '';
    return typeof cell === 'number' ? cell : guarded(anyText(cell));
  };
  return {
    titles: [...report.by.map(({ text }) => guarded(text)), ...titles],
    rows: lines.map(({ by, members }) => [...Object.values(by), ...Object.values(members)].map(cellOf)),
  };
}
