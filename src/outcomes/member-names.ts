import { NameNovelty } from './name-novelty.ts';
import { ValueCodes } from './value-codes.ts';

/** The names that the members of an object have, as far as they are known. */
export class MemberNames {
  /** Names of members that made room for others: a column begun anew would lack their first events. */
  readonly leftOut = new Set<string>();
  /** Counts the names of an object that may be a map; undefined once that is known. */
  novelty: NameNovelty | undefined = new NameNovelty();
  #places: ValueCodes | undefined;
  #eventPlaces: ValueCodes | undefined;

  /**
   * The places of members by their names as events write them: among the object's own, or with `isEvent`
   * among those that it has as the event of an item.
   */
  placesAmong(isEvent: boolean): ValueCodes {
    if (isEvent) {
      this.#eventPlaces ??= new ValueCodes();
      return this.#eventPlaces;
    }
    this.#places ??= new ValueCodes();
    return this.#places;
  }

  /** Called when members change their places. */
  forgetPlaces(): void {
    this.#places = undefined;
    this.#eventPlaces = undefined;
  }
}
