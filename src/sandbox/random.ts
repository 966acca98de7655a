/** Seeded pseudo-random numbers (sfc32): the same seed gives the same sequence on every machine. */
export class Random {
  #a: number;
  #b: number;
  #c = 0x9e3779b9 | 0;
  #d = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 0x100000000) | 0;
    for (let i = 0; i < 12; i++) this.uint32();
  }

  uint32(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + t) | 0;
    return t >>> 0;
  }

  float(): number {
    return this.uint32() / 0x100000000;
  }

  below(bound: number): number {
    return Math.floor(this.float() * bound);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}
