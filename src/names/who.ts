import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { valueText } from '../items/json-scanner.ts';
import { UTC } from '../time/time-zone.ts';

/** Who an event is for, as far as the event tells. */
export interface Who {
  /** The value of the field that names who it is for; undefined without one. */
  readonly name: string | undefined;
  readonly subscriptionId: string | undefined;
}

/** Returns a function that reads who the item at an offset is for. */
export function createWhoReader(nameField: FieldPath | undefined): (bytes: Buffer, at: number) => Who {
  const reader = new FieldReader([memberPath('subscriptionId'), ...(nameField ? [nameField] : [])], UTC);
  return (bytes, at) => {
    reader.read(bytes, at);
    return { name: nameField && firstText(reader, 1), subscriptionId: reader.text(0) };
  };
}

/** The first value of a field that is not empty. */
function firstText(reader: FieldReader, field: number): string | undefined {
  let found = '';
  reader.each(field, (bytes, start, end) => {
    if (found === '' && start !== MISSING) found = valueText(bytes, start, end);
  });
  return found === '' ? undefined : found;
}

/** What people call them: the name in the event, or else the subscription's address, or its id. */
export function whoText(
  { name, subscriptionId }: Who,
  names: { labelOf(id: string): string | undefined } | undefined,
): string | undefined {
  if (name !== undefined || subscriptionId === undefined) return name;
  return names?.labelOf(subscriptionId) ?? subscriptionId;
}
