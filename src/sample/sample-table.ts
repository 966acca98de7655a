import { derive } from '../items/derived-values.ts';
import { sortRows, TimeColumn } from '../items/time-column.ts';
import { type Count, rateOf } from '../statistics/chance.ts';
import { DAY_MS, MINUTE_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { EventSample } from './event-sample.ts';
import { SampleField } from './sample-field.ts';
import { readFields, type SampledEvent } from './sample-reader.ts';

/** Hours come again in a day and a half; in less time a span says the same. */
const LEAST_FOR_HOURS_MS = 1.5 * DAY_MS;
/** Weekdays come again after a week. */
const LEAST_FOR_WEEKDAYS_MS = 8 * DAY_MS;
/** Zones differ from UTC by whole quarters of an hour: each quarter is in one hour of all of them. */
const QUARTER_MS = 15 * MINUTE_MS;
/** A tenth of the items is larger than another tenth by this factor, or all are of one size. */
const LARGER_BY = 1.5;

/** The events of a sample as columns. A row is an event. */
export interface SampleTable {
  readonly rows: number;
  /** 1 for a row that failed. */
  readonly failures: Uint8Array;
  readonly times: TimeColumn;
  readonly fields: readonly SampleField[];
  readonly isWhole: boolean;
  /** Bytes of each row's item. */
  readonly sizes: Int32Array;
  readonly moreOfDelivered: number;
  /** The parts of all failed and of all delivered events that are rows. */
  readonly shares: { readonly failed: number; readonly delivered: number };
}

export function tableOfSample(sample: EventSample, zone: TimeZone): SampleTable {
  const events = sample.sampled;
  const times = timesOf(events);
  const read = readFields(events);
  const derived = read.flatMap((field) => field.finish());
  for (const field of derived) field.finish();
  const sizes = Int32Array.from(events, ({ text }) => text.length);
  const failures = Uint8Array.from(events, ({ hasFailed }) => Number(hasFailed));
  const { moreOfDelivered } = sample;
  const size = sizeField({ sizes, failures, moreOfDelivered });
  return {
    rows: events.length,
    failures,
    times,
    fields: [...read, ...derived, ...(size ? [size] : []), ...clockFields(times, events.length, zone)],
    isWhole: sample.isWhole,
    sizes,
    moreOfDelivered,
    shares: sample.shares,
  };
}

/** The field of a member of the items, or of the event in them, if events have it. */
export function fieldAtTop({ fields }: SampleTable, name: string): SampleField | undefined {
  return fields.find(({ steps, derivation }) => steps.length === 1 && steps[0] === name && !derivation);
}

/** The part of some rows' events that failed among all events. */
export function rateIn({ shares }: SampleTable, count: Count): number {
  return rateOf(count, shares.failed / shares.delivered);
}

/** How many of all events some rows stand for. */
export function estimateOf({ shares }: SampleTable, { events, failed }: Count): Count {
  const allFailed = Math.round(failed / shares.failed);
  return { failed: allFailed, events: allFailed + Math.round((events - failed) / shares.delivered) };
}

function timesOf(events: readonly SampledEvent[]): TimeColumn {
  const times = new TimeColumn();
  for (const { text, createdOnStart, createdOnEnd } of events)
    times.pushValue(text, createdOnStart, createdOnEnd);
  return times;
}

/** The sizes of the items, without the letter that only tells the outcome; undefined if they are alike. */
export function sizeField({
  sizes,
  failures,
  moreOfDelivered,
}: Pick<SampleTable, 'sizes' | 'failures' | 'moreOfDelivered'>): SampleField | undefined {
  const compared = sizes.map((size, row) => size - (failures[row] === 1 ? 0 : moreOfDelivered));
  const sorted = compared.toSorted();
  const small = sorted[Math.floor(0.1 * sorted.length)] ?? 0;
  const large = sorted[Math.floor(0.9 * sorted.length)] ?? 0;
  if (large < LARGER_BY * small) return undefined;
  const field = new SampleField([], 'size');
  for (const [row, size] of compared.entries()) field.setJson(row, String(size));
  field.finish();
  field.hasOnlyLimits = true;
  return field;
}

/** The hour and the weekday in which events were created, on the zone's clock, where they come again. */
function clockFields(times: TimeColumn, rows: number, zone: TimeZone): SampleField[] {
  const known = sortRows([...Array(rows).keys()], times).filter((row) => times.isKnown(row));
  const [oldest, newest] = [known[0], known.at(-1)];
  if (oldest === undefined || newest === undefined) return [];
  const spanMs = times.millisecondsAt(newest) - times.millisecondsAt(oldest);
  return [
    ...(spanMs >= LEAST_FOR_HOURS_MS ? [clockField('hour', times, rows, zone)] : []),
    ...(spanMs >= LEAST_FOR_WEEKDAYS_MS ? [clockField('weekday', times, rows, zone)] : []),
  ];
}

function clockField(
  derivation: 'hour' | 'weekday',
  times: TimeColumn,
  rows: number,
  zone: TimeZone,
): SampleField {
  const field = new SampleField(['createdOn'], derivation);
  const derived = derive(derivation, zone);
  const codeIn = new Map<number, number>();
  for (let row = 0; row < rows; row++) {
    if (!times.isKnown(row)) continue;
    const quarter = Math.floor(times.millisecondsAt(row) / QUARTER_MS);
    let code = codeIn.get(quarter);
    if (code === undefined) {
      const time = Buffer.from(JSON.stringify(new Date(quarter * QUARTER_MS).toISOString()));
      code = field.codeFor(JSON.stringify(derived(time, 0, time.length)));
      codeIn.set(quarter, code);
    }
    field.setCode(row, code);
  }
  field.finish();
  return field;
}
