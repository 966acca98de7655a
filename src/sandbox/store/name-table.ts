/** Numbers names in the order they come, so that columns can hold small integers. */
export class NameTable {
  readonly #numbers = new Map<string, number>();

  /** The name's number, a new one for a name not seen before. */
  intern(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#numbers.size;
      if (number > 0xffff) throw new RangeError('too many different names for the sandbox');
      this.#numbers.set(name, number);
    }
    return number;
  }

  find(name: string): number | undefined {
    return this.#numbers.get(name);
  }
}
