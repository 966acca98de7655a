import type { Deliveries } from './deliveries.ts';
import type { Fault, FaultQueue, FaultTarget } from './faults.ts';
import type { IdentityProvider } from './identity/identity-provider.ts';
import type { Behaviour } from './options.ts';
import type { PublishStatus } from './store/event-item.ts';
import type { EventStore } from './store/event-store.ts';
import type { EventWriter, NewEvent, WrittenEvent } from './store/event-writer.ts';
import type { Subscription } from './store/seeded-history.ts';

/** What tests look at and change while a sandbox runs. Everything takes effect with the next request. */
export interface Control {
  /** What the service description leaves open; assign to its members. */
  readonly behaviour: Behaviour;
  /** The endpoints that the seeded history was published to. */
  readonly subscriptions: readonly Subscription[];
  readonly store: EventStore;
  /** Makes the next requests to a target go wrong, one fault each, in this order. */
  fault(target: FaultTarget, ...faults: Fault[]): void;
  /** Faults that no request has met yet. */
  readonly pendingFaults: number;
  clearFaults(): void;
  addEvent(event?: NewEvent): WrittenEvent;
  /** Changes an event's publish status; false when there is no such event. */
  setStatus(eventId: string, status: PublishStatus): boolean;
  /** Adds events at a steady rate until the returned function is called. */
  startLive(perSecond: number, event?: () => NewEvent): () => void;
  /** Refuses all access tokens issued so far; refresh tokens stay good. */
  revokeAccessTokens(): void;
  /** Refuses everything issued so far, refresh tokens too. */
  revokeGrants(): void;
  /** The deliveries of events that were added; undefined where nothing is delivered. */
  readonly deliveries: Pick<Deliveries, 'attempts' | 'pending'> | undefined;
}

interface Parts {
  readonly behaviour: Behaviour;
  readonly deliveries: Deliveries | undefined;
  readonly faults: FaultQueue;
  readonly identity: IdentityProvider;
  readonly store: EventStore;
  readonly subscriptions: readonly Subscription[];
  readonly writer: EventWriter;
}

export function createControl({
  behaviour,
  deliveries,
  faults,
  identity,
  store,
  subscriptions,
  writer,
}: Parts): Control {
  return {
    behaviour,
    deliveries,
    subscriptions,
    store,
    fault: (target, ...added) => faults.add(target, added),
    get pendingFaults() {
      return faults.pending;
    },
    clearFaults: () => faults.clear(),
    addEvent: (event = {}) => writer.add(event),
    setStatus: (eventId, status) => writer.setStatus(eventId, status),
    startLive: (perSecond, event) => writer.startLive(perSecond, event),
    revokeAccessTokens: () => identity.tokens.revokeAll(),
    revokeGrants: () => identity.revokeGrants(),
  };
}
