import { advise, hooktrail, hooktrailOver } from '../../advice.ts';
import type { Call } from '../../command.ts';
import { SECOND_ID, whoHead } from '../../formats/event-columns.ts';
import { conditionTexts, printSummary, type SummaryOptions } from '../../formats/summary.ts';
import { lengthText, proseLines, secondText, windowText } from '../../formats/summary-words.ts';
import { type Table, type TableLook, tableWithNote } from '../../formats/table.ts';
import { NONE } from '../../formats/table-columns.ts';
import { isOfThisProcess } from '../../shell-words.ts';
import { grouped } from '../../terminal/terminal-text.ts';
import type { Instant } from '../../time/instant.ts';
import { earlierOf, laterOf, utcText } from '../../time/instant.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import type { ReconcileOptions, ReconciliationReport } from './reconcile.ts';
import type { MissingGroup } from './reconciliation.ts';
import { reconciliationJson } from './reconciliation-json.ts';

export async function printReconciliation(
  report: ReconciliationReport,
  options: SummaryOptions,
  call: Call,
): Promise<void> {
  const { zone } = options.filters;
  const headline = headlineOf(report);
  const span = windowText(report, options);
  const bySubscription = subscriptionTable(report, zone);
  const byHour = timeTable(report);
  const notes = [...gapTexts(report, zone), ...noteTexts(report)];
  await printSummary(
    {
      json: reconciliationJson(report),
      table: bySubscription,
      facts: [headline, span, ...notes, ...conditionTexts(options.filters)],
      window: report,
      lines: (look: TableLook) => [
        ...proseLines(`${headline}, ${span}`, look).map(look.palette.bold),
        ...[bySubscription, byHour].flatMap((table) =>
          table.rows.length === 0 ? [] : ['', ...tableWithNote(table, look)],
        ),
        ...(notes.length === 0 ? [] : ['']),
        ...notes.flatMap((note) => proseLines(note, look)),
      ],
    },
    options,
    call,
  );
}

/** Returns a summary such as `126 of 600 records are missing: 113 FAILED, 13 delivered …`. */
export function headlineOf({ records, missing, file }: ReconciliationReport): string {
  if (records === 0) return 'no records to compare with';
  if (missing.records === 0) return `nothing is missing: ${file.name} has all ${grouped(records)} records`;
  const other = missing.records - missing.failed - missing.succeeded;
  const kinds = [
    [missing.failed, 'FAILED'],
    [missing.succeeded, 'delivered to your endpoint and lost afterwards'],
    [other, 'of unknown outcome'],
  ] as const;
  const parts = kinds.flatMap(([count, what]) => (count > 0 ? [`${grouped(count)} ${what}`] : []));
  const are = missing.records === 1 ? 'is' : 'are';
  return `${grouped(missing.records)} of ${grouped(records)} records ${are} missing: ${parts.join(', ')}`;
}

interface MissingRow {
  failed: number;
  succeeded: number;
  count: number;
  first: Instant | undefined;
  last: Instant | undefined;
}

function rowsBy<Key>(
  groups: readonly MissingGroup[],
  keyOf: (group: MissingGroup) => Key,
): Map<Key, MissingRow> {
  const rows = new Map<Key, MissingRow>();
  for (const group of groups) {
    const key = keyOf(group);
    const none = { failed: 0, succeeded: 0, count: 0, first: undefined, last: undefined };
    const row: MissingRow = rows.get(key) ?? none;
    rows.set(key, row);
    row.count += group.count;
    if (group.status === 'FAILED') row.failed += group.count;
    if (group.status === 'SUCCESS') row.succeeded += group.count;
    if (group.first) row.first = earlierOf(row.first, group.first);
    if (group.last) row.last = laterOf(row.last, group.last);
  }
  return rows;
}

function subscriptionTable(report: ReconciliationReport, zone: TimeZone): Table {
  const rows = rowsBy(report.groups, ({ subscriptionId }) => subscriptionId);
  const labelOf = (id: string | null) => (id === null ? undefined : report.labelOf(id));
  const isNamed = [...rows.keys()].some((id) => labelOf(id) !== undefined);
  const time = (instant: Instant | undefined) => (instant ? secondText(utcText(instant), zone) : NONE);
  return {
    heads: [
      ...(isNamed ? [whoHead('address')] : []),
      { ...whoHead('subscriptionId'), ...(isNamed ? { ...SECOND_ID, restoreOrder: 1 } : {}) },
      { title: 'missing', kind: 'number' },
      { title: 'FAILED', kind: 'number' },
      { title: 'SUCCESS', kind: 'number' },
      { title: 'first', kind: 'time', spare: 1 },
      { title: 'last', kind: 'time', spare: 2 },
    ],
    rows: [...rows]
      .sort(([, one], [, other]) => other.count - one.count)
      .map(([id, { count, failed, succeeded, first, last }]) => [
        ...(isNamed ? [labelOf(id) ?? NONE] : []),
        id ?? NONE,
        ...[count, failed, succeeded].map(grouped),
        time(first),
        time(last),
      ]),
  };
}

/** Hours above which the table has a row per day. */
const MAX_HOURS = 36;
const DATE_CHARACTERS = '2026-11-01'.length;

function timeTable({ groups }: ReconciliationReport): Table {
  const byHour = rowsBy(groups, ({ hour }) => hour);
  const isByDay = byHour.size > MAX_HOURS;
  const rows = isByDay ? rowsBy(groups, ({ hour }) => hour?.slice(0, DATE_CHARACTERS) ?? null) : byHour;
  const sorted = [...rows].sort(([one], [other]) => ((one ?? '') < (other ?? '') ? -1 : 1));
  return {
    heads: [
      { title: isByDay ? 'day' : 'hour', kind: 'time' },
      { title: 'missing', kind: 'number' },
      { title: 'FAILED', kind: 'number' },
      { title: 'SUCCESS', kind: 'number' },
    ],
    rows: sorted.map(([time, { count, failed, succeeded }]) => [
      time === null ? NONE : time.replace('T', ' ').replace(/:00(?=[Z+-])/, ''),
      ...[count, failed, succeeded].map(grouped),
    ]),
  };
}

const SHOWN_GAPS = 5;

function gapTexts({ gaps, addressOf }: ReconciliationReport, zone: TimeZone): string[] {
  const largest = gaps.toSorted((one, other) => other.count - one.count).slice(0, SHOWN_GAPS);
  const text = (time: number) => secondText(new Date(time).toISOString(), zone);
  return largest.map(({ subscriptionId, count, first, last }) => {
    const who = subscriptionId === null ? '' : ` of ${addressOf(subscriptionId) ?? subscriptionId}`;
    const length = last - first < 1000 ? '' : ` (${lengthText(last - first)})`;
    return `gap: all ${grouped(count)} records${who} from ${text(first)} to ${text(last)}${length}`;
  });
}

function noteTexts(report: ReconciliationReport): string[] {
  const { file, failedButReceived, receivedTwice, notInWindow, severalReceivers } = report;
  const [ids, events] = [countOf('id'), countOf('event')];
  const notes: readonly (readonly [count: number, text: string])[] = [
    [
      failedButReceived,
      `${file.name} has ${countOf('record')(failedButReceived)} that the service calls FAILED`,
    ],
    [receivedTwice, `${file.name} has ${ids(receivedTwice)} more than once: handled twice?`],
    [
      notInWindow,
      `${file.name} has ${ids(notInWindow)} that this window does not have, which proves nothing`,
    ],
    [
      severalReceivers,
      `${events(severalReceivers)} went to several subscriptions: the file has only the event id, so all records of such an event count as received; --subscription compares one`,
    ],
  ];
  return notes.flatMap(([count, text]) => (count > 0 ? [text] : []));
}

const countOf = (noun: string) => (count: number) => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Warns if the ids seem to be of another kind, and names the command that recovers the missing events. */
export function adviseAfter(
  report: ReconciliationReport,
  options: ReconcileOptions,
  { reporter }: Pick<Call, 'reporter'>,
): void {
  const { received, receivedField, filters, from } = options;
  const { both, records, missing, file } = report;
  const { name, others = [] } = file.column ?? {};
  if (records > 0 && both === 0) {
    const column = name === undefined ? '' : `; they were taken from '${name}'`;
    const [other] = others;
    reporter.warning(`--received: the window has none of the ids in ${file.name}${column}`, {
      kind: 'usage',
      next: other && `--received-field '${other}' takes another column that holds GUIDs`,
    });
    if (other !== undefined) return;
  }
  if (missing.records === 0) return;
  const isPiped = isOfThisProcess(received);
  const saved = isPiped ? ', with the piped ids saved as FILE' : '';
  const field = receivedField === undefined ? [] : ['--received-field', receivedField];
  const words = ['--received', isPiped ? 'FILE' : received, ...windowWords(report, options)];
  words.push(...filters.words('since', 'until'), ...field);
  if (from !== undefined) {
    const list = hooktrailOver(from, 'webhooks reconcile --ndjson', ...words);
    const replay = hooktrail('webhooks replay --from - --forward-to URL');
    reporter.notice(advise`next: ${list} lists them${saved}, for ${replay}`);
    return;
  }
  const recover = hooktrail('webhooks recover', ...words, '--forward-to', 'URL');
  reporter.notice(advise`next: ${recover}${saved}: recovers exactly these`);
}

/**
 * Returns the window that was compared. Its end keeps out what the service has created since. Stored events
 * have no more than they had, and are compared whole without --since and --until.
 */
function windowWords({ after, before }: ReconciliationReport, { filters, from }: ReconcileOptions): string[] {
  const isStored = from !== undefined;
  const since = isStored && !filters.after ? [] : ['--since', after.text];
  const until = isStored && !filters.before ? [] : ['--until', before.text];
  return [...since, ...until];
}
