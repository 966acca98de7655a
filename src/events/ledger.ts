const CHUNK = 65_536;

/** The keys of every item printed so far, 8 bytes each, so that a result which moved can be mended without repeating one. */
export class Ledger {
  #chunks: Float64Array[] = [];
  #used = CHUNK;
  size = 0;

  add(keys: Float64Array): void {
    for (const key of keys) {
      if (this.#used === CHUNK) {
        this.#chunks.push(new Float64Array(CHUNK));
        this.#used = 0;
      }
      (this.#chunks.at(-1) as Float64Array)[this.#used++] = key;
    }
    this.size += keys.length;
  }

  /** All keys, to look them up in; built when a result turns out to have moved, which few do. */
  lookup(): Set<number> {
    const set = new Set<number>();
    this.#chunks.forEach((chunk, index) => {
      const used = index === this.#chunks.length - 1 ? this.#used : CHUNK;
      for (let at = 0; at < used; at++) set.add(chunk[at] as number);
    });
    return set;
  }
}
