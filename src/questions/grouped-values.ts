import { exactValue } from '../items/exact-numbers.ts';
import { MISSING } from '../items/field-cursor.ts';
import type { FieldReader } from '../items/field-reader.ts';
import { isGuid } from '../items/guids.ts';
import { canonicalText } from '../items/value-texts.ts';

const STRING = /"(?:[^"\\]|\\.)*"/g;

/** With more groups, the fields differ in nearly every event. */
export const MAX_GROUPS = 100_000;

export class GroupedValues {
  readonly #reader: FieldReader;
  readonly #first: number;
  readonly #fields: number;

  constructor(reader: FieldReader, fields: number, first = 0) {
    this.#reader = reader;
    this.#first = first;
    this.#fields = fields;
  }

  /**
   * Returns the key of each group of the current event. An event with several values is in the group of each,
   * or of each combination. Undefined for more than `most` groups.
   */
  keysOfEvent(most = MAX_GROUPS): string[] | undefined {
    const values: string[][] = [];
    let groups = 1;
    for (let field = 0; field < this.#fields; field++) {
      const texts = this.#differentTexts(this.#first + field);
      groups *= texts.length;
      values.push(texts);
    }
    if (groups === 1) return [values.map(([text]) => text).join(SEPARATOR)];
    if (groups > most) return undefined;
    return combinationsOf(values).map((texts) => texts.join(SEPARATOR));
  }

  #differentTexts(field: number): string[] {
    const texts: string[] = [];
    this.#reader.each(field, (bytes, start, end) => {
      texts.push(start === MISSING ? 'null' : writtenAlike(bytes.toString('utf8', start, end)));
    });
    return texts.length === 1 ? texts : [...new Set(texts)];
  }
}

/** A line feed cannot occur in JSON without white space between tokens. */
const SEPARATOR = '\n';

/** Returns the JSON text of each field, `null` for missing ones. */
export function textsOfKey(key: string): string[] {
  return key === '' ? [] : key.split(SEPARATOR);
}

/** Returns the value of each field: null if missing, a string for numbers that no double equals. */
export function valuesOfKey(key: string): unknown[] {
  return textsOfKey(key).map(exactValue);
}

function combinationsOf(lists: readonly string[][]): string[][] {
  return lists.reduce<string[][]>(
    (chosen, texts) => chosen.flatMap((some) => texts.map((text) => [...some, text])),
    [[]],
  );
}

const QUOTED_GUID_CHARACTERS = 38;

/** One event may write `\u00e9` or `\/`, another the character itself. */
function writtenAlike(json: string): string {
  if (json.length === QUOTED_GUID_CHARACTERS && isGuid(json.slice(1, -1))) return json.toLowerCase();
  if (!json.includes('\\')) return json;
  return json.replace(STRING, (string) => canonicalText(string));
}
