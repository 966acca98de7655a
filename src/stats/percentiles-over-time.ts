import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { StatsWindow } from '../filters/stats-window.ts';
import type { CsvRow } from '../formats/csv.ts';
import {
  conditionTexts,
  printSummary,
  type Summary,
  type SummaryCall,
  type SummaryOptions,
} from '../formats/summary.ts';
import { proseLines } from '../formats/summary-words.ts';
import { type Table, tableLines } from '../formats/table.ts';
import type { FieldPath } from '../items/field-path.ts';
import { createdOnReader } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';
import { TimeColumn } from '../items/time-column.ts';
import { EventGroups } from '../questions/event-groups.ts';
import { type EventSource, type SourceOptions, withEventSource } from '../sources/event-source.ts';
import { eventsText, grouped } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type BucketSpan, bucketOf, type Division, divideTime } from './buckets.ts';
import {
  numbersJson,
  numbersText,
  PERCENTILE_HEADS,
  percentileCells,
  percentilesOfAll,
} from './groups-text.ts';
import { readForGroups } from './stats.ts';
import { bucketLabel, spanJson, spanText, timeLabels } from './stats-text.ts';

interface BucketOfNumbers extends BucketSpan {
  readonly groups: EventGroups;
}

interface NumbersOverTime {
  readonly all: EventGroups;
  readonly buckets: readonly BucketOfNumbers[];
  readonly window: Awaited<ReturnType<typeof windowToDivide>>;
}

export interface OverTimeOptions extends SourceOptions {
  readonly percentiles: FieldPath;
  readonly buckets: Division;
}

/** Stored events without a window are read twice, first to find their span. */
export async function askOverTime(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { percentiles, buckets: division, ...options }: OverTimeOptions,
): Promise<NumbersOverTime> {
  return await withEventSource(call, options, async (source) => {
    const { zone } = source.filters;
    const window = await windowToDivide(source);
    const newGroups = () => new EventGroups([], zone, percentiles);
    const all = newGroups();
    const buckets = divideTime(window, division).map((span) => ({ ...span, groups: newGroups() }));
    const createdOn = createdOnReader();
    const indexesByBucket = (items: Items) => {
      const indexes = new Map<EventGroups, number[]>();
      for (let item = 0; item < items.count; item++) {
        const time = createdOn(items.bytes, items.start(item));
        const bucket = time && buckets[bucketOf(time, buckets)];
        if (!bucket) continue;
        const others = indexes.get(bucket.groups);
        if (others) others.push(item);
        else indexes.set(bucket.groups, [item]);
      }
      return indexes;
    };
    for await (const { items, haveFailed } of readForGroups(source)) {
      all.see({ items, haveFailed });
      for (const [groups, indexes] of indexesByBucket(items))
        groups.see({ items: items.pick(indexes), haveFailed });
    }
    await source.adviseOnResult(all.total);
    source.warnOfUnknown();
    return { all, buckets, window };
  });
}

async function windowToDivide(source: EventSource): Promise<StatsWindow> {
  if (source.window) return source.window;
  if (source.isReadOnce)
    throw new UsageError(`--buckets and --percentiles of ${source.name} need --since`, {
      next: 'say from when to when with --since and --until',
    });
  const times = new TimeColumn();
  const createdOn = createdOnReader();
  for await (const { items } of source.read(source.filters))
    for (let item = 0; item < items.count; item++)
      times.push(createdOn(items.bytes, items.start(item))?.text ?? '');
  return source.windowOf(times.bounds);
}

export async function printOverTime(
  { all, buckets, window }: NumbersOverTime,
  options: SummaryOptions,
  call: SummaryCall,
): Promise<void> {
  for (const doubt of all.doubts()) call.reporter.warning(doubt, { kind: 'usage' });
  const { filters } = options;
  const rows = buckets.map(bucketJson);
  const facts = [...numbersText(all, true), spanText({ window })];
  const table = overTimeTable(buckets, filters.zone);
  const summary: Summary = {
    json: { total: all.total, ...percentilesOfAll(all), buckets: rows },
    ndjson: rows,
    csv: () => ({
      titles: CSV_TITLES,
      rows: rows.map(({ partial, ...row }) => Object.values({ ...row, partial: String(partial) }) as CsvRow),
    }),
    table,
    facts: [eventsText(all.total), ...facts, ...conditionTexts(filters)],
    window,
    lines: (look) => {
      const said = facts.flatMap((text) => proseLines(text, look)).map(look.palette.dim);
      return all.total === 0 ? ['no events match', ...said] : [...tableLines(table, look), ...said];
    },
  };
  await printSummary(summary, options, call);
}

const CSV_TITLES = ['from', 'to', 'count', 'failed', 'numbers', 'p50', 'p95', 'p99', 'most', 'partial'];

function bucketJson({ groups, ...span }: BucketOfNumbers) {
  return {
    ...spanJson(span),
    count: groups.total,
    failed: groups.failed,
    ...numbersJson(groups.numbers),
  };
}

function overTimeTable(buckets: readonly BucketOfNumbers[], zone: TimeZone): Table {
  const clock = timeLabels(buckets, zone);
  return {
    heads: [
      { title: clock.title, kind: 'text' },
      { title: 'events', kind: 'number' },
      { title: 'failed', kind: 'number' },
      ...PERCENTILE_HEADS,
    ],
    rows: buckets.map((bucket) => [
      bucketLabel(clock, bucket),
      grouped(bucket.groups.total),
      grouped(bucket.groups.failed),
      ...percentileCells(bucket.groups.numbers),
    ]),
  };
}
