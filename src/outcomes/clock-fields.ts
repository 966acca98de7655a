import { derive } from '../items/derived-values.ts';
import { DAY_MS, MINUTE_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { NO_VALUE } from './code-column.ts';
import { Field } from './field-column.ts';
import { allRows } from './rows.ts';
import type { TimeColumn } from './time-column.ts';

/** Hours come again if events are of more than a day and a half; in fewer a span of time says the same. */
const LEAST_FOR_HOURS_MS = 1.5 * DAY_MS;
/** Weekdays do after a week. */
const LEAST_FOR_WEEKDAYS_MS = 8 * DAY_MS;
/**
 * Zones differ by whole quarters of an hour from UTC, so that such a quarter lies within one hour of each.
 */
const QUARTER_MS = 15 * MINUTE_MS;

const NO_TOKEN = Buffer.alloc(0);

/** The hour and the weekday in which rows were created, where they come again. */
export function clockFields(times: TimeColumn, rows: number, zone: TimeZone): Field[] {
  const all = allRows(rows);
  const oldest = times.oldest(all);
  const newest = times.newest(all);
  if (oldest === undefined || newest === undefined) return [];
  const spanMs = times.millisecondsAt(newest) - times.millisecondsAt(oldest);
  return [
    ...(spanMs >= LEAST_FOR_HOURS_MS ? [clockField('hour', times, rows, zone)] : []),
    ...(spanMs >= LEAST_FOR_WEEKDAYS_MS ? [clockField('weekday', times, rows, zone)] : []),
  ];
}

function clockField(derivation: 'hour' | 'weekday', times: TimeColumn, rows: number, zone: TimeZone): Field {
  const field = new Field(['createdOn'], NO_TOKEN, rows, derivation);
  const derived = derive(derivation, zone);
  const codes = new Map<number, number>();
  const codeIn = (quarter: number): number => {
    const time = Buffer.from(JSON.stringify(new Date(quarter * QUARTER_MS).toISOString()));
    const value = derived(time, 0, time.length);
    return value === undefined ? NO_VALUE : field.codeFor(JSON.stringify(value));
  };
  for (let row = 0; row < rows; row++) {
    if (!times.isKnown(row)) continue;
    const quarter = Math.floor(times.millisecondsAt(row) / QUARTER_MS);
    const code = codes.get(quarter) ?? codeIn(quarter);
    codes.set(quarter, code);
    field.codes[row] = code;
    field.present++;
  }
  return field;
}
