import { derive } from '../items/derived-values.ts';
import { sortRows, TimeColumn } from '../items/time-column.ts';
import { type Count, rateOf } from '../statistics/chance.ts';
import { DAY_MS, MINUTE_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { EventSample } from './event-sample.ts';
import { SampleField } from './sample-field.ts';
import { readFields } from './sample-reader.ts';

/** Minimum time from the first to the last event to compare hours: in less, an hour is only a span. */
const MIN_FOR_HOURS_MS = 1.5 * DAY_MS;
/** The same for weekdays. */
const MIN_FOR_WEEKDAYS_MS = 8 * DAY_MS;
/** Zones differ from UTC by quarters of an hour, so a quarter lies within one hour in every zone. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Minimum ratio of the 90th to the 10th percentile for sizes to be compared. */
const LARGER_BY = 1.5;

/** A row is an event. */
export interface SampleTable {
  readonly rows: number;
  /** 1 for a failed row. */
  readonly failures: Uint8Array;
  readonly times: TimeColumn;
  readonly fields: readonly SampleField[];
  readonly isWhole: boolean;
  /** Bytes by row. */
  readonly sizes: Int32Array;
  readonly bytesAddedBySuccess: number;
  readonly shares: { readonly failed: number; readonly delivered: number };
}

export function tableOfSample(sample: EventSample, zone: TimeZone): SampleTable {
  const rows = sample.sampledEvents;
  const times = new TimeColumn();
  const sizes = new Int32Array(rows);
  const failures = new Uint8Array(rows);
  let row = 0;
  for (const { text, hasFailed, createdOnStart, createdOnEnd } of sample.readSampled()) {
    times.pushValue(text, createdOnStart, createdOnEnd);
    sizes[row] = text.length;
    failures[row++] = Number(hasFailed);
  }
  const read = readFields(() => sample.readSampled(), failures);
  const derived = read.flatMap((field) => field.finish());
  for (const field of derived) field.finish();
  const { bytesAddedBySuccess } = sample;
  const size = sizeField({ sizes, failures, bytesAddedBySuccess });
  return {
    rows,
    failures,
    times,
    fields: [...read, ...derived, ...(size ? [size] : []), ...clockFields(times, rows, zone)],
    isWhole: sample.isWhole,
    sizes,
    bytesAddedBySuccess,
    shares: sample.shares,
  };
}

export function fieldAtTop({ fields }: SampleTable, name: string): SampleField | undefined {
  return fields.find(({ steps, derivation }) => steps.length === 1 && steps[0] === name && !derivation);
}

export function rateIn({ shares }: SampleTable, count: Count): number {
  return rateOf(count, shares.failed / shares.delivered);
}

export function estimateOf({ shares }: SampleTable, { events, failed }: Count): Count {
  const allFailed = Math.round(failed / shares.failed);
  return { failed: allFailed, events: allFailed + Math.round((events - failed) / shares.delivered) };
}

/** Sizes of items, as if `FAILED` were as long as `SUCCESS`; undefined if the sizes are similar. */
export function sizeField({
  sizes,
  failures,
  bytesAddedBySuccess,
}: Pick<SampleTable, 'sizes' | 'failures' | 'bytesAddedBySuccess'>): SampleField | undefined {
  const compared = sizes.map((size, row) => size - (failures[row] === 1 ? 0 : bytesAddedBySuccess));
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

/** Hour and weekday of creation in the zone, if the events span enough time for them to repeat. */
function clockFields(times: TimeColumn, rows: number, zone: TimeZone): SampleField[] {
  const known = sortRows([...Array(rows).keys()], times).filter((row) => times.isKnown(row));
  const [oldest, newest] = [known[0], known.at(-1)];
  if (oldest === undefined || newest === undefined) return [];
  const spanMs = times.millisecondsAt(newest) - times.millisecondsAt(oldest);
  return [
    ...(spanMs >= MIN_FOR_HOURS_MS ? [clockField('hour', times, rows, zone)] : []),
    ...(spanMs >= MIN_FOR_WEEKDAYS_MS ? [clockField('weekday', times, rows, zone)] : []),
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
