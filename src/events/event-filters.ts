import { UsageError } from '../errors.ts';
import { type Condition, itemFilter, type KeepItems } from '../json/item-conditions.ts';
import { shellWord } from '../settings/command-words.ts';
import { compareInstants, type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { resolveTime, type Time, timeAdvice } from '../time/time-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import type { Queries, Query } from './event-query.ts';

export type PublishStatus = 'SUCCESS' | 'FAILED';

/** A time with the flag and the text that gave it. */
export interface GivenTime {
  readonly flag: string;
  readonly text: string;
  readonly time: Time;
}

export interface FilterParts {
  /** The zone that times are read and shown in. */
  readonly zone?: TimeZone;
  readonly after?: GivenTime | undefined;
  readonly before?: GivenTime | undefined;
  /** An event matches any value of each list. An empty list is no filter. No value occurs twice. */
  readonly subscriptionIds?: readonly string[];
  readonly eventIds?: readonly string[];
  readonly statuses?: readonly PublishStatus[];
  readonly eventTypes?: readonly string[];
  /** The types as typed, if a pattern such as `order.*` stands for several of them. */
  readonly typePatterns?: readonly string[] | undefined;
  /** Conditions that the service cannot filter by: they run here. */
  readonly conditions?: readonly Condition[];
  readonly grepTexts?: readonly string[];
}

/** The service's clock is read from `Date`, which has no fraction. */
const CLOCK_GRAIN_MS = 1000;

/** Filters by the names of their flags, as they were typed. */
export type TypedFilters = Readonly<Record<string, string | readonly string[]>>;

/** Chooses events. Spans ago become instants when the present time is known. */
export class EventFilters {
  readonly zone: TimeZone;
  readonly after: GivenTime | undefined;
  readonly before: GivenTime | undefined;
  readonly subscriptionIds: readonly string[];
  readonly eventIds: readonly string[];
  readonly statuses: readonly PublishStatus[];
  readonly eventTypes: readonly string[];
  readonly typePatterns: readonly string[] | undefined;
  readonly conditions: readonly Condition[];
  readonly grepTexts: readonly string[];

  constructor(parts: FilterParts = {}) {
    const { after, before, subscriptionIds = [], eventIds = [], statuses = [], eventTypes = [] } = parts;
    const { conditions = [], grepTexts = [] } = parts;
    this.zone = parts.zone ?? UTC;
    this.after = after;
    this.before = before;
    this.subscriptionIds = subscriptionIds;
    this.eventIds = eventIds;
    this.statuses = statuses;
    this.eventTypes = eventTypes;
    this.typePatterns = parts.typePatterns;
    this.conditions = conditions;
    this.grepTexts = grepTexts;
  }

  /** True if the filters depend on the present time. */
  get isRelative(): boolean {
    return [this.after, this.before].some((given) => given && given.time.kind !== 'instant');
  }

  /** Returns a function that applies the filters which run here, or undefined if there are none. */
  get keep(): KeepItems | undefined {
    const { conditions, grepTexts } = this;
    return conditions.length + grepTexts.length === 0 ? undefined : itemFilter(conditions, grepTexts);
  }

  /** The fields of events that these filters allow one value. */
  get constantFields(): ReadonlySet<string> {
    const { subscriptionIds, eventIds, statuses, eventTypes } = this;
    const fields = {
      subscriptionId: subscriptionIds,
      eventId: eventIds,
      publishStatus: statuses,
      eventType: eventTypes,
    };
    return new Set(Object.entries(fields).flatMap(([name, { length }]) => (length === 1 ? [name] : [])));
  }

  /** The same filters with other statuses. An empty list means both. */
  withStatuses(...statuses: PublishStatus[]): EventFilters {
    return new EventFilters({ ...this, statuses });
  }

  /** The same filters for these types on offer, which `patterns` stand for. */
  withTypes(eventTypes: readonly string[], patterns: readonly string[]): EventFilters {
    return new EventFilters({ ...this, eventTypes, typePatterns: patterns });
  }

  withoutTimes(): EventFilters {
    return new EventFilters({ ...this, after: undefined, before: undefined });
  }

  /**
   * The searches to make when it is `now` (milliseconds since the epoch), one for each combination of values. Throws
   * `UsageError` that names the flag.
   */
  queries(now: number): Queries {
    const { after, before } = this;
    const bounds = { after: after && instantOf(after, now), before: before && instantOf(before, now) };
    if (
      after &&
      before &&
      bounds.after &&
      bounds.before &&
      compareInstants(bounds.after, bounds.before) >= 0
    ) {
      throw new UsageError(
        `${after.flag} ${after.text} and ${before.flag} ${before.text} leave no time between them: nothing can match`,
      );
    }
    let queries: Queries = [bounds];
    queries = combined(queries, 'subscriptionId', this.subscriptionIds);
    queries = combined(queries, 'eventId', this.eventIds);
    queries = combined(queries, 'publishStatus', this.statuses);
    return combined(queries, 'eventType', this.eventTypes);
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
            : `give a time in the past, such as ${after.flag} 2h`,
      },
    );
  }

  /**
   * The filters as typed, synonyms made one and the order of values forgotten. A time of another zone than UTC is given in
   * UTC, so that it means the same anywhere; where others depend on the zone, such as `today`, the zone is named.
   */
  typed(): TypedFilters {
    const lists = {
      subscription: this.subscriptionIds,
      id: this.eventIds,
      status: this.statuses,
      type: this.typePatterns ?? this.eventTypes,
      where: this.conditions.map(({ text }) => text),
      grep: this.grepTexts,
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

  get #dependsOnZone(): boolean {
    if (this.zone.isUtc) return false;
    const isOfZone = (given: GivenTime | undefined) =>
      given !== undefined && given.time.kind !== 'instant' && given.time.kind !== 'ago';
    return [this.after, this.before].some(isOfZone) || this.conditions.some(({ instant }) => instant);
  }

  #timeText({ text, time }: GivenTime): string {
    return time.kind === 'instant' && !this.zone.isUtc ? time.instant.text : text;
  }

  /** Each filter as a flag and its value, for people. */
  texts(): string[] {
    return flagsOf(this.typed()).map(([name, value]) => `--${name} ${value}`);
  }

  /** Words for a POSIX shell that give the same filters and zone to another command, except the ones named. */
  words(...without: string[]): string[] {
    const zone = this.zone.isUtc ? {} : { timezone: this.zone.name };
    return flagsOf({ ...this.typed(), ...zone }).flatMap(([name, value]) => {
      if (without.includes(name)) return [];
      return [`--${name}`, shellWord(name === 'type' ? value.replaceAll(',', '\\,') : value)];
    });
  }
}

/** Matches the names that a `--type` stands for: in any case, with `*` for any text. */
export function typePattern(type: string): RegExp {
  const parts = type.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'isu');
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
  return new UsageError(`${flag}: invalid value '${text}': must be a time`, {
    next: timeAdvice(text),
  });
}

function combined<Field extends keyof Query>(
  queries: Queries,
  field: Field,
  values: readonly Query[Field][],
): Queries {
  if (values.length === 0) return queries;
  const [first, ...rest] = queries.flatMap((query) => values.map((value) => ({ ...query, [field]: value })));
  return [first as Query, ...rest];
}
