import { ServiceError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { Items } from '../items/items.ts';
import type { Queries, Query } from '../paging/event-query.ts';
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
  /** Bounds that are used instead of those of the filters. */
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
  /** True if failed events are compared with delivered ones: an export of one status is doubted. */
  readonly comparesOutcomes?: boolean;
  /**
   * True if a script goes by what was found: that no event tells a status which was asked for is an error
   * then.
   */
  readonly mustTell?: boolean | undefined;
  /** Called with the number of events that were read. */
  readonly onRead?: (events: number) => void;
}

/**
 * Reads the events that the filters choose from an export, a file of NDJSON or of a JSON array (plain or
 * gzip), or standard input (`-`), in their order there. The searches of an export become one list, and each
 * of its files is held against the manifest, read or not. Throws `UsageError` if there is no such place, and
 * `ServiceError` that names the file, and the line where there is one, if something is damaged.
 */
export async function* storedEvents(
  place: string,
  filters: EventFilters,
  options: StoredOptions,
): AsyncGenerator<FoundPage> {
  const { limit = Number.POSITIVE_INFINITY, context, onDoubt, within, comparesOutcomes = false } = options;
  const queries = queriesOf(filters, context.clock.now(), within);
  const [{ after }] = queries;
  // Read once: each reading makes another filter, and only one that has seen the events has doubts.
  const keep = filters.createKeep();
  const choose = keep ?? ((items: Items) => items);
  const match = createMatcher(queries, filters.eventTypes);
  const { lists, checkRest } = await openPlace(place, { context, onDoubt, comparesOutcomes });

  const doubts = doubtersOf(filters, after, place);
  let found = 0;
  const keepMatching = (items: Items) => {
    options.onRead?.(items.count);
    for (const doubter of doubts.ofRead) doubter.see(items);
    const { kept: matching, undated } = match(items);
    const kept = choose(matching);
    if (undated) doubts.ofUndated?.see(choose(undated));
    doubts.ofKept?.see(kept);
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
  const { ofRead, ofUndated, ofKept, ofTypes } = doubts;
  // What was read up to a limit does not tell which types there are.
  const isWhole = found < limit;
  const said = [...ofRead, ofUndated, ofKept].filter((doubter) => isWhole || doubter !== ofTypes);
  for (const doubt of [...said, keep].flatMap((doubter) => doubter?.doubts() ?? [])) onDoubt?.(doubt);
}

/** The doubts about stored events, by the events that they are about. */
interface Doubters {
  /** Of all that are read, with those about outcomes and types among them. */
  readonly ofRead: readonly Doubter[];
  readonly ofOutcomes: Doubter | undefined;
  readonly ofTypes: Doubter | undefined;
  readonly ofUndated: Doubter | undefined;
  readonly ofKept: Doubter;
}

function doubtersOf(
  { statuses, eventTypes, after, before, zone }: EventFilters,
  start: Instant | undefined,
  place: string,
): Doubters {
  const ofOutcomes = statuses.length > 0 ? doubtOutcomes() : undefined;
  const ofCases = statuses.length > 0 ? doubtCaseOfStatus(statuses) : undefined;
  const ofAge = start ? doubtAge(start, zone) : undefined;
  const ofTypes = eventTypes.length > 0 ? doubtTypes(eventTypes, place) : undefined;
  return {
    ofRead: [ofOutcomes, ofCases, ofAge, ofTypes].filter((doubter) => doubter !== undefined),
    ofOutcomes,
    ofTypes,
    ofUndated: after || before ? doubtTimes() : undefined,
    ofKept: doubtRecords(),
  };
}

/** The searches of stored events, without types, which `createMatcher` takes as they were typed. */
function queriesOf(filters: EventFilters, now: number, within: StoredOptions['within']): Queries {
  const ofAnyType = filters.withTypes([], []);
  return within ? (ofAnyType.queriesWithin(within) as [Query]) : ofAnyType.queries(now);
}
