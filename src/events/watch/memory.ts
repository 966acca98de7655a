/**
 * Which events were printed, for as long as a later poll can meet them again. Each key is kept with a time that the event
 * was created before (the service's clock, milliseconds); once all polls begin after that time the key is of no use.
 */
export class WatchMemory {
  readonly #createdBefore = new Map<number, number>();

  /** Takes note of an event; true where it was unknown. */
  add(key: number, createdBefore: number): boolean {
    const known = this.#createdBefore.get(key);
    if (known === undefined || known < createdBefore) this.#createdBefore.set(key, createdBefore);
    return known === undefined;
  }

  /** Drops what no poll from this time on can meet. */
  forget(from: number): void {
    for (const [key, createdBefore] of this.#createdBefore) {
      if (createdBefore <= from) this.#createdBefore.delete(key);
    }
  }

  get size(): number {
    return this.#createdBefore.size;
  }
}
