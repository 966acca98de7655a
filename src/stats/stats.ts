import type { Call } from '../command.ts';
import { ServiceError } from '../errors.ts';
import type { StatsWindow } from '../filters/stats-window.ts';
import { type FieldPath, MISSING, memberPath, noSuchField } from '../items/item-fields.ts';
import type { Items } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-cursor.ts';
import { ComparisonTable } from '../outcomes/comparison-table.ts';
import {
  type EventSource,
  type PageOfOutcomes,
  type SourceOptions,
  untoldText,
  windowOf,
  withEventSource,
} from '../sources/event-source.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import { gatherStats, type Stats, statsOfTable } from './statistics.ts';

/** Events that have the same values in the fields asked for. */
export interface EventGroup {
  /** The JSON text of each field's value; null where it is missing or null, as for `--where`. */
  readonly values: readonly (string | null)[];
  count: number;
  /** Those that failed and those that were delivered. The others do not tell. */
  failed: number;
  delivered: number;
  first: Instant | undefined;
  last: Instant | undefined;
  /** The `eventId` of one of them, where it has one. */
  readonly example: string | undefined;
}

const NO_EVENTS = { count: 0, failed: 0, delivered: 0, first: undefined, last: undefined };

/** The maximum number of groups. With more, the field is different in nearly every event. */
const MOST_GROUPS = 100_000;

/** Groups events by the values of some fields. It uses memory per group, not per event. */
export class EventGroups {
  readonly fields: readonly FieldPath[];
  readonly #groups = new Map<string, EventGroup>();
  readonly #cursor;
  /** Events in all groups. */
  total = 0;
  readonly #found: boolean[];
  #sample: Items | undefined;

  constructor(fields: readonly FieldPath[]) {
    this.fields = fields;
    this.#found = fields.map(() => false);
    const known = ['eventId', 'createdOn', 'publishStatus'].map(memberPath);
    this.#cursor = createCursor([...fields, ...known]);
  }

  /**
   * Adds events. `haveFailed`: what is known of all of them; undefined if each says so itself. Throws
   * `ServiceError` if there are too many groups.
   */
  add(items: Items, haveFailed?: boolean): void {
    const { bytes, count } = items;
    if (count > 0) this.#sample ??= items;
    for (let item = 0; item < count; item++) {
      const at = items.start(item);
      this.#cursor.read(bytes, at);
      const values = this.fields.map((_, field) => this.#value(bytes, field));
      const key = values.join('\n');
      let group = this.#groups.get(key);
      if (!group) {
        if (this.#groups.size === MOST_GROUPS) {
          const names = this.fields.map(({ text }) => text).join(',');
          throw new ServiceError(`--by ${names}: more than ${MOST_GROUPS} groups`, {
            next: 'group by fields with fewer different values, or narrow the search',
          });
        }
        group = { ...NO_EVENTS, values, example: this.#example(bytes) };
        this.#groups.set(key, group);
      }
      const created = this.#cursor.text(this.fields.length + 1);
      const createdOn = created === undefined ? undefined : parseInstant(created);
      group.count++;
      this.total++;
      const outcome = this.#outcome(haveFailed);
      if (outcome === 'FAILED') group.failed++;
      if (outcome === 'SUCCESS') group.delivered++;
      if (!createdOn) continue;
      if (!group.first || compareInstants(createdOn, group.first) < 0) group.first = createdOn;
      if (!group.last || compareInstants(createdOn, group.last) > 0) group.last = createdOn;
    }
  }

  /** Returns a warning for each field that no event has: its name may be misspelt. */
  doubts(): string[] {
    const sample = this.#sample;
    if (!sample) return [];
    return this.fields.flatMap((field, index) => (this.#found[index] ? [] : [noSuchField(field, sample)]));
  }

  /** The largest groups first; groups of the same size by their values. */
  largest(): readonly EventGroup[] {
    const text = ({ values }: EventGroup) => values.join('\n');
    return [...this.#groups.values()].sort((a, b) => b.count - a.count || (text(a) < text(b) ? -1 : 1));
  }

  #outcome(haveFailed: boolean | undefined): string | undefined {
    if (haveFailed === undefined) return this.#cursor.text(this.fields.length + 2);
    return haveFailed ? 'FAILED' : 'SUCCESS';
  }

  #value(bytes: Buffer, field: number): string | null {
    const start = this.#cursor.starts[field] as number;
    if (start === MISSING) return null;
    this.#found[field] = true;
    const text = bytes.toString('utf8', start, this.#cursor.ends[field]);
    return text === 'null' ? null : text;
  }

  #example(bytes: Buffer): string | undefined {
    const start = this.#cursor.starts[this.fields.length] as number;
    if (start === MISSING) return undefined;
    return valueText(bytes, start, this.#cursor.ends[this.fields.length] as number) || undefined;
  }
}

/** The statistics of the events that the filters choose: the service counts, unless it cannot filter so. */
export async function askStats(
  call: Pick<Call, 'flags' | 'context' | 'reporter'>,
  { buckets, ...options }: SourceOptions & { readonly buckets: number | undefined },
): Promise<{ readonly stats: Stats; readonly name: string; readonly untold: number }> {
  return await withEventSource(call, options, async (source) => {
    const { filters, window, count, typesOnOffer = [], name } = source;
    if (window && count && !filters.keep) {
      const types = filters.eventTypes.length > 0 ? null : typesOnOffer;
      const { queries, after, before, status } = window;
      // Asked first, so that events that come meanwhile do not count as left out.
      const all = status ? [] : await count(queries.map((query) => ({ ...query, after, before })));
      const stats = await gatherStats(window, types, buckets, count);
      const untold = all.reduce((sum, one) => sum + one, 0) - stats.total;
      if (!status && untold > 0) call.reporter.warning(untoldText(untold));
      if (stats.total === 0) source.doubt();
      return { stats, name, untold: status ? 0 : Math.max(0, untold) };
    }
    const table = new ComparisonTable(['eventType']);
    for await (const { items, haveFailed } of source.readOutcomes(filters, window))
      table.add(items, haveFailed);
    if (table.rows === 0) source.doubt();
    return {
      untold: source.warnOfUnknown(table.untold, table.times),
      stats: statsOfTable(table, windowOf(source, table.times.bounds, call.context.clock), buckets),
      name,
    };
  });
}

/**
 * The events that the filters choose, grouped by some fields. Stored events have a window only if the filters
 * give one.
 */
export async function askGroups(
  call: Pick<Call, 'flags' | 'context' | 'reporter'>,
  { by, ...options }: SourceOptions & { readonly by: readonly FieldPath[] },
): Promise<{ readonly groups: EventGroups; readonly window: StatsWindow | undefined }> {
  return await withEventSource(call, options, async (source) => {
    const groups = new EventGroups(by);
    for await (const { items, haveFailed } of readForGroups(source)) groups.add(items, haveFailed);
    if (groups.total === 0) source.doubt();
    source.warnOfUnknown(0, { unknown: 0 });
    return { groups, window: source.window };
  });
}

/** The events with their outcomes. A filter by one status tells them without another read. */
async function* readForGroups(source: EventSource): AsyncGenerator<PageOfOutcomes> {
  const { filters, window } = source;
  const [status, other] = filters.statuses;
  if (status === undefined || other !== undefined) return yield* source.readOutcomes(filters, window);
  const haveFailed = status === 'FAILED';
  for await (const { items } of source.read(filters, window)) yield { items, haveFailed };
}
