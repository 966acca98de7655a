import type { EventFilters } from '../filters/event-filters.ts';
import type { CsvRow } from '../formats/csv.ts';
import { formatTraits } from '../formats/format-registry.ts';
import { columnTitle } from '../formats/item-table.ts';
import {
  conditionTexts,
  printSummary,
  type Summary,
  type SummaryCall,
  type SummaryOptions,
} from '../formats/summary.ts';
import { percentilesText, proseLines, toSeconds } from '../formats/summary-words.ts';
import { type Table, tableLines } from '../formats/table.ts';
import { type ColumnHead, NONE } from '../formats/table-columns.ts';
import { exactValue } from '../items/exact-numbers.ts';
import { scalarsText } from '../items/json-scanner.ts';
import type { EventGroup, EventGroups } from '../questions/event-groups.ts';
import { type NumberSample, percentilesJson } from '../statistics/percentiles.ts';
import { eventsText, grouped, groupedDigits, percent } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { inOrderOfClock } from './clock-groups.ts';
import { GROUPS_SHOWN } from './stats-flags.ts';
import { spanText } from './stats-text.ts';
import type { Stats } from './tallies.ts';

interface GroupsOfWindow {
  readonly groups: EventGroups;
  readonly window: Stats['window'] | undefined;
}

/**
 * Prints the largest groups first: `limit` of them, or `GROUPS_SHOWN` in a table on a terminal, otherwise
 * all. A line sums up the rest. Tables of hours or weekdays without a limit follow the clock.
 */
export async function printGroups(
  { groups, window }: GroupsOfWindow,
  { limit, ...options }: SummaryOptions & { readonly limit: number | undefined },
  call: SummaryCall,
): Promise<void> {
  const { total } = groups;
  const { format } = options.format;
  const isForPeople = formatTraits(format).isForPeople === true;
  const span = window ? [spanText({ window })] : [];
  for (const doubt of groups.doubts()) call.reporter.warning(doubt, { kind: 'usage' });
  const most = limit ?? (isForPeople && call.context.stdout.isTerminal ? GROUPS_SHOWN : undefined);
  const isByClock = isForPeople && limit === undefined;
  const { kept, others } = chooseGroups(groups, window, { most, isByClock });
  const isOverlapping = countOf(kept) + countOf(others) > total;
  const rest = others.length > 0 ? [isOverlapping ? groupsLeftOut(others) : restText(others, total)] : [];
  const notes = isOverlapping ? ['events with several values are counted in several groups'] : [];
  const numbers = numbersText(groups);
  const table = groupTable(kept, groups, options.filters.zone, options.filters.onlyStatus === undefined);
  const values = kept.map((group) => groupJson(group, groups, options.filters));
  const summary: Summary = {
    json: {
      total,
      ...percentilesOfAll(groups),
      groups: values,
      others: { groups: others.length, count: countOf(others) },
    },
    ndjson: values,
    csv: (guarded) => groupsCsv(kept, values, groups, guarded),
    table,
    facts: [eventsText(total), ...rest, ...notes, ...numbers, ...span, ...conditionTexts(options.filters)],
    window,
    lines: (look) => {
      const said = [...notes, ...numbers, ...span].flatMap((text) => proseLines(text, look));
      if (total === 0) return ['no events match', ...said.map(look.palette.dim)];
      return [...tableLines(table, look), ...rest, ...said.map(look.palette.dim)];
    },
  };
  await printSummary(summary, options, call);
  if (formatTraits(format).hasOnlyRecords)
    for (const line of rest) call.reporter.notice(`not shown: ${line}`);
}

function chooseGroups(
  groups: EventGroups,
  window: GroupsOfWindow['window'],
  { most, isByClock }: { readonly most: number | undefined; readonly isByClock: boolean },
): { readonly kept: readonly EventGroup[]; readonly others: readonly EventGroup[] } {
  const largest = groups.result();
  const clock = isByClock && inOrderOfClock(groups, largest, window);
  if (clock) return { kept: clock, others: [] };
  return { kept: largest.slice(0, most), others: most === undefined ? [] : largest.slice(most) };
}

/** The overall percentiles if the events are divided, and the number of events without a number. */
export function numbersText(
  { fields, numbers, numberField, withoutNumber, total }: EventGroups,
  isDivided = fields.length > 0,
): string[] {
  if (!numbers || !numberField || total === 0) return [];
  const percentiles = numbers.percentiles();
  const all = percentiles && isDivided ? [`${numberField.text} of all: ${percentilesText(percentiles)}`] : [];
  if (withoutNumber === 0) return all;
  return [
    ...all,
    `${grouped(withoutNumber)} of ${eventsText(total)} without a number in ${numberField.text}`,
  ];
}

export function percentilesOfAll({ numbers, numberField, withoutNumber }: EventGroups) {
  if (!numbers || !numberField) return {};
  return {
    percentiles: { field: numberField.text, without: withoutNumber, ...numbersJson(numbers) },
  };
}

export function numbersJson(numbers: NumberSample | undefined) {
  const percentiles = numbers?.percentiles();
  const figures = percentiles
    ? percentilesJson(percentiles)
    : { p50: null, p95: null, p99: null, most: null };
  return { numbers: numbers?.count ?? 0, ...figures };
}

function groupJson(group: EventGroup, { fields, total, numbers }: EventGroups, { onlyStatus }: EventFilters) {
  const { values, count, failed, delivered, first, last, example } = group;
  const known = failed + delivered;
  return {
    by: Object.fromEntries(fields.map(({ text }, field) => [text, exactValue(values[field] ?? 'null')])),
    count,
    failed: onlyStatus === 'SUCCESS' ? null : failed,
    failureRate: !onlyStatus && known > 0 ? failed / known : null,
    share: count / total,
    ...(numbers ? numbersJson(group.numbers) : {}),
    first: first?.text ?? null,
    last: last?.text ?? null,
    example: example ?? null,
  };
}

function textOfJson(text: string | null, guarded = (characters: string) => characters): string | null {
  return text?.startsWith('"') ? guarded(JSON.parse(text)) : text;
}

function groupsCsv(
  kept: readonly EventGroup[],
  values: readonly ReturnType<typeof groupJson>[],
  { fields, numbers }: EventGroups,
  guarded: (text: string) => string,
) {
  const keyOf = (texts: EventGroup['values']) => texts.map((text) => textOfJson(text) ?? '').join('\n');
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { values: texts } of kept) (seen.has(keyOf(texts)) ? twice : seen).add(keyOf(texts));
  // 5 and "5" are different groups, as are null and "": write ambiguous values as JSON.
  const isAmbiguous = (texts: EventGroup['values']) => twice.has(keyOf(texts));
  const figures = ['count', 'failed', 'failureRate', 'share'];
  const ofNumbers = numbers ? ['numbers', 'p50', 'p95', 'p99', 'most'] : [];
  return {
    titles: [
      ...fields.map(({ text }) => guarded(text)),
      ...figures,
      ...ofNumbers,
      ...['first', 'last', 'example'],
    ],
    rows: kept.map(({ values: texts }, index): CsvRow => {
      const { by: _, example, ...others } = values[index] as (typeof values)[number];
      return [
        ...(isAmbiguous(texts) ? texts : texts.map((text) => textOfJson(text, guarded))),
        ...(Object.values(others) as CsvRow),
        guarded(example ?? ''),
      ];
    }),
  };
}

function countOf(groups: readonly EventGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

function restText(others: readonly EventGroup[], total: number): string {
  const count = countOf(others);
  return `${groupsLeftOut(others)}: ${eventsText(count)} (${percent(count / total)})`;
}

function groupsLeftOut({ length }: readonly EventGroup[]): string {
  return length === 1 ? '1 other group' : `${grouped(length)} other groups`;
}

export function groupTable(
  some: readonly EventGroup[],
  { fields, total, numbers }: Pick<EventGroups, 'fields' | 'total'> & Partial<Pick<EventGroups, 'numbers'>>,
  zone: TimeZone,
  hasRates = false,
): Table {
  const shownValues = valuesInZone(some, zone);
  const rates: readonly ColumnHead[] = [
    { title: 'failed', kind: 'number' },
    { title: 'rate', kind: 'number' },
  ];
  const share: ColumnHead = { title: 'share', kind: 'number', spare: numbers ? 4 : 1 };
  return {
    heads: [
      ...fields.map((field) => ({ title: columnTitle(field, fields) })),
      { title: 'events', kind: 'number' },
      ...(hasRates ? rates : []),
      ...(fields.length > 0 ? [share] : []),
      ...(numbers ? PERCENTILE_HEADS : []),
      { title: 'first', kind: 'time', spare: 3 },
      { title: 'last', kind: 'time', spare: 2 },
      { title: 'example', isWhole: true, spare: 1 },
    ],
    rows: some.map((group, row) => {
      const { count, failed, delivered, first, last, example = NONE } = group;
      const known = failed + delivered;
      const rateText = known > 0 ? percent(failed / known) : NONE;
      return [
        ...(shownValues[row] ?? []),
        grouped(count),
        ...(hasRates ? [grouped(failed), rateText] : []),
        ...(fields.length > 0 ? [percent(count / total)] : []),
        ...(numbers ? percentileCells(group.numbers) : []),
        ...[first, last].map((time) => zone.shown(toSeconds(time))),
        example,
      ];
    }),
  };
}

export const PERCENTILE_HEADS: readonly ColumnHead[] = ['p50', 'p95', 'p99', 'max'].map((title) => ({
  title,
  kind: 'number',
}));

export function percentileCells(numbers: NumberSample | undefined): string[] {
  const figures = numbers?.percentiles();
  if (!figures) return PERCENTILE_HEADS.map(() => NONE);
  return [figures.p50, figures.p95, figures.p99, figures.most].map(groupedDigits);
}

/** Converts times to the zone, unless that makes different values equal. */
function valuesInZone(some: readonly EventGroup[], zone: TimeZone): readonly string[][] {
  const texts = some.map(({ values }) => values.map(groupValue));
  const inZone = texts.map((values) => values.map((text) => zone.shown(text)));
  const rowsOf = new Map<string, number>();
  for (const values of inZone) {
    const key = values.join('\n');
    rowsOf.set(key, (rowsOf.get(key) ?? 0) + 1);
  }
  return inZone.map((values, row) => (rowsOf.get(values.join('\n')) === 1 ? values : (texts[row] ?? [])));
}

/** Longer values are cut. */
const LONGEST_VALUE_CHARACTERS = 1000;

function groupValue(value: string | null): string {
  // A missing field is not the same group as null.
  if (value === null || value === 'null') return value ?? NONE;
  const bytes = Buffer.from(value);
  return scalarsText(bytes, 0, bytes.length, LONGEST_VALUE_CHARACTERS);
}
