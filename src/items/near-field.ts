import { nearest } from '../settings/nearest-word.ts';
import { derivationFacts, FIELD_DERIVATIONS } from './derived-values.ts';
import { EACH, type FieldPath, fieldPath, type PathStep } from './field-path.ts';
import type { FieldReader } from './field-reader.ts';
import { type Items, isObject, type ListKind } from './items.ts';
import { withKnownFieldsAtTop } from './known-fields.ts';

const LISTED: Readonly<Record<ListKind, string>> = {
  events: 'event',
  'event-types': 'event type',
  subscriptions: 'subscription',
};

/** The first fields of a reader that no item has had yet, which may be misspelt. */
export class UnseenFields {
  readonly #fields: readonly FieldPath[];
  readonly #reader: Pick<FieldReader, 'has'>;
  readonly #unseen: Set<number>;
  #sample: Items | undefined;

  constructor(fields: readonly FieldPath[], reader: Pick<FieldReader, 'has'>) {
    this.#fields = fields;
    this.#reader = reader;
    this.#unseen = new Set(fields.keys());
  }

  get size(): number {
    return this.#unseen.size;
  }

  /** Keeps the first items, among whose fields the right one may be. */
  see(items: Items): void {
    if (items.count > 0) this.#sample ??= items;
  }

  /** Call for each item that the reader has read. */
  noteItem(): void {
    for (const field of this.#unseen) if (this.#reader.has(field)) this.#unseen.delete(field);
  }

  /** `no event has the field 'a'; did you mean b?`; empty without items. */
  doubts(list?: ListKind): string[] {
    const sample = this.#sample;
    if (!sample) return [];
    return [...this.#unseen].map((field) => noSuchField(this.#fields[field] as FieldPath, sample, list));
  }

  doubtOf(field: FieldPath): string | undefined {
    return this.#sample && noSuchField(field, this.#sample);
  }
}

/** Suggests the nearest field in the items. */
export function noSuchField(field: FieldPath, items: Items, list: ListKind = 'events'): string {
  const fields = fieldsOf(items);
  const { walk, text } = field;
  const base = walk?.derivation && fieldPath(walk.steps).text;
  const none = `no ${LISTED[list]} has`;
  if (walk?.derivation && base !== undefined && fields.includes(base))
    return `${none} ${derivationFacts(walk.derivation).source} in ${base}`;
  const missing = `${none} the field '${text}'`;
  const derivations = walk ? undefined : derivationsInstead(text, fields);
  if (derivations) return `${missing}; ${derivations}`;
  const near = nearestField(base ?? text, fields);
  if (near === undefined) return missing;
  return `${missing}; did you mean ${near}${walk?.derivation ? `:${walk.derivation}` : ''}?`;
}

function derivationsInstead(text: string, fields: readonly string[]): string | undefined {
  const colon = text.lastIndexOf(':');
  const [base, word] = [text.slice(0, colon), text.slice(colon + 1)];
  if (colon < 1) return undefined;
  if (base === 'item') return 'of an item there is item:size';
  if (!fields.includes(base)) return undefined;
  const near = nearest(word, FIELD_DERIVATIONS);
  const all = FIELD_DERIVATIONS.map((one) => `:${one}`);
  const known = `of a field there are ${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
  return near === undefined ? known : `${known}; did you mean ${base}:${near}?`;
}

function nearestField(text: string, fields: readonly string[]): string | undefined {
  const bare = bareName(text);
  const same = fields.find((field) => bareName(field) === bare);
  if (same !== undefined) return same;
  const fieldOf = new Map<string, string>();
  // `statuss` should match the last word of `publishStatus`.
  const namings = [(field: string) => [field], (field: string) => [lastName(field)], wordsOfName];
  for (const namesOf of namings)
    for (const field of fields)
      for (const name of namesOf(field))
        if (!fieldOf.has(name) && !isPosition(name)) fieldOf.set(name, field);
  const names = [...fieldOf.keys()];
  const near = nearest(text, names) ?? nearest(lastName(text), names);
  return near === undefined ? undefined : fieldOf.get(near);
}

/** Drops list elements as written in any language: `[]`, `.*`, `.0`. */
function bareName(text: string): string {
  return text.replace(/\[\]|\.(?:\*|\d+)(?=\.|$)/g, '').toLowerCase();
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).replace(/(?:\[\])+$/, '');
}

function wordsOfName(path: string): string[] {
  return lastName(path)
    .split(/(?=[A-Z])|[_-]/)
    .filter((word) => word.length > 3);
}

function isPosition(name: string): boolean {
  return /^\d+$/.test(name);
}

/** Maximum items searched for a suggestion. */
const SAMPLE_ITEMS = 500;
/** Maximum elements searched of a list. */
const SAMPLE_ELEMENTS = 20;
/** Maximum depth searched. */
const SAMPLE_DEPTH = 8;

/** Distinct paths of the items' fields, also in texts that are JSON, with `[]` for list elements. */
export function fieldsOf(items: Items): string[] {
  const found: string[] = [];
  const top: FoundPlace = { steps: [], inside: new Map() };
  for (const value of items.first(SAMPLE_ITEMS).values())
    addFields(isObject(value) ? withKnownFieldsAtTop(value) : value, top, found);
  return found;
}

/** A place in the items, kept because most items have the same places: the text of each is made once. */
interface FoundPlace {
  readonly steps: readonly PathStep[];
  readonly inside: Map<PathStep, FoundPlace>;
}

function addFields(value: unknown, place: FoundPlace, found: string[], isInText = false): void {
  const { steps, inside } = place;
  if (steps.length === SAMPLE_DEPTH) return;
  const addInside = (inner: unknown, step: PathStep) => {
    let next = inside.get(step);
    if (!next) {
      next = { steps: [...steps, step], inside: new Map() };
      inside.set(step, next);
      found.push(fieldPath(next.steps).text);
    }
    addFields(inner, next, found, isInText);
  };
  if (typeof value === 'string' && steps.length > 0 && !isInText)
    addFields(parsedText(value), place, found, true);
  else if (Array.isArray(value))
    for (const element of value.slice(0, SAMPLE_ELEMENTS)) addInside(element, EACH);
  else if (isObject(value)) for (const [name, member] of Object.entries(value)) addInside(member, name);
}

function parsedText(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
