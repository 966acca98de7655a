import { NO_VALUE } from '../outcomes/code-column.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import type { Codes } from '../outcomes/rows.ts';

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

/** More than a field has codes. */
const CODES = 0x1_0000;

/** Numbers by the rows that have them: of a list there may be several in a row. */
export interface RankedNumbers {
  readonly rows: Int32Array;
  /** The rank of a number; -1 for what is no number. */
  readonly rankAt: (index: number) => number;
  /** How many numbers differ. */
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
  /** Ways to part the rows: each tells a row's group by a number. */
  readonly #groupings: readonly ((row: number) => number)[];

  /** `rows` are in order of creation. */
  constructor(table: ComparisonTable, rows: Int32Array) {
    this.#places = new Int32Array(table.rows).fill(-1);
    for (const [place, row] of rows.entries()) if (table.times.isKnown(row)) this.#places[row] = place;
    const subscriptions = codesOf(table, 'subscriptionId');
    const types = codesOf(table, 'eventType');
    const subscriptionOf = (row: number) => subscriptions?.[row] ?? NO_VALUE;
    const typeOf = (row: number) => types?.[row] ?? NO_VALUE;
    const pairOf = (row: number) => CODES * subscriptionOf(row) + typeOf(row);
    this.#groupings = [() => 0, subscriptionOf, typeOf, pairOf];
  }

  /**
   * True for numbers that go up or down with time, such as those of a sequence, also if each subscription or
   * type has a sequence of its own: their limits are spans of time.
   */
  goesWithTime(numbers: RankedNumbers): boolean {
    if (numbers.different <= MOST_WITHOUT_ORDER) return false;
    return (
      this.#isMonotonic(numbers) || this.#groupings.some((groupOf) => this.#isAlongTime(numbers, groupOf))
    );
  }

  #isMonotonic({ rows, rankAt }: RankedNumbers): boolean {
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
  #isAlongTime({ rows, rankAt }: RankedNumbers, groupOf: (row: number) => number): boolean {
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

function codesOf(table: ComparisonTable, name: string): Codes | undefined {
  return table.fieldAtTop(name)?.codes;
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
