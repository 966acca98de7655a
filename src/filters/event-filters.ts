import { advise, hooktrail } from '../advice.ts';
import { UsageError } from '../errors.ts';
import { type FieldPath, isOfZone } from '../items/field-path.ts';
import type { Condition } from '../items/item-conditions.ts';
import { itemFilter, type KeepItems } from '../items/item-filter.ts';
import { type Items, isObject, notAGuid } from '../items/items.ts';
import { FILTER_FIELDS, type FilterField } from '../items/known-fields.ts';
import { marketplaceFilter } from '../names/marketplaces.ts';
import { nameFilter } from '../names/name-filter.ts';
import type { Queries, Query } from '../paging/event-query.ts';
import { compareInstants, type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { resolveTime, type Time } from '../time/resolve-time.ts';
import { timeAdvice } from '../time/time-advice.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { escapeCommas, filterKeys } from './filter-keys.ts';

export type PublishStatus = 'SUCCESS' | 'FAILED';

/** A time with the flag and the text that gave it. */
export interface GivenTime {
  readonly flag: string;
  readonly text: string;
  readonly time: Time;
}

/** The flags of whole days and months, which are two times in one. */
const PERIOD_FLAGS: ReadonlySet<string> = new Set(['--day', '--month']);

/** The service's clock is read from `Date`, which has no fraction. */
const CLOCK_GRAIN_MS = 1000;

/** Filters by the names of their flags, as they were typed. */
export type TypedFilters = Readonly<Record<string, string | readonly string[]>>;

/** True if filters that were read from a file have the form in which they are written. */
export function isTypedFilters(value: unknown): value is TypedFilters {
  const isText = (one: unknown) => typeof one === 'string';
  const isFilter = (one: unknown) => isText(one) || (Array.isArray(one) && one.every(isText));
  return isObject(value) && Object.values(value).every(isFilter);
}

/** The values of the service's keys. No value of a list occurs twice. */
export type FilterValues = Readonly<Partial<Record<FilterField, readonly string[]>>>;

/** The values of filters. An event matches any value of each list; an empty list is no filter. */
interface FilterParts {
  /** The zone that times are read and shown in. */
  readonly zone: TimeZone;
  /** True if the line names the zone: otherwise another command has it from the same settings. */
  readonly isZoneTyped: boolean;
  readonly after: GivenTime | undefined;
  readonly before: GivenTime | undefined;
  readonly values: FilterValues;
  /** Parts of callback addresses, which `resolveSubscriptions` makes ids of. Until then there is no query. */
  readonly subscriptionWords: readonly string[];
  /**
   * Of stored events: words of the field that names who an event is for, or ids of subscriptions; any of
   * them.
   */
  readonly nameWords: readonly string[];
  readonly nameField: FieldPath | undefined;
  /** The types as typed, if a pattern such as `order.*` stands for several of them. */
  readonly typePatterns: readonly string[] | undefined;
  /** Conditions that the service cannot filter by: they run here. */
  readonly conditions: readonly Condition[];
  readonly grepTexts: readonly string[];
  /** Ids of marketplaces, which the service cannot filter by. */
  readonly marketplaces: readonly string[];
  /**
   * The choice, be it `all`: another command takes the choice of the settings unasked.
   * Undefined if nobody chose any.
   */
  readonly marketplaceChoice: 'line' | 'settings' | undefined;
  /**
   * False if nothing follows from finding no event: a part of what was read already is read again.
   */
  readonly hasDoubts: boolean;
}

/** Chooses events. Spans ago become instants when the present time is known. */
export class EventFilters implements FilterParts {
  readonly zone: TimeZone = UTC;
  readonly isZoneTyped: boolean = false;
  readonly after: GivenTime | undefined = undefined;
  readonly before: GivenTime | undefined = undefined;
  readonly values: FilterValues = {};
  readonly subscriptionWords: readonly string[] = [];
  readonly nameWords: readonly string[] = [];
  readonly nameField: FieldPath | undefined = undefined;
  readonly typePatterns: readonly string[] | undefined = undefined;
  readonly conditions: readonly Condition[] = [];
  readonly grepTexts: readonly string[] = [];
  readonly marketplaces: readonly string[] = [];
  readonly marketplaceChoice: FilterParts['marketplaceChoice'] = undefined;
  readonly hasDoubts: boolean = true;

  constructor(parts: Partial<FilterParts> = {}) {
    Object.assign(this, parts);
  }

  get subscriptionIds(): readonly string[] {
    return this.values.subscriptionId ?? [];
  }

  get eventIds(): readonly string[] {
    return this.values.eventId ?? [];
  }

  get statuses(): readonly PublishStatus[] {
    return (this.values.publishStatus ?? []) as readonly PublishStatus[];
  }

  get eventTypes(): readonly string[] {
    return this.values.eventType ?? [];
  }

  /** True if the filters depend on the present time. */
  get isRelative(): boolean {
    return [this.after, this.before].some((given) => given && given.time.kind !== 'instant');
  }

  /** True if some of the filters run here, since the service cannot filter so. */
  get runHere(): boolean {
    const { conditions, grepTexts, nameWords, nameField, marketplaces } = this;
    const isByName = nameField !== undefined && nameWords.length > 0;
    return isByName || conditions.length + grepTexts.length + marketplaces.length > 0;
  }

  /**
   * Makes a function that applies the filters which run here, and remembers what it has seen; undefined if
   * there are none.
   */
  createKeep(): KeepItems | undefined {
    const keep = this.#createDoubtingKeep();
    if (!keep || this.hasDoubts) return keep;
    const keepSurely = <Some extends Items>(items: Some): Some => keep(items);
    return Object.assign(keepSurely, { doubts: () => [] });
  }

  #createDoubtingKeep(): KeepItems | undefined {
    const { conditions, grepTexts, nameWords, nameField, marketplaces } = this;
    const filters = [
      marketplaces.length > 0 ? marketplaceFilter(marketplaces) : undefined,
      nameField && nameWords.length > 0 ? nameFilter(nameField, nameWords) : undefined,
      conditions.length + grepTexts.length > 0 ? itemFilter(conditions, grepTexts, this.zone) : undefined,
    ].filter((filter) => filter !== undefined);
    return filters.reduce<KeepItems | undefined>(both, undefined);
  }

  /** The fields of events that these filters allow one value. */
  get constantFields(): ReadonlySet<string> {
    const [first, ...others] = this.withoutTimes().queries(0);
    const fields = Object.keys(first) as (keyof Query)[];
    const isConstant = (field: keyof Query) =>
      first[field] !== undefined && others.every((query) => query[field] === first[field]);
    return new Set(fields.filter(isConstant));
  }

  /** The same filters with other values of a key. An empty list means any. */
  withValues(field: FilterField, values: readonly string[]): EventFilters {
    return new EventFilters({ ...this, values: { ...this.values, [field]: values } });
  }

  /** The same filters with other statuses. An empty list means both. */
  withStatuses(...statuses: PublishStatus[]): EventFilters {
    return this.withValues('publishStatus', statuses);
  }

  /** The same filters for these types on offer, which `patterns` stand for. */
  withTypes(eventTypes: readonly string[], patterns: readonly string[]): EventFilters {
    return new EventFilters({ ...this.withValues('eventType', eventTypes), typePatterns: patterns });
  }

  /** The same filters for these subscriptions, and for no parts of addresses. */
  withSubscriptions(subscriptionIds: readonly string[]): EventFilters {
    const chosen = this.withValues('subscriptionId', distinctIds(subscriptionIds));
    return new EventFilters({ ...chosen, subscriptionWords: [] });
  }

  withoutTimes(): EventFilters {
    return new EventFilters({ ...this, after: undefined, before: undefined });
  }

  /**
   * The searches to make when it is `now` (milliseconds since the epoch), one for each combination of values.
   * Throws `UsageError` that names the flag.
   */
  queries(now: number): Queries {
    const [word] = this.subscriptionWords;
    if (word !== undefined)
      throw new UsageError(`--subscription: ${notAGuid(word)}`, {
        next: advise`${hooktrail('subscriptions')} lists the subscriptions with their ids`,
      });
    const after = this.after && instantOf(this.after, now);
    const before = this.before && instantOf(this.before, now);
    if (after && before && compareInstants(after, before) >= 0) {
      const [from, to] = [this.after, this.before].map((given) => `${given?.flag} ${given?.text}`);
      // A date is its first moment, so that this is how people write a day.
      const day = compareInstants(after, before) === 0 && /^\d{4}-\d\d-\d\d$/.exec(this.before?.text ?? '');
      const following = day && new Date(Date.parse(day[0]) + 86_400_000).toISOString().slice(0, 10);
      const next = following ? `for the whole day: ${this.before?.flag} ${following}` : undefined;
      throw new UsageError(`${from} and ${to} leave no time between them: nothing can match`, { next });
    }
    let queries: Query[] = [{ after, before }];
    for (const field of FILTER_FIELDS) {
      const values = this.values[field] ?? [];
      if (values.length === 0) continue;
      queries = queries.flatMap((query) => values.map((value) => ({ ...query, [field]: value })));
    }
    return queries as [Query];
  }

  /** The searches of these filters within other bounds than their own. */
  queriesWithin({ after, before }: Pick<Query, 'after' | 'before'>): Query[] {
    return this.withoutTimes()
      .queries(0)
      .map((query) => ({ ...query, after, before }));
  }

  /** True if the filters begin later than `now`, a time of a clock that may be wrong. */
  seemsToBeginLater(now: number): boolean {
    const after = this.after && resolveTime(this.after.time, now);
    return after !== undefined && milliseconds(after) > now + CLOCK_GRAIN_MS;
  }

  /** Throws `UsageError` if the filters begin later than `now`: nothing can match yet. */
  requirePastStart(now: number, clock = "the service's"): void {
    const { after, zone } = this;
    if (!after || !this.seemsToBeginLater(now)) return;
    const [start, present] = [instantOf(after, now), knownInstant(Math.floor(now / 1000) * 1000)];
    throw new UsageError(
      `${after.flag}: ${zone.shown(start.text)} is in the future: ${clock} time is ${zone.shown(present.text)}`,
      {
        next:
          after.time.kind === 'day' && after.time.daysAgo === 0
            ? `for the day before, write ${after.flag} 'yesterday ${after.text.replace(/^(today|at) ?/i, '')}'`
            : `give a time in the past, such as ${this.#period ? '--day yesterday' : `${after.flag} 2h`}`,
      },
    );
  }

  /**
   * The filters as typed, synonyms made one and the order of values forgotten. A time of another zone than
   * UTC is given in UTC, so that it means the same anywhere; where others depend on the zone, such as
   * `today`, the zone is named.
   */
  typed(): TypedFilters {
    const lists = {
      ...Object.fromEntries(filterKeys.map(({ field, flag }) => [flag, this.#typedValues(field)])),
      where: this.conditions.map(({ text }) => text),
      grep: this.grepTexts,
      marketplace: this.marketplaces.length > 0 ? [this.marketplaces.join(',')] : [],
    };
    return {
      ...(this.after ? { after: this.#timeText(this.after) } : {}),
      ...(this.before ? { before: this.#timeText(this.before) } : {}),
      ...Object.fromEntries(
        Object.entries(lists).flatMap(([name, values]) =>
          values.length > 0 ? [[name, [...values].sort()]] : [],
        ),
      ),
      ...(this.#dependsOnZone ? { timezone: this.zone.name } : {}),
    };
  }

  #typedValues(field: FilterField): readonly string[] {
    const values = this.values[field] ?? [];
    if (field === 'subscriptionId') return [...values, ...this.subscriptionWords, ...this.nameWords];
    return field === 'eventType' ? (this.typePatterns ?? values) : values;
  }

  get #dependsOnZone(): boolean {
    if (this.zone.isUtc) return false;
    const isTimeOfZone = (given: GivenTime | undefined) =>
      given !== undefined && given.time.kind !== 'instant' && given.time.kind !== 'ago';
    const dependsOnZone = ({ field, instant, alternatives = [] }: Condition): boolean =>
      instant !== undefined || isOfZone(field) || alternatives.some(dependsOnZone);
    return [this.after, this.before].some(isTimeOfZone) || this.conditions.some(dependsOnZone);
  }

  #timeText({ flag, text, time }: GivenTime): string {
    const isExact = time.kind === 'instant' && (!this.zone.isUtc || PERIOD_FLAGS.has(flag));
    return isExact ? time.instant.text : text;
  }

  /** Each filter as a flag and its value, for people. */
  texts(): string[] {
    return flagsOf(this.#shown()).map(([name, value]) => `--${name} ${value}`);
  }

  /** The flag of a whole day or month, if that is the time of the filters. */
  get #period(): GivenTime | undefined {
    const { after, before } = this;
    const isPeriod = after !== undefined && PERIOD_FLAGS.has(after.flag) && after.flag === before?.flag;
    return isPeriod ? after : undefined;
  }

  /** The filters as typed, with a whole day or month as that. */
  #shown(): TypedFilters {
    const { after: _, before: __, ...others } = this.typed();
    const period = this.#period;
    return period ? { [period.flag.slice(2)]: period.text, ...others } : this.typed();
  }

  /** Words of a line that give the same filters, and a typed zone, to another command, but the ones named. */
  words(...without: string[]): string[] {
    const { timezone: _, ...filters } = without.some((name) => name === 'since' || name === 'until')
      ? this.typed()
      : this.#shown();
    const zone = this.isZoneTyped ? { timezone: this.zone.name } : {};
    const isOfAll = this.marketplaceChoice === 'line' && this.marketplaces.length === 0;
    const all = isOfAll ? { marketplace: ['all'] } : {};
    const left = this.marketplaceChoice === 'line' ? without : [...without, 'marketplace'];
    return flagsOf({ ...filters, ...all, ...zone }).flatMap(([name, value]) => {
      if (left.includes(name)) return [];
      return [`--${name}`, takesText(name) ? escapeCommas(value) : value];
    });
  }
}

/** True for the flag of a key whose values may hold a comma. */
function takesText(name: string): boolean {
  return filterKeys.some(({ flag, kind }) => flag === name && kind === 'text');
}

/** Keeps what both keep. */
function both(one: KeepItems | undefined, other: KeepItems): KeepItems {
  if (!one) return other;
  const keep = <Some extends Items>(items: Some): Some => other(one(items));
  return Object.assign(keep, { doubts: () => [...one.doubts(), ...other.doubts()] });
}

/**
 * Returns a function that tells whether a `--type` stands for a name: in any case, with `*` for any text. Its
 * time grows with the length of the name, however many stars there are.
 */
export function typeMatcher(type: string): (name: string) => boolean {
  const [first = '', ...others] = type.toUpperCase().split('*');
  const last = others.pop();
  if (last === undefined) return (name) => name.toUpperCase() === first;
  return (name) => {
    const text = name.toUpperCase();
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of others) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}

/** The flag of a filter as it is shown: --after and --before are also taken. */
export const SHOWN_NAMES: Readonly<Record<string, string>> = { after: 'since', before: 'until' };

function flagsOf(filters: TypedFilters): [name: string, value: string][] {
  return Object.entries(filters).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [SHOWN_NAMES[name] ?? name, one as string]),
  );
}

function instantOf({ flag, text, time }: GivenTime, now: number): Instant {
  const instant = resolveTime(time, now);
  if (!instant) throw notATime(flag, text);
  return instant;
}

export function notATime(flag: string, text: string): UsageError {
  return new UsageError(`${flag}: invalid value '${text}': must be a time`, { next: timeAdvice(text) });
}

/** Ids without those that occur twice, ignoring case: two searches for one would find everything twice. */
export function distinctIds(ids: readonly string[]): string[] {
  return [...new Map(ids.toReversed().map((id) => [id.toLowerCase(), id])).values()].reverse();
}
