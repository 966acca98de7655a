const EMPTY = -1;
const MIN_PLACES = 1024;
/** Maximum load: beyond it a lookup probes too many places. */
const MAX_TAKEN = 0.5;

/** A set of evenly spread integers below 2^53, in 16 to 32 bytes each, where a `Set` takes 50. */
export class HashSet {
  size = 0;
  #places = new Float64Array(MIN_PLACES).fill(EMPTY);

  has(hash: number): boolean {
    return this.#places[this.#placeOf(hash)] === hash;
  }

  add(hash: number): void {
    const place = this.#placeOf(hash);
    if (this.#places[place] === hash) return;
    this.#places[place] = hash;
    this.size++;
    if (this.size > MAX_TAKEN * this.#places.length) this.#grow();
  }

  #grow(): void {
    const old = this.#places;
    this.#places = new Float64Array(2 * old.length).fill(EMPTY);
    for (const hash of old) if (hash !== EMPTY) this.#places[this.#placeOf(hash)] = hash;
  }

  #placeOf(hash: number): number {
    const places = this.#places;
    const last = places.length - 1;
    let place = hash & last;
    while (places[place] !== EMPTY && places[place] !== hash) place = (place + 1) & last;
    return place;
  }
}
