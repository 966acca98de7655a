import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { valueText } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-cursor.ts';

/** Who an event is for, as far as the event tells. */
export interface Who {
  /** The value of the field that names who it is for; undefined without one. */
  readonly name: string | undefined;
  readonly subscriptionId: string | undefined;
}

/** Returns a function that reads who the item at an offset is for. */
export function createWhoReader(nameField: FieldPath | undefined): (bytes: Buffer, at: number) => Who {
  const cursor = createCursor([memberPath('subscriptionId'), ...(nameField ? [nameField] : [])]);
  return (bytes, at) => {
    cursor.read(bytes, at);
    const start = nameField ? (cursor.starts[1] as number) : MISSING;
    const name = start === MISSING ? '' : valueText(bytes, start, cursor.ends[1] as number);
    return { name: name === '' ? undefined : name, subscriptionId: cursor.text(0) };
  };
}

/** What people call them: the name in the event, or else the subscription's address, or its id. */
export function whoText(
  { name, subscriptionId }: Who,
  names: { labelOf(id: string): string | undefined } | undefined,
): string | undefined {
  if (name !== undefined || subscriptionId === undefined) return name;
  return names?.labelOf(subscriptionId) ?? subscriptionId;
}
