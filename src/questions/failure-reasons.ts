import { MISSING } from '../items/field-cursor.ts';
import { errorField } from '../items/item-columns.ts';
import type { Items } from '../items/items.ts';
import { scalarsText } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-fields.ts';

const LONGEST_ERROR_CHARACTERS = 200;

/** The first event with an error determines the field. Stores each distinct text once. */
export class FailureReasons {
  readonly #texts = new Map<string, string>();
  readonly #textOfRow = new Map<number, string>();
  #cursor: ReturnType<typeof createCursor> | undefined;

  note(row: number, items: Items, item: number): void {
    const text = this.textOf(items, item);
    if (text === undefined) return;
    const stored = this.#texts.get(text) ?? text;
    this.#texts.set(stored, stored);
    this.#textOfRow.set(row, stored);
  }

  firstOf(rows: readonly number[]): string | undefined {
    for (const row of rows) {
      const text = this.#textOfRow.get(row);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  textOf(items: Items, item: number): string | undefined {
    const text = this.#read(items, item);
    return text === '-' || text === '' ? undefined : text;
  }

  #read(items: Items, item: number): string | undefined {
    const cursor = this.#cursorFor(items, item);
    if (!cursor) return undefined;
    cursor.read(items.bytes, items.start(item));
    const start = cursor.starts[0] as number;
    if (start === MISSING) return undefined;
    const end = cursor.ends[0] as number;
    return scalarsText(items.bytes, start, end, LONGEST_ERROR_CHARACTERS).slice(0, LONGEST_ERROR_CHARACTERS);
  }

  /** The first item with an error determines the field. */
  #cursorFor(items: Items, item: number): ReturnType<typeof createCursor> | undefined {
    if (this.#cursor) return this.#cursor;
    const field = errorField([items.pick([item])]);
    if (field) this.#cursor = createCursor([field]);
    return this.#cursor;
  }
}
