import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader } from '../items/field-reader.ts';
import type { KeepItems } from '../items/item-filter.ts';
import type { Items } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { noSuchField } from '../items/near-field.ts';
import { wordMatcher } from '../items/whole-words.ts';
import { nearest } from '../settings/nearest-word.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { UTC } from '../time/time-zone.ts';

/** Most names kept for suggesting a similar one. */
const MAX_NAMES = 1000;

/**
 * Keeps the events for any of some names: whole words of the name field, ignoring case, or the id of their
 * subscription. If none match, its doubt suggests the nearest name.
 */
export function nameFilter(nameField: FieldPath, words: readonly string[]): KeepItems {
  const reader = new FieldReader([nameField, memberPath('subscriptionId')], UTC);
  const matchers = words.map(wordMatcher);
  const ids = new Set(words.map((word) => word.toLowerCase()));
  const names = new Set<string>();
  let sample: Items | undefined;
  let seen = 0;
  let isFound = false;
  let isPresent = false;
  const isMeant = (name: string) => {
    isPresent = true;
    if (names.size < MAX_NAMES) names.add(name);
    return matchers.some((matches) => matches(name));
  };
  const holds = () => {
    let isNamed = false;
    reader.each(0, (bytes, start, end) => {
      if (start !== MISSING && isMeant(valueText(bytes, start, end))) isNamed = true;
    });
    const id = reader.text(1);
    return isNamed || (id !== undefined && ids.has(id.toLowerCase()));
  };
  const keep = <Some extends Items>(items: Some): Some => {
    const { bytes, count } = items;
    if (count > 0) sample ??= items;
    const kept: number[] = [];
    for (let item = 0; item < count; item++) {
      reader.read(bytes, items.start(item));
      if (holds()) kept.push(item);
    }
    seen += count;
    if (kept.length > 0) isFound = true;
    return kept.length === count ? items : (items.pick(kept) as typeof items);
  };
  const doubts = () => {
    if (isFound || !sample) return [];
    const looked = `(${eventsText(seen)} looked at)`;
    if (!isPresent) return [`name-field: ${noSuchField(nameField, sample)} ${looked}`];
    const asked = words.join(', ');
    const near = nearName(asked, [...names]);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    const several = words.some((word) => word.includes(','))
      ? '; a comma belongs to the name: give --subscription again for each of several'
      : '';
    return [
      `--subscription: no event is for '${asked}', by its ${nameField.text}${meant}${several} ${looked}`,
    ];
  };
  return Object.assign(keep, { doubts });
}

/** Returns the name that contains a text, or else the nearest, by the whole name or one of its words. */
export function nearName(text: string, names: readonly string[]): string | undefined {
  const lower = text.toLowerCase();
  const holder = names.find((name) => name.toLowerCase().includes(lower));
  if (holder !== undefined) return holder;
  const nameOf = new Map(names.flatMap((name) => name.split(/\s+/).map((word) => [word, name])));
  for (const name of names) nameOf.set(name, name);
  const near = nearest(text, [...nameOf.keys()]);
  return near === undefined ? undefined : nameOf.get(near);
}
