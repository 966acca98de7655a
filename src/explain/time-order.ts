import { fieldAtTop, type SampleTable } from '../sample/sample-table.ts';

/** A number with more values than these may go with time. */
const MOST_WITHOUT_ORDER = 20;
/** A number goes with time if fewer of its steps than this part go the other way. */
const OTHER_WAY = 0.02;
/**
 * A number goes with time if its rank and the time correlate like this: 0.9 leaves room for noise of a
 * quarter of its values.
 */
const LEAST_CORRELATION = 0.9;
/** A correlation of fewer numbers, beside one for each group, may be chance. */
const LEAST_COMPARED = 20;

/** Numbers or dates by the rows that have them: of a list there may be several in a row. */
export interface RankedValues {
  readonly rows: Int32Array;
  /** The rank of a value; -1 for one without order. */
  readonly rankAt: (index: number) => number;
  /** How many values differ. */
  readonly different: number;
}

/** Sums over the numbers of a group, for their correlation with time. */
interface Sums {
  count: number;
  times: number;
  ranks: number;
  squaredTimes: number;
  squaredRanks: number;
  products: number;
}

/** The order of creation of some rows, among all of them and among those of a subscription or of a type. */
export class TimeOrder {
  /** By row: its place in order of creation; -1 if its time is not known. */
  readonly #places: Int32Array;
  readonly rows: Int32Array;
  /** Ways to part the rows: each gives a row's group as a number. */
  readonly #groupings: readonly ((row: number) => number)[];

  /** `rows` are in order of creation. */
  constructor(table: SampleTable, rows: Int32Array) {
    this.rows = rows;
    this.#places = new Int32Array(table.rows).fill(-1);
    for (const [place, row] of rows.entries()) if (table.times.isKnown(row)) this.#places[row] = place;
    const subscriptions = codesOf(table, 'subscriptionId');
    const types = codesOf(table, 'eventType');
    const subscriptionOf = (row: number) => subscriptions[row] as number;
    const typeOf = (row: number) => types[row] as number;
    const pairOf = (row: number) => (table.rows + 2) * subscriptionOf(row) + typeOf(row);
    this.#groupings = [() => 0, subscriptionOf, typeOf, pairOf];
  }

  /**
   * True for numbers that go up or down with time, such as those of a sequence, also if each subscription or
   * type has a sequence of its own: their limits are spans of time.
   */
  goesWithTime(numbers: RankedValues): boolean {
    if (numbers.different <= MOST_WITHOUT_ORDER) return false;
    return (
      this.#isMonotonic(numbers) || this.#groupings.some((groupOf) => this.#isAlongTime(numbers, groupOf))
    );
  }

  #isMonotonic({ rows, rankAt }: RankedValues): boolean {
    let up = 0;
    let down = 0;
    let last = { rank: Number.NaN, time: Number.NaN };
    for (let index = 0; index < rows.length; index++) {
      const rank = rankAt(index);
      const time = this.#places[rows[index] as number] as number;
      if (rank === -1 || time === -1) continue;
      const step = (rank - last.rank) * (time - last.time);
      if (step > 0) up++;
      if (step < 0) down++;
      last = { rank, time };
    }
    return Math.min(up, down) < OTHER_WAY * (up + down);
  }

  /** True if rank and time correlate inside the groups, all taken together. */
  #isAlongTime({ rows, rankAt }: RankedValues, groupOf: (row: number) => number): boolean {
    const sumsOf = new Map<number, Sums>();
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as number;
      const rank = rankAt(index);
      const time = this.#places[row] as number;
      if (rank === -1 || time === -1) continue;
      const group = groupOf(row);
      const sums = sumsOf.get(group) ?? noSums();
      sumsOf.set(group, sums);
      addTo(sums, time, rank);
    }
    return correlationInside([...sumsOf.values()]) >= LEAST_CORRELATION;
  }
}

/** The code of each row; 0 where the field is missing. */
function codesOf(table: SampleTable, name: string): Int32Array {
  const codes = new Int32Array(table.rows);
  const field = fieldAtTop(table, name);
  for (let cell = 0; field && cell < field.cells; cell++)
    codes[field.rows[cell] as number] = field.codes[cell] as number;
  return codes;
}

function noSums(): Sums {
  return { count: 0, times: 0, ranks: 0, squaredTimes: 0, squaredRanks: 0, products: 0 };
}

function addTo(sums: Sums, time: number, rank: number): void {
  sums.count++;
  sums.times += time;
  sums.ranks += rank;
  sums.squaredTimes += time * time;
  sums.squaredRanks += rank * rank;
  sums.products += time * rank;
}

/** The correlation, from 0 to 1 in either direction; 0 if there are too few numbers to tell. */
function correlationInside(groups: readonly Sums[]): number {
  let compared = 0;
  let ofTimes = 0;
  let ofRanks = 0;
  let ofBoth = 0;
  for (const { count, times, ranks, squaredTimes, squaredRanks, products } of groups) {
    compared += count - 1;
    ofTimes += squaredTimes - (times * times) / count;
    ofRanks += squaredRanks - (ranks * ranks) / count;
    ofBoth += products - (times * ranks) / count;
  }
  if (compared < LEAST_COMPARED || ofTimes === 0 || ofRanks === 0) return 0;
  return Math.abs(ofBoth) / Math.sqrt(ofTimes * ofRanks);
}
