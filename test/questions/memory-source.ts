import { EventFilters } from '../../src/filters/event-filters.ts';
import { Items } from '../../src/items/items.ts';
import { MarketplaceMix } from '../../src/names/marketplaces.ts';
import type { Query } from '../../src/paging/event-query.ts';
import { EventSource } from '../../src/sources/event-source.ts';
import { milliseconds } from '../../src/time/instant.ts';
import { createContext } from '../support/context.ts';
import { fakeReporter } from '../support/outputs.ts';

export interface HeldEvent {
  readonly createdOn: number;
  readonly publishStatus: 'SUCCESS' | 'FAILED' | 'PENDING';
  readonly subscriptionId?: string;
}

interface Given {
  readonly kind: 'service' | 'file' | 'pipe';
  readonly pageEvents?: number;
  /** False for a service whose items lack their status. */
  readonly hasStatuses?: boolean;
  readonly filters?: EventFilters;
  readonly window?: EventSource['window'];
}

/** A source of events in memory that counts its answers. Undirected, it lists events in no order. */
export function eventSource(events: readonly HeldEvent[], given: Given) {
  const { kind, pageEvents = 2, hasStatuses = true, filters = new EventFilters(), window } = given;
  const asked = { pages: 0, counts: 0 };
  const found = (queries: readonly Query[]) => {
    const finders = queries.map(finderOf);
    return events.filter((event) => finders.some((isFound) => isFound(event)));
  };
  async function* read(...[chosen, within, direction]: Parameters<EventSource['read']>) {
    const all = found(chosen.queriesWithin(within ?? {}));
    if (direction) all.sort((a, b) => (direction === 'newest first' ? -1 : 1) * (a.createdOn - b.createdOn));
    else all.sort((a, b) => shuffled(a) - shuffled(b));
    for (let start = 0; start < all.length; start += pageEvents) {
      asked.pages++;
      const page = all.slice(start, start + pageEvents).map((event) => textOf(event, hasStatuses));
      yield { items: Items.of(page), total: all.length };
    }
  }
  const service = {
    count: async (queries: readonly Query[]) => {
      asked.counts += queries.length;
      return queries.map((query) => found([query]).length);
    },
    typesOnOffer: [],
    askNames: () => {
      throw new Error('no names are asked for');
    },
    doubt: async () => {},
  };
  const place = {
    name: kind,
    filters,
    window,
    isReadOnce: kind === 'pipe',
    service: kind === 'service' ? service : undefined,
  };
  const call = { context: createContext(), reporter: fakeReporter() } as never;
  return { source: new EventSource(place, read, new MarketplaceMix(), {}, call), asked };
}

function finderOf({ after, before, publishStatus, subscriptionId }: Query): (event: HeldEvent) => boolean {
  const start = after ? milliseconds(after) : Number.NEGATIVE_INFINITY;
  const end = before ? milliseconds(before) : Number.POSITIVE_INFINITY;
  return (event) =>
    (subscriptionId === undefined || event.subscriptionId === subscriptionId) &&
    event.createdOn > start &&
    event.createdOn < end &&
    (publishStatus === undefined || event.publishStatus === publishStatus);
}

function shuffled({ createdOn }: HeldEvent): number {
  return (createdOn * 7) % 10_007;
}

function textOf({ createdOn, publishStatus, ...others }: HeldEvent, hasStatus: boolean): Buffer {
  const status = hasStatus ? { publishStatus } : {};
  return Buffer.from(JSON.stringify({ ...others, createdOn: new Date(createdOn).toISOString(), ...status }));
}
