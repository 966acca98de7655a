import { fieldAtTop, type SampleTable } from '../sample/sample-table.ts';

/** Numbers with at most this many distinct values never follow time. */
const MAX_WITHOUT_ORDER = 20;
/** A number follows time if less than this share of its steps go against it. */
const OTHER_WAY = 0.02;
/** Minimum correlation of rank and time. 0.9 tolerates noise of a quarter of the values. */
const MIN_CORRELATION = 0.9;
/** Minimum degrees of freedom: the correlation of fewer numbers may be chance. */
const MIN_COMPARED = 20;

/** Numbers or dates by row; a list can have several in one row. */
export interface RankedValues {
  readonly rows: Int32Array;
  /** -1 for unordered values. */
  readonly rankAt: (index: number) => number;
  readonly different: number;
}

interface Sums {
  count: number;
  times: number;
  ranks: number;
  squaredTimes: number;
  squaredRanks: number;
  products: number;
}

/** Order of creation, overall and within each subscription and type. */
export class TimeOrder {
  /** By row: its position in order of creation; -1 if its time is unknown. */
  readonly #places: Int32Array;
  readonly #groupings: readonly ((row: number) => number)[];

  /** `rows` are in order of creation. */
  constructor(table: SampleTable, rows: Int32Array) {
    this.#places = new Int32Array(table.rows).fill(-1);
    for (const [place, row] of rows.entries()) if (table.times.isKnown(row)) this.#places[row] = place;
    const subscriptions = codesOf(table, 'subscriptionId');
    const types = codesOf(table, 'eventType');
    const subscriptionOf = (row: number) => subscriptions[row] as number;
    const typeOf = (row: number) => types[row] as number;
    const pairOf = (row: number) => (table.rows + 2) * subscriptionOf(row) + typeOf(row);
    this.#groupings = [() => 0, subscriptionOf, typeOf, pairOf];
  }

  /** True even for one sequence per subscription or type: its limits would only be spans of time. */
  goesWithTime(numbers: RankedValues): boolean {
    if (numbers.different <= MAX_WITHOUT_ORDER) return false;
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
    return correlationInside([...sumsOf.values()]) >= MIN_CORRELATION;
  }
}

function codesOf(table: SampleTable, name: string): Int32Array {
  return fieldAtTop(table, name)?.codesByRow(table.rows) ?? new Int32Array(table.rows);
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
  if (compared < MIN_COMPARED || ofTimes === 0 || ofRanks === 0) return 0;
  return Math.abs(ofBoth) / Math.sqrt(ofTimes * ofRanks);
}
