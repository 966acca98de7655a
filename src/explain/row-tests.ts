import { compareNumbers } from '../items/exact-numbers.ts';
import { NO_VALUE } from '../outcomes/code-column.ts';
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
  /** Of a field in cells: 1 by each row for which it holds. */
  #holds: Uint8Array | undefined;

  constructor(feature: Feature, op: FieldOp, code: number) {
    this.feature = feature;
    this.op = op;
    this.code = code;
  }

  filter(rows: Int32Array): Int32Array {
    const { feature, code } = this;
    const { numbers, codes, cellRows } = feature.field;
    if (cellRows) {
      this.#holds ??= this.#holdsByRow(cellRows);
      const holds = this.#holds;
      return filterRows(rows, (row) => holds[row] === 1);
    }
    if (numbers && code !== NO_VALUE) {
      const isWithin = this.#numberTest();
      return filterRows(rows, (row) => isWithin(feature.numberOf(row)));
    }
    this.#accepted ??= Uint8Array.from(feature.places, (_, other) => Number(this.accepts(other)));
    return selectRows(rows, codes, this.#accepted);
  }

  /**
   * Of cells: 1 for each row with any value that the condition accepts; of `!=` and `missing` for the
   * others.
   */
  #holdsByRow(cellRows: Int32Array): Uint8Array {
    const { feature, op, code } = this;
    const { codes, numbers, cells } = feature.field;
    const isPresence = code === NO_VALUE;
    const isOpposite = isPresence ? op === '=' : op === '!=';
    const isWithin = numbers && !isPresence ? this.#numberTest() : undefined;
    const isAccepted = (cell: number): boolean => {
      const other = codes[cell] as number;
      if (isPresence) return true;
      if (isWithin) return isWithin((numbers as Float64Array)[cell] as number);
      return isOpposite ? other === code : this.accepts(other);
    };
    const holds = new Uint8Array(feature.rows).fill(Number(isOpposite));
    const isNull = !isPresence && code === feature.nullCode;
    // Where no element has a value, `= null` holds.
    if (isNull) holds.fill(Number(!isOpposite));
    if (isNull) for (let cell = 0; cell < cells; cell++) holds[cellRows[cell] as number] = Number(isOpposite);
    for (let cell = 0; cell < cells; cell++)
      if (isAccepted(cell)) holds[cellRows[cell] as number] = Number(!isOpposite);
    return holds;
  }

  #numberTest(): (number: number) => boolean {
    const { op, json } = limitOf(this);
    const limit = Number(json);
    if (op === '>=') return (number) => number >= limit;
    return op === '<=' ? (number) => number <= limit : (number) => number < limit;
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
  const low = feature.lowerBound(below);
  const high = feature.bareText(order[below + 1] as number);
  const round = roundNumber(low, high) ?? high;
  if (op === '>=') return { op, json: round };
  return round === high || low.length <= round.length ? { op: '<=', json: low } : { op: '<', json: round };
}

/** Digits behind the point that are tried. */
const MOST_DECIMALS = 15;
/** Zeros at the end that are tried first. */
const MOST_ZEROS = 18;
/** From here on a double does not hold each whole number: only round ones are limits. */
const LARGE = 10 ** 15;

/**
 * The number with the fewest digits that is greater than the first and at most the second; undefined if there
 * is none that a double holds.
 */
function roundNumber(lower: string, upper: string): string | undefined {
  const low = Number(lower);
  const high = Number(upper);
  if (!Number.isFinite(high)) return undefined;
  const isLarge = Math.abs(high) >= LARGE;
  for (let digits = -MOST_ZEROS; digits <= (isLarge ? 0 : MOST_DECIMALS); digits++) {
    const unit = 10 ** Math.abs(digits);
    const number = digits < 0 ? Math.floor(high / unit) * unit : Math.floor(high * unit) / unit;
    const text = String(number);
    const isExact = !isLarge || String(BigInt(number)) === text;
    if (isExact && number > low && compareNumbers(text, upper) <= 0) return text;
  }
  return undefined;
}
