import type { GuidWords } from './guid.ts';
import type { Moment } from './timestamp.ts';

/** What the service filters by, each event a row. */
export interface EventRow extends Moment {
  readonly id: GuidWords;
  readonly type: number;
  readonly subscription: number;
  readonly failed: number;
  readonly position: number;
  /** Bytes of its JSON text. */
  readonly length: number;
}

const MINIMUM = 1024;

/** The events' filterable fields in arrays sorted by creation, then id; row 0 is the oldest. */
export class EventColumns {
  size = 0;
  ms = new Float64Array(MINIMUM);
  ticks = new Uint16Array(MINIMUM);
  ids = new Uint32Array(MINIMUM * 4);
  type = new Uint16Array(MINIMUM);
  subscription = new Uint16Array(MINIMUM);
  failed = new Uint8Array(MINIMUM);
  position = new Float64Array(MINIMUM);
  length = new Uint32Array(MINIMUM);

  /** Adds a row at its place; returns its number. Rows at and after it move up by one. */
  insert(row: EventRow): number {
    if (this.size === this.ms.length) this.reserve(this.size * 2);
    const at = this.#placeOf(row);
    if (at < this.size) this.#makeRoom(at);
    this.ms[at] = row.ms;
    this.ticks[at] = row.ticks;
    this.ids[at * 4] = row.id[0];
    this.ids[at * 4 + 1] = row.id[1];
    this.ids[at * 4 + 2] = row.id[2];
    this.ids[at * 4 + 3] = row.id[3];
    this.type[at] = row.type;
    this.subscription[at] = row.subscription;
    this.failed[at] = row.failed;
    this.position[at] = row.position;
    this.length[at] = row.length;
    this.size++;
    return at;
  }

  reserve(rows: number): void {
    if (rows <= this.ms.length) return;
    this.ms = grown(this.ms, new Float64Array(rows));
    this.ticks = grown(this.ticks, new Uint16Array(rows));
    this.ids = grown(this.ids, new Uint32Array(rows * 4));
    this.type = grown(this.type, new Uint16Array(rows));
    this.subscription = grown(this.subscription, new Uint16Array(rows));
    this.failed = grown(this.failed, new Uint8Array(rows));
    this.position = grown(this.position, new Float64Array(rows));
    this.length = grown(this.length, new Uint32Array(rows));
  }

  /** The number of rows created before the moment, or before or at it with `inclusive`. */
  countUpTo({ ms, ticks }: Moment, inclusive: boolean): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const difference = (this.ms[middle] as number) - ms || (this.ticks[middle] as number) - ticks;
      if (inclusive ? difference <= 0 : difference < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #placeOf(row: EventRow): number {
    const last = this.size - 1;
    if (last < 0 || this.#compare(last, row) < 0) return this.size;
    let at = this.countUpTo(row, false);
    while (at < this.size && this.#compare(at, row) < 0) at++;
    return at;
  }

  #compare(at: number, row: EventRow): number {
    const word = (index: number) => (this.ids[at * 4 + index] as number) - (row.id[index] as number);
    return (
      (this.ms[at] as number) - row.ms ||
      (this.ticks[at] as number) - row.ticks ||
      word(0) ||
      word(1) ||
      word(2) ||
      word(3)
    );
  }

  #makeRoom(at: number): void {
    this.ids.copyWithin((at + 1) * 4, at * 4, this.size * 4);
    for (const column of [
      this.ms,
      this.ticks,
      this.type,
      this.subscription,
      this.failed,
      this.position,
      this.length,
    ]) {
      column.copyWithin(at + 1, at, this.size);
    }
  }
}

function grown<T extends Float64Array | Uint32Array | Uint16Array | Uint8Array>(from: T, to: T): T {
  to.set(from as never);
  return to;
}
