/** Bodies of other sizes are rare, or too small to matter: they are left to the garbage collector. */
const SMALLEST = 16 * 1024;
const LARGEST = 4 * 1024 * 1024;
const STEP = 64 * 1024;
/** As many as may be under way and waiting for their turn at the greatest concurrency. */
const MOST_KEPT = 48;

export interface Memory {
  readonly bytes: Buffer;
  /** Gives the memory to bodies to come; nothing may read these bytes afterwards. */
  release(): void;
}

/**
 * Memory for the bodies of answers, used again once it is released. V8 collects what lies outside its heap late: left to
 * it, the pages of a long read pile up to 64 MiB and more of garbage.
 */
export class BodyMemory {
  readonly #free: Buffer[] = [];

  /** At least `length` bytes; undefined for a length that is none of its business. */
  take(length: number): Memory | undefined {
    if (!(length >= SMALLEST && length <= LARGEST)) return undefined;
    const kept = this.#free.pop();
    // Pages of one read are much alike: one that has become too small makes way for a larger one.
    const bytes =
      kept && kept.length >= length ? kept : Buffer.allocUnsafeSlow(Math.ceil(length / STEP) * STEP);
    let isReleased = false;
    return {
      bytes,
      release: () => {
        if (!isReleased && this.#free.length < MOST_KEPT) this.#free.push(bytes);
        isReleased = true;
      },
    };
  }
}
