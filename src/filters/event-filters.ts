import { advise, hooktrail } from '../advice.ts';
import { UsageError } from '../errors.ts';
import { type FieldPath, isOfZone } from '../items/field-path.ts';
import { FILTER_FIELDS, type FilterField, filterKeys } from '../items/filter-keys.ts';
import { notAGuid } from '../items/guids.ts';
import type { Condition } from '../items/item-conditions.ts';
import { itemFilter, type KeepItems } from '../items/item-filter.ts';
import { type Items, isObject } from '../items/items.ts';
import { marketplaceFilter } from '../names/marketplaces.ts';
import { nameFilter } from '../names/name-filter.ts';
import type { Queries, Query } from '../paging/event-query.ts';
import { compareInstants, type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { dateAfter } from '../time/period.ts';
import { resolveTime, type Time } from '../time/resolve-time.ts';
import { notATime } from '../time/time-advice.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';

export type PublishStatus = 'SUCCESS' | 'FAILED';

export interface GivenTime {
  readonly flag: string;
  readonly text: string;
  readonly time: Time;
}

/** Flags that set both bounds. */
const PERIOD_FLAGS: ReadonlySet<string> = new Set(['--day', '--month']);

/** `Date` headers, which give the service's time, have no fraction. */
const CLOCK_GRAIN_MS = 1000;

export type TypedFilters = Readonly<Record<string, string | readonly string[]>>;

export function isTypedFilters(value: unknown): value is TypedFilters {
  const isText = (one: unknown) => typeof one === 'string';
  const isFilter = (one: unknown) => isText(one) || (Array.isArray(one) && one.every(isText));
  return isObject(value) && Object.values(value).every(isFilter);
}

export type FilterValues = Readonly<Partial<Record<FilterField, readonly string[]>>>;

/** An event matches any value of a list; an empty list does not filter. */
interface FilterParts {
  readonly zone: TimeZone;
  /** True if the zone is on the command line: other commands get it from the same settings otherwise. */
  readonly isZoneTyped: boolean;
  readonly after: GivenTime | undefined;
  readonly before: GivenTime | undefined;
  readonly values: FilterValues;
  /** Parts of callback addresses, which `resolveSubscriptions` turns into ids before any query. */
  readonly subscriptionWords: readonly string[];
  /** For stored events: words in the name field or subscription ids, any of which matches. */
  readonly nameWords: readonly string[];
  readonly nameField: FieldPath | undefined;
  /** The types as typed, if some are patterns such as `order.*`. */
  readonly typePatterns: readonly string[] | undefined;
  readonly conditions: readonly Condition[];
  readonly grepTexts: readonly string[];
  readonly marketplaces: readonly string[];
  /** Undefined if nobody chose any. Other commands repeat a choice made on the line, even `all`. */
  readonly marketplaceChoice: 'line' | 'settings' | undefined;
  /** False if finding no event proves nothing, as when re-reading part of the events. */
  readonly hasDoubts: boolean;
}

/** Relative times are resolved only by `queries`. */
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

  /** Undefined unless the filters choose a single status. */
  get onlyStatus(): PublishStatus | undefined {
    const [status, other] = this.statuses;
    return other === undefined ? status : undefined;
  }

  get eventTypes(): readonly string[] {
    return this.values.eventType ?? [];
  }

  get isRelative(): boolean {
    return [this.after, this.before].some((given) => given && given.time.kind !== 'instant');
  }

  /** True if the service cannot apply all of the filters. */
  get runHere(): boolean {
    const { conditions, grepTexts, nameWords, nameField, marketplaces } = this;
    const isByName = nameField !== undefined && nameWords.length > 0;
    return isByName || conditions.length + grepTexts.length + marketplaces.length > 0;
  }

  /** For filters that the service cannot apply; undefined without any. Remembers items for doubts. */
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

  /** Fields for which the filters allow a single value. */
  get constantFields(): ReadonlySet<string> {
    const [first, ...others] = this.withoutTimes().queries(0);
    const fields = Object.keys(first) as (keyof Query)[];
    const isConstant = (field: keyof Query) =>
      first[field] !== undefined && others.every((query) => query[field] === first[field]);
    return new Set(fields.filter(isConstant));
  }

  withValues(field: FilterField, values: readonly string[]): EventFilters {
    return new EventFilters({ ...this, values: { ...this.values, [field]: values } });
  }

  withStatuses(...statuses: PublishStatus[]): EventFilters {
    return this.withValues('publishStatus', statuses);
  }

  withTypes(eventTypes: readonly string[], patterns: readonly string[]): EventFilters {
    return new EventFilters({ ...this.withValues('eventType', eventTypes), typePatterns: patterns });
  }

  withSubscriptions(subscriptionIds: readonly string[]): EventFilters {
    const chosen = this.withValues('subscriptionId', distinctIds(subscriptionIds));
    return new EventFilters({ ...chosen, subscriptionWords: [] });
  }

  withoutTimes(): EventFilters {
    return new EventFilters({ ...this, after: undefined, before: undefined });
  }

  /** One for each combination of values; `now` is in milliseconds. Throws `UsageError`. */
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
      // People write a day this way, but a date means its first moment.
      const day = compareInstants(after, before) === 0 && /^\d{4}-\d\d-\d\d$/.exec(this.before?.text ?? '');
      const following = day && dateAfter(day[0]);
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

  queriesWithin({ after, before }: Pick<Query, 'after' | 'before'>): Query[] {
    return this.withoutTimes()
      .queries(0)
      .map((query) => ({ ...query, after, before }));
  }

  seemsToBeginLater(now: number): boolean {
    const after = this.after && resolveTime(this.after.time, now);
    return after !== undefined && milliseconds(after) > now + CLOCK_GRAIN_MS;
  }

  /** Throws `UsageError` if the filters begin after `now`. */
  requirePastStart(now: number, clock = "the service's"): void {
    const { after, zone } = this;
    if (!after || !this.seemsToBeginLater(now)) return;
    // The exclusive bound of a day is in the day before.
    const start = this.#period ? after.text : zone.shown(instantOf(after, now).text);
    const present = knownInstant(Math.floor(now / 1000) * 1000);
    throw new UsageError(
      `${after.flag}: ${start} is in the future: ${clock} time is ${zone.shown(present.text)}`,
      {
        next:
          after.time.kind === 'day' && after.time.daysAgo === 0
            ? `for the day before, write ${after.flag} 'yesterday ${after.text.replace(/^(today|at) ?/i, '')}'`
            : `give a time in the past, such as ${this.#period ? '--day yesterday' : `${after.flag} 2h`}`,
      },
    );
  }

  /**
   * Normalized: synonyms replaced, values sorted. Times of other zones become UTC; the zone is included if
   * relative times depend on it, such as `today`.
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

  texts(): string[] {
    return flagsOf(this.#shown()).map(([name, value]) => `--${name} ${value}`);
  }

  get #period(): GivenTime | undefined {
    const { after, before } = this;
    const isPeriod = after !== undefined && PERIOD_FLAGS.has(after.flag) && after.flag === before?.flag;
    return isPeriod ? after : undefined;
  }

  #shown(): TypedFilters {
    const { after: _, before: __, ...others } = this.typed();
    const period = this.#period;
    return period ? { [period.flag.slice(2)]: period.text, ...others } : this.typed();
  }

  /** Arguments that give the same filters, and a typed zone, to another command, except the named ones. */
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

/** A comma separates values on a command line. */
export function escapeCommas(value: string): string {
  return value.replaceAll(',', '\\,');
}

function takesText(name: string): boolean {
  return filterKeys.some(({ flag, kind }) => flag === name && kind === 'text');
}

function both(one: KeepItems | undefined, other: KeepItems): KeepItems {
  if (!one) return other;
  const keep = <Some extends Items>(items: Some): Some => other(one(items));
  return Object.assign(keep, { doubts: () => [...one.doubts(), ...other.doubts()] });
}

/** Matches a `--type` in any case, with `*` for any text. Takes linear time, however many stars there are. */
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

/** --after and --before are synonyms. */
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

/** Two searches for one id would find every event twice. */
export function distinctIds(ids: readonly string[]): string[] {
  return [...new Map(ids.toReversed().map((id) => [id.toLowerCase(), id])).values()].reverse();
}
