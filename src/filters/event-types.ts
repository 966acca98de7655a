import { type Advice, adviceText, advise, hooktrail, hooktrailOver } from '../advice.ts';
import type { Context } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { KeptList } from '../files/kept-list.ts';
import type { Service } from '../http/service.ts';
import { createRowReader, listColumns } from '../items/item-columns.ts';
import { type Items, isObject } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { endpoint } from '../paging/event-query.ts';
import { type PageAnswer, pageClient } from '../paging/page.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import type { RunSettings } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type EventFilters, typeMatcher } from './event-filters.ts';

export async function askEventTypes(service: Service): Promise<PageAnswer> {
  const { baseUrl, fetchPage } = pageClient(service, undefined, {
    failure: 'the event types cannot be listed',
  });
  return fetchPage(endpoint(baseUrl, 'event-types'));
}

/**
 * Names for `eq(eventType,…)`. The service description (part 2) does not define which member holds the name,
 * so the first column of `event-types` is used.
 */
export function eventTypeNames(items: Items): string[] {
  const names = listColumns([items], 'event-types').slice(0, 1);
  const rows = createRowReader(names, valueText, '')(items);
  return [...new Set(rows.flatMap(([text = '']) => (text === '' ? [] : [text])))];
}

/**
 * Suggests the nearest listed type. Several types are checked before the search, since the others hide that
 * one finds nothing; a single one after a search without results. Returns true if it warned.
 */
export function warnOfUnlisted(
  { eventTypes, typePatterns = eventTypes }: EventFilters,
  items: Items,
  reporter: Warning,
  time: 'before' | 'after',
): boolean {
  if (typePatterns.length > 1 !== (time === 'before')) return false;
  const listed = eventTypeNames(items);
  const unlisted = eventTypes.filter((one) => !listed.includes(one));
  for (const type of unlisted) reporter.warning(unlistedAdvice(type, listed), { kind: 'usage' });
  return unlisted.length > 0;
}

function unlistedAdvice(type: string, listed: readonly string[]): Advice {
  const { next = '' } = nearestType(type, listed);
  return advise`'${type}' is not among the event types on offer; ${next}`;
}

/** For stored events, to which no profile applies. */
export function unlistedText(type: string, listed: readonly string[], from: string): string {
  const there = from === '-' ? 'standard input' : from;
  const { next = '' } = nearestType(type, listed, from);
  return `'${type}' is not among the event types of ${there}; ${adviceText(next, {})}`;
}

function nearestType(type: string, listed: readonly string[], from?: string) {
  const names = [...(type.includes('*') ? [] : listed), ...listed.map((name) => name.replace(/\..*/s, '.*'))];
  const list = hooktrailOver(from, from === undefined ? 'event-types' : 'events stats --by eventType');
  return didYouMean(type, names, advise`${list} lists them`);
}

type Warning = Pick<Reporter, 'warning'>;

/** Requests the types after a search without results, unless that fails. Returns true if it warned. */
export async function warnOfTypes(
  filters: EventFilters,
  service: Service,
  reporter: Warning,
): Promise<boolean> {
  if (filters.eventTypes.length === 0) return false;
  try {
    const { page } = await askEventTypes(service);
    return warnOfUnlisted(filters, page.items, reporter, 'after');
  } catch {
    service.signal.throwIfAborted();
    return false;
  }
}

/**
 * Replaces each `--type` by the service's spelling, and `order.*` by all matching types. Requests the types
 * only if a name is not among the saved ones. Unknown names stay as typed, with a warning if other types
 * could hide that they find nothing. Throws `UsageError` for a pattern without matches.
 */
export async function resolveTypes(
  filters: EventFilters,
  service: Service,
  reporter: Warning,
): Promise<EventFilters> {
  const { eventTypes } = filters;
  if (eventTypes.length === 0) return filters;
  const kept = namesIn(service.keptList('event-types'));
  const isKept = (type: string) => kept.some((name) => name.toLowerCase() === type.toLowerCase());
  if (eventTypes.every(isKept)) return spelledAs(filters, kept);
  const hasPattern = eventTypes.some((type) => type.includes('*'));
  try {
    const { items } = (await askEventTypes(service)).page;
    await keepEventTypes(items, service);
    return resolveListed(filters, items, reporter);
  } catch (error) {
    if (hasPattern || service.signal.aborted || !(error instanceof ServiceError)) throw error;
    return filters;
  }
}

export function resolveListed(filters: EventFilters, items: Items, reporter: Warning): EventFilters {
  const resolved = spelledAs(filters, eventTypeNames(items));
  warnOfUnlisted(resolved, items, reporter, 'before');
  return resolved;
}

export function resolveKeptTypes(
  filters: EventFilters,
  settings: RunSettings,
  context: Surroundings,
): EventFilters {
  if (filters.eventTypes.length === 0) return filters;
  const kept = keptEventTypes(settings, context);
  if (kept.length > 0) return spelledAs(filters, kept);
  const pattern = filters.eventTypes.find((type) => type.includes('*'));
  if (pattern === undefined) return filters;
  throw new UsageError(`--type: the types that '${pattern}' stands for are unknown here`, {
    next: advise`run ${hooktrail('event-types')} once: it remembers them`,
  });
}

function spelledAs(filters: EventFilters, listed: readonly string[]): EventFilters {
  const patterns: string[] = [];
  const types = filters.eventTypes.flatMap((type) => {
    if (listed.includes(type)) {
      patterns.push(type);
      return [type];
    }
    const matching = listed.filter(typeMatcher(type));
    if (type.includes('*')) {
      patterns.push(type);
      if (matching.length > 0) return matching;
      throw new UsageError(`--type: no event type on offer matches '${type}'`, nearestType(type, listed));
    }
    const names = matching.length > 0 ? matching : [type];
    patterns.push(...names);
    return names;
  });
  return filters.withTypes([...new Set(types)], [...new Set(patterns)]);
}

type Surroundings = Pick<Context, 'environment' | 'machine'>;

export async function keepEventTypes(items: Items, { keptList }: Pick<Service, 'keptList'>): Promise<void> {
  const names = eventTypeNames(items);
  const kept = keptList('event-types');
  if (JSON.stringify(names) !== JSON.stringify(namesIn(kept))) await kept.replace({ names });
}

/** Empty if the service never listed any. */
export function keptEventTypes(settings: RunSettings, context: Surroundings): readonly string[] {
  const { profile, baseUrl } = settings.checked();
  return baseUrl ? namesIn(new KeptList('event-types', { profile, baseUrl }, context)) : [];
}

function namesIn(kept: KeptList): readonly string[] {
  const list = kept.read();
  const names = isObject(list) ? list['names'] : undefined;
  return Array.isArray(names) ? names.map(String) : [];
}
