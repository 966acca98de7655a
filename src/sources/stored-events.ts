import { ServiceError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { Items } from '../items/items.ts';
import type { Query } from '../paging/event-query.ts';
import { mergePages } from '../paging/merge-pages.ts';
import { type FoundPage, keepPages } from '../paging/page.ts';
import type { Instant } from '../time/instant.ts';
import {
  type Doubter,
  doubtAge,
  doubtCaseOfStatus,
  doubtOutcomes,
  doubtRecords,
  doubtTimes,
  doubtTypes,
  OUTCOMES_UNKNOWN,
} from './stored-doubts.ts';
import { createMatcher } from './stored-matches.ts';
import { openPlace, type PlaceOptions } from './stored-place.ts';

export interface StoredOptions extends Pick<PlaceOptions, 'onDoubt'> {
  readonly limit?: number | undefined;
  readonly context: PlaceOptions['context'];
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
  readonly comparesOutcomes?: boolean;
  /** True if a script relies on the result: a status filter on events without outcomes is then an error. */
  readonly mustTell?: boolean | undefined;
  readonly onRead?: (events: number) => void;
}

/**
 * Reads an export, a file of NDJSON or JSON arrays (plain or gzip), or standard input (`-`), in stored order.
 * Queries of an export are merged, and all its files are verified, read or not. Throws `UsageError` for a
 * missing place, and `ServiceError` that names the file, and the line if known, for damage.
 */
export async function* storedEvents(
  place: string,
  filters: EventFilters,
  options: StoredOptions,
): AsyncGenerator<FoundPage> {
  const { limit = Number.POSITIVE_INFINITY, context, onDoubt, within, comparesOutcomes = false } = options;
  const queries = within ? filters.queriesWithin(within) : filters.queries(context.clock.now());
  const [{ after }] = queries;
  const keep = filters.createKeep();
  const choose = keep ?? ((items: Items) => items);
  const match = createMatcher(queries, filters.eventTypes);
  const { lists, isExport, checkRest } = await openPlace(place, { context, onDoubt, comparesOutcomes });

  const doubts = doubtersOf(filters, after, place);
  const ofRecords = isExport ? undefined : doubtRecords();
  let found = 0;
  const keepMatching = (items: Items) => {
    options.onRead?.(items.count);
    for (const doubter of doubts.ofRead) doubter.see(items);
    const { kept: matching, undated } = match(items);
    const kept = choose(matching);
    if (undated) doubts.ofUndated.see(choose(undated));
    ofRecords?.see(kept);
    found += kept.count;
    return kept;
  };
  const [only, another] = lists;
  const pages = only && !another ? only : mergePages(lists, () => 1, context.signal, onDoubt);
  yield* keepPages(pages, keepMatching, limit);
  // The limit may have ended the loop.
  await checkRest?.();

  if (options.mustTell && doubts.ofOutcomes && doubts.ofOutcomes.doubts().length > 0)
    throw new ServiceError(OUTCOMES_UNKNOWN);
  const { ofRead, ofUndated, ofTypes } = doubts;
  // A limited read has not seen all types.
  const isWhole = found < limit;
  const said = [...ofRead, ofUndated, ofRecords].filter((doubter) => isWhole || doubter !== ofTypes);
  for (const doubt of said.flatMap((doubter) => doubter?.doubts() ?? [])) onDoubt?.(doubt);
  for (const doubt of keep?.doubts() ?? []) onDoubt?.(doubt, 'usage');
}

interface Doubters {
  readonly ofRead: readonly Doubter[];
  readonly ofOutcomes: Doubter | undefined;
  readonly ofTypes: Doubter;
  readonly ofUndated: Doubter;
}

function doubtersOf(
  { statuses, eventTypes, zone }: EventFilters,
  start: Instant | undefined,
  place: string,
): Doubters {
  const ofOutcomes = statuses.length > 0 ? doubtOutcomes() : undefined;
  const ofAge = start && doubtAge(start, zone);
  const ofTypes = doubtTypes(eventTypes, place);
  const ofRead = [ofOutcomes, doubtCaseOfStatus(statuses), ofAge, ofTypes];
  return {
    ofRead: ofRead.filter((doubter) => doubter !== undefined),
    ofOutcomes,
    ofTypes,
    ofUndated: doubtTimes(),
  };
}
