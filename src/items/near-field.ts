import { nearest } from '../settings/nearest-word.ts';
import { type FieldPath, fieldPath } from './field-path.ts';
import { type Items, isObject, type ListKind } from './items.ts';
import { withKnownFieldsAtTop } from './known-fields.ts';

/** The message that no item has a field, with the one of some items that was probably meant. */
export function noSuchField(field: FieldPath, items: Items, list: ListKind = 'events'): string {
  const near = nearestField(field, items);
  const what = { events: 'event', 'event-types': 'event type', subscriptions: 'subscription' }[list];
  const place = near && /\.0(\.|$)/.test(near) ? ' (only the first of each list)' : '';
  return `no ${what} has the field '${field.text}'${near ? `; did you mean ${near}?${place}` : ''}`;
}

/** A place in a list is no name that somebody could have misspelt. */
const isPosition = (name: string) => /^\d+$/.test(name);

function nearestField({ text }: FieldPath, items: Items): string | undefined {
  const lastOf = (path: string) => path.slice(path.lastIndexOf('.') + 1);
  const fields = new Map<string, string>();
  // `statuss` is near the last word of `publishStatus`.
  const wordsOf = (name: string) => name.split(/(?=[A-Z])|[_-]/).filter((word) => word.length > 3);
  for (const namesOf of [(field: string) => [field], lastOf, (field: string) => wordsOf(lastOf(field))])
    for (const field of fieldsOf(items))
      for (const name of [namesOf(field)].flat())
        if (!fields.has(name) && !isPosition(name)) fields.set(name, field);
  const names = [...fields.keys()];
  const near = nearest(text, names) ?? nearest(lastOf(text), names);
  return near && fields.get(near);
}

/** Items whose fields are looked through for a suggestion. */
const SAMPLE_ITEMS = 500;
/** Objects and lists inside each other that are looked into for it. */
const SAMPLE_DEPTH = 8;

/** The paths of the fields that some items have, each once. */
export function fieldsOf(items: Items): string[] {
  const found = new Set<string>();
  const walk = (value: unknown, steps: readonly string[]): void => {
    if (value === null || typeof value !== 'object' || steps.length === SAMPLE_DEPTH) return;
    for (const [name, member] of Object.entries(value)) {
      const path = [...steps, name];
      found.add(fieldPath(path).text);
      walk(member, path);
      if (Array.isArray(value)) return;
    }
  };
  for (const value of items.first(SAMPLE_ITEMS).values())
    walk(isObject(value) ? withKnownFieldsAtTop(value) : value, []);
  return [...found];
}
