/** Objects that are looked at before it is known; the names in the first half of them are all new. */
const OBJECTS = 64;
/** The part of the names in the second half that the first half has not, from which on they hardly repeat. */
const HARDLY_ANY_TWICE = 0.8;

/** Tells by its first objects if a field is a map: one whose names are ids, and hardly repeat. */
export class NameNovelty {
  #objects = 0;
  #names = 0;
  #fresh = 0;

  /**
   * Notes an object with so many names. Returns true for a map, false for none, and undefined while nobody
   * can tell.
   */
  note(names: number): boolean | undefined {
    this.#objects++;
    this.#names += names;
    if (this.#objects === OBJECTS / 2) {
      this.#names = 0;
      this.#fresh = 0;
    }
    return this.#objects === OBJECTS ? this.#fresh >= HARDLY_ANY_TWICE * this.#names : undefined;
  }

  /** Notes a name that no object had before. */
  noteNew(): void {
    this.#fresh++;
  }
}
