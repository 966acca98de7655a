import { typeMatcher } from '../filters/event-filters.ts';
import { memberPath } from '../items/field-path.ts';
import { FILTER_FIELDS, type FilterField, ignoresCase } from '../items/filter-keys.ts';
import { comparedId } from '../items/guids.ts';
import type { Items } from '../items/items.ts';
import { createCursor, type KnownField } from '../items/known-fields.ts';
import type { Query } from '../paging/event-query.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';

export type StoredQuery = Omit<Query, 'publishStatus'> & { readonly publishStatus?: string | undefined };

export interface Matching<Some extends Items = Items> {
  readonly kept: Some;
  readonly undated: Some | undefined;
}

type KeyField = Exclude<FilterField, 'eventType'>;
const KEY_FIELDS = FILTER_FIELDS.filter((field) => field !== 'eventType');

type ReadText = (field: KnownField) => string | undefined;

/**
 * Matches items as the event service does (service description, part 4). All queries have the same bounds.
 * Types match in any case, with `*` for any text.
 */
export function createMatcher(
  queries: readonly StoredQuery[],
  types: readonly string[],
): <Some extends Items>(items: Some) => Matching<Some> {
  const [{ after, before } = {} as StoredQuery] = queries;
  const keyFields = KEY_FIELDS.filter((field) => queries.some((query) => query[field] !== undefined));
  const fields: readonly KnownField[] = [
    ...keyFields,
    ...(types.length > 0 ? (['eventType'] as const) : []),
    ...(after || before ? (['createdOn'] as const) : []),
  ];
  if (fields.length === 0) return (items) => ({ kept: items, undated: undefined });

  const cursor = createCursor(fields.map(memberPath));
  const paths = new Map(fields.map((field, path) => [field, path]));
  const read: ReadText = (field) => cursor.text(paths.get(field) as number);
  const hasKey = keyTest(read, keyFields, queries);
  const isOfType = typeTest(read, types);
  const placeInTime = timeTest(read, after, before);
  const candidatesIn = statusPrefilter(queries);
  const matchOf = (bytes: Buffer, at: number) => {
    cursor.read(bytes, at);
    return hasKey() && isOfType() ? placeInTime() : undefined;
  };

  return (items) => {
    const kept: number[] = [];
    const undated: number[] = [];
    const isCandidate = candidatesIn(items);
    for (let item = 0; item < items.count; item++) {
      if (!isCandidate(item)) continue;
      const match = matchOf(items.bytes, items.start(item));
      if (match === 'inside') kept.push(item);
      else if (match === 'undated') undated.push(item);
    }
    return {
      kept: kept.length === items.count ? items : items.pick(kept),
      undated: undated.length > 0 ? items.pick(undated) : undefined,
    };
  };
}

function keyTest(read: ReadText, fields: readonly KeyField[], queries: readonly StoredQuery[]) {
  const keyOf = (textOf: (field: KeyField) => string | undefined) =>
    fields.map((field) => comparedText(field, textOf(field) ?? '')).join('\n');
  const accepted = new Set(queries.map((query) => keyOf((field) => query[field])));
  return () => accepted.has(keyOf(read));
}

function typeTest(read: ReadText, types: readonly string[]): () => boolean {
  if (types.length === 0) return () => true;
  const patterns = types.map(typeMatcher);
  return () => {
    const type = read('eventType');
    return type !== undefined && patterns.some((isOfPattern) => isOfPattern(type));
  };
}

function timeTest(read: ReadText, after: Instant | undefined, before: Instant | undefined) {
  if (after === undefined && before === undefined) return () => 'inside' as const;
  const isWithin = (createdOn: Instant) =>
    (after === undefined || compareInstants(createdOn, after) > 0) &&
    (before === undefined || compareInstants(createdOn, before) < 0);
  return () => {
    const createdOn = parseInstant(read('createdOn') ?? '');
    if (createdOn === undefined) return 'undated' as const;
    return isWithin(createdOn) ? ('inside' as const) : undefined;
  };
}

function comparedText(field: KeyField, text: string): string {
  return ignoresCase(field) ? comparedId(text) : text;
}

const knownOutcomeMatcher = createMatcher([{ publishStatus: 'FAILED' }, { publishStatus: 'SUCCESS' }], []);

/** Keeps the items with a known outcome (service description, part 3). */
export function keepKnownOutcomes<Some extends Items>(items: Some): Some {
  return knownOutcomeMatcher(items).kept;
}

/** JSON has no other escape for letters (RFC 8259, section 7). */
const ESCAPE_OF_LETTERS = String.raw`\u`;

/** Preselects items by bytes: they contain the status, or an escape that may be a letter of it. */
function statusPrefilter(queries: readonly StoredQuery[]): (items: Items) => (item: number) => boolean {
  const status = queries[0]?.publishStatus;
  const isOneStatus = queries.every(({ publishStatus }) => publishStatus === status);
  if (status === undefined || !isOneStatus) return () => () => true;
  return (items) => {
    const hasStatus = itemsWith(status, items);
    const hasEscape = itemsWith(ESCAPE_OF_LETTERS, items);
    return (item) => hasStatus(item) || hasEscape(item);
  };
}

/** Ask about the items in ascending order. */
function itemsWith(text: string, items: Items): (item: number) => boolean {
  const placeFrom = (start: number) => {
    const place = items.bytes.indexOf(text, start);
    return place === -1 ? Number.POSITIVE_INFINITY : place;
  };
  let next = placeFrom(0);
  return (item) => {
    if (next < items.start(item)) next = placeFrom(items.start(item));
    return next < items.end(item);
  };
}
