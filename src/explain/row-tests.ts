import { compareNumbers } from '../items/item-conditions.ts';
import { NO_VALUE } from '../outcomes/field-column.ts';
import { filterRows, selectRows } from '../outcomes/rows.ts';
import type { TimeColumn } from '../outcomes/time-column.ts';
import type { Feature } from './feature.ts';

/** A comparison with the value of a code; with `NO_VALUE`, that the field is missing or there. */
export type FieldOp = '=' | '!=' | '>=' | '<=';

/** The condition that a field has such a value. */
export class FieldTest {
  readonly feature: Feature;
  readonly op: FieldOp;
  readonly code: number;
  /** 1 by each code for which it holds. */
  #accepted: Uint8Array | undefined;

  constructor(feature: Feature, op: FieldOp, code: number) {
    this.feature = feature;
    this.op = op;
    this.code = code;
  }

  filter(rows: Int32Array): Int32Array {
    const { feature, code } = this;
    const { numbers, codes } = feature.field;
    if (numbers && code !== NO_VALUE) return this.#filterNumbers(rows, numbers);
    this.#accepted ??= Uint8Array.from(feature.places, (_, other) => Number(this.accepts(other)));
    return selectRows(rows, codes, this.#accepted);
  }

  #filterNumbers(rows: Int32Array, numbers: Float64Array): Int32Array {
    const { op, json } = limitOf(this);
    const limit = Number(json);
    if (op === '>=') return filterRows(rows, (row) => (numbers[row] as number) >= limit);
    return op === '<='
      ? filterRows(rows, (row) => (numbers[row] as number) <= limit)
      : filterRows(rows, (row) => (numbers[row] as number) < limit);
  }

  /** True if it holds for events with this code. */
  accepts(other: number): boolean {
    const { feature, op, code } = this;
    if (op === '=') return other === code;
    if (op === '!=') return other !== code;
    const place = feature.places[other] as number;
    const limit = feature.places[code] as number;
    return place !== -1 && (op === '>=' ? place >= limit : place <= limit);
  }
}

/** The condition that an event was created between two others, or at the same time as one of them. */
export class SpanTest {
  readonly feature = undefined;
  readonly #times: TimeColumn;
  /** Rows; undefined where the events go on like this. */
  readonly from: number | undefined;
  readonly to: number | undefined;

  constructor(times: TimeColumn, from?: number, to?: number) {
    this.#times = times;
    this.from = from;
    this.to = to;
  }

  filter(rows: Int32Array): Int32Array {
    const { from, to } = this;
    const times = this.#times;
    const isInside = (row: number) =>
      times.isKnown(row) &&
      (from === undefined || times.compare(row, from) >= 0) &&
      (to === undefined || times.compare(row, to) <= 0);
    return filterRows(rows, isInside);
  }
}

export type RowTest = FieldTest | SpanTest;

/**
 * The rows for which all tests hold. A span takes the most time, so it gets the rows that the fields leave.
 */
export function filterByAll(tests: readonly RowTest[], rows: Int32Array): Int32Array {
  const spanLast = [...tests.filter(({ feature }) => feature), ...tests.filter(({ feature }) => !feature)];
  return spanLast.reduce((left, test) => test.filter(left), rows);
}

/** A limit that parts the values in the same way as the test: the roundest number there is between them. */
export function limitOf({ feature, op, code }: FieldTest): { op: '>=' | '<=' | '<'; json: string } {
  const { order } = feature;
  const place = order.indexOf(code);
  const below = op === '>=' ? place - 1 : place;
  const low = feature.bareText(order[below] as number);
  const high = feature.bareText(order[below + 1] as number);
  const round = roundNumber(low, high) ?? high;
  if (op === '>=') return { op, json: round };
  return round === high || low.length <= round.length ? { op: '<=', json: low } : { op: '<', json: round };
}

/** Longer numbers have digits that a double does not hold. */
const MOST_DIGITS = 15;

/**
 * The number with the fewest digits that is greater than the first and at most the second; undefined if both
 * are too long.
 */
function roundNumber(lower: string, upper: string): string | undefined {
  const low = Number(lower);
  const high = Number(upper);
  const most = 10 ** MOST_DIGITS;
  if (!(Math.abs(low) < most && Math.abs(high) < most)) return undefined;
  for (let digits = -MOST_DIGITS; digits <= MOST_DIGITS; digits++) {
    const unit = 10 ** Math.abs(digits);
    const number = digits < 0 ? Math.floor(high / unit) * unit : Math.floor(high * unit) / unit;
    const text = String(number);
    if (number > low && compareNumbers(text, upper) <= 0) return text;
  }
  return undefined;
}
