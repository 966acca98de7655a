import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { withoutGuidCase } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { UTC } from '../time/time-zone.ts';

/** Who an event is for, as far as the event tells. */
export interface Who {
  /** The values of the field that names who it is for: a list has one for each receiver. */
  readonly names: readonly string[];
  /** A GUID in lower case. */
  readonly subscriptionId: string | undefined;
}

/** Returns a function that reads who the item at an offset is for. */
export function createWhoReader(nameField: FieldPath | undefined): (bytes: Buffer, at: number) => Who {
  const reader = new FieldReader([memberPath('subscriptionId'), ...(nameField ? [nameField] : [])], UTC);
  return (bytes, at) => {
    reader.read(bytes, at);
    const id = reader.text(0);
    const subscriptionId = id === undefined ? undefined : withoutGuidCase(id);
    return { names: nameField ? textsOf(reader, 1) : [], subscriptionId };
  };
}

/** The values of a field that are not empty. */
function textsOf(reader: FieldReader, field: number): string[] {
  const found: string[] = [];
  reader.each(field, (bytes, start, end) => {
    const text = start === MISSING ? '' : valueText(bytes, start, end);
    if (text !== '') found.push(text);
  });
  return found;
}

/** The names of an event's receivers; undefined if it names none. */
export function namesText({ names }: Who): string | undefined {
  return names.length === 0 ? undefined : names.join(', ');
}
