import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import { withoutGuidCase } from '../items/guids.ts';
import { valueText } from '../items/json-scanner.ts';
import { UTC } from '../time/time-zone.ts';

export interface Who {
  /** Values of the name field: a list has one for each recipient. */
  readonly names: readonly string[];
  readonly subscriptionId: string | undefined;
}

export function createWhoReader(nameField: FieldPath | undefined): (bytes: Buffer, at: number) => Who {
  const reader = new FieldReader([memberPath('subscriptionId'), ...(nameField ? [nameField] : [])], UTC);
  return (bytes, at) => {
    reader.read(bytes, at);
    const id = reader.text(0);
    const subscriptionId = id === undefined ? undefined : withoutGuidCase(id);
    return { names: nameField ? textsOf(reader, 1) : [], subscriptionId };
  };
}

function textsOf(reader: FieldReader, field: number): string[] {
  const found: string[] = [];
  reader.each(field, (bytes, start, end) => {
    const text = start === MISSING ? '' : valueText(bytes, start, end);
    if (text !== '') found.push(text);
  });
  return found;
}

export function namesText({ names }: Who): string | undefined {
  return names.length === 0 ? undefined : names.join(', ');
}
