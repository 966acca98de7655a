import { canonicalText } from '../items/canonical-json.ts';
import { MISSING } from '../items/field-cursor.ts';
import type { FieldReader, UseValue } from '../items/field-reader.ts';
import { isGuid } from '../items/items.ts';

const STRING = /"(?:[^"\\]|\\.)*"/g;

/** Tells in which groups an event is, by the values of some fields. */
export class GroupedValues {
  readonly #reader: FieldReader;
  readonly #first: number;
  readonly #fields: number;
  #texts: string[] = [];
  readonly #addText: UseValue = (bytes, start, end) => {
    this.#texts.push(start === MISSING ? 'null' : writtenAlike(bytes.toString('utf8', start, end)));
  };

  /** By the `fields` fields of the reader that begin with the field `first`. */
  constructor(reader: FieldReader, fields: number, first = 0) {
    this.#reader = reader;
    this.#first = first;
    this.#fields = fields;
  }

  /**
   * For each group of the event that was read the JSON text of a value of each field, `null` for a field that
   * is missing. An event with several values is in the group of each; where two fields have several, in that
   * of each combination. Undefined for more groups than `most`.
   */
  ofEvent(most: number): string[][] | undefined {
    const values: string[][] = [];
    let groups = 1;
    for (let field = 0; field < this.#fields; field++) {
      const texts = this.#differentTexts(this.#first + field);
      groups *= texts.length;
      values.push(texts);
    }
    if (groups === 1) return [values.map(([text]) => text as string)];
    return groups > most ? undefined : combinationsOf(values);
  }

  #differentTexts(field: number): string[] {
    const texts: string[] = [];
    this.#texts = texts;
    this.#reader.each(field, this.#addText);
    return texts.length === 1 ? texts : [...new Set(texts)];
  }
}

/** Each choice of one text from every list. */
function combinationsOf(lists: readonly string[][]): string[][] {
  return lists.reduce<string[][]>(
    (chosen, texts) => chosen.flatMap((some) => texts.map((text) => [...some, text])),
    [[]],
  );
}

const QUOTED_GUID_CHARACTERS = 38;

/**
 * The JSON text with the same escapes for the same characters, and a GUID in lower case: one event may have
 * `\u00e9` or `\/` where another has the character itself.
 */
function writtenAlike(json: string): string {
  if (json.length === QUOTED_GUID_CHARACTERS && isGuid(json.slice(1, -1))) return json.toLowerCase();
  if (!json.includes('\\')) return json;
  return json.replace(STRING, (string) => canonicalText(string));
}
