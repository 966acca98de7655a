import { randomBytes } from 'node:crypto';
import type { Random } from '../random.ts';
import {
  eventTypes,
  LIVE_MARKETPLACES,
  randomGuid,
  type StoredEvent,
  TEST_MARKETPLACE,
} from './event-item.ts';
import type { SeededSubscription } from './seeded-history.ts';

export interface SubscriptionContent {
  readonly callbackUrl: string;
  readonly isEnabled: boolean;
  readonly subscriptionRules: {
    readonly marketplaces: readonly string[];
    readonly eventTypes: readonly string[];
  };
  /** Members unknown to the service, which returns them unchanged. */
  readonly others: Readonly<Record<string, unknown>>;
}

export interface KeptSubscription {
  readonly id: string;
  readonly content: SubscriptionContent;
  /** An integer without quotes. It changes with each change of the subscription or its token. */
  readonly etag: string;
  readonly apiToken: string;
  readonly isCreated: boolean;
}

export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

type State = 'on' | 'off' | 'gone';

/**
 * The history's subscriptions, in its order. `*` is replaced by a secret. `off` was switched off from
 * outside, and `gone` was deleted: both have events.
 */
const seeds: readonly (readonly [address: string, state: State, marketplaces: readonly string[]])[] = [
  ['https://hooks.harbour.example/in/*', 'on', LIVE_MARKETPLACES],
  ['https://crm.harbour.example/inbound/signatures', 'on', LIVE_MARKETPLACES],
  ['https://erp.harbour.example/api/webhooks/*', 'on', LIVE_MARKETPLACES],
  ['https://archive.harbour.example/ingest', 'on', [...LIVE_MARKETPLACES, TEST_MARKETPLACE]],
  ['https://hr.harbour.example/onboarding/hook', 'on', LIVE_MARKETPLACES],
  ['https://billing.harbour.example/events?source=documents', 'on', LIVE_MARKETPLACES],
  ['https://notify.harbour.example/chat/legal', 'gone', LIVE_MARKETPLACES],
  ['https://staging.harbour.example/hooks/test', 'off', [TEST_MARKETPLACE]],
];

/** A subscription that is on but gets nothing, since no event is of its marketplace. */
const SILENT_ADDRESS = 'https://hooks.harbour.example/lab/*';
const SILENT_MARKETPLACE = '2009';

export function createSubscriptionStore(history: readonly SeededSubscription[], random: Random) {
  const kept = new Map<string, KeptSubscription>();
  const allTypes = eventTypes.map(({ name }) => name);

  function keep(id: string, content: SubscriptionContent, isCreated: boolean): KeptSubscription {
    const apiToken = randomBytes(24).toString('base64url');
    const subscription = { id, content, etag: newEtag(random), apiToken, isCreated };
    kept.set(id, subscription);
    return subscription;
  }

  function keepSeeded(
    id: string,
    address: string,
    isEnabled: boolean,
    marketplaces: readonly string[],
  ): void {
    const callbackUrl = address.replace('*', () => drawSecret(random));
    const subscriptionRules = { marketplaces, eventTypes: allTypes };
    keep(id, { callbackUrl, isEnabled, subscriptionRules, others: {} }, false);
  }

  for (const [index, [address, state, marketplaces]] of seeds.entries()) {
    const seeded = history[index];
    if (seeded && state !== 'gone') keepSeeded(seeded.id, address, state === 'on', marketplaces);
  }
  keepSeeded(randomGuid(random), SILENT_ADDRESS, true, [SILENT_MARKETPLACE]);

  function change(subscription: KeptSubscription, changes: Partial<KeptSubscription>): KeptSubscription {
    const changed = { ...subscription, ...changes, etag: newEtag(random) };
    kept.set(changed.id, changed);
    return changed;
  }

  return {
    active: (): KeptSubscription[] => [...kept.values()].filter(({ content }) => content.isEnabled),

    find: (id: string): KeptSubscription | undefined => kept.get(id),

    create: (content: SubscriptionContent): KeptSubscription => keep(randomGuid(random), content, true),

    replace: (subscription: KeptSubscription, content: SubscriptionContent): KeptSubscription =>
      change(subscription, { content }),

    /** The old token is invalid at once. */
    renew: (subscription: KeptSubscription): KeptSubscription =>
      change(subscription, { apiToken: randomBytes(24).toString('base64url') }),

    /**
     * Returns the subscriptions that get a new event: one of the history, which is `drawn` if it takes the
     * event, and all created ones that take it.
     */
    receivers(
      { eventType, marketplaces }: Pick<StoredEvent, 'eventType' | 'marketplaces'>,
      drawn: string,
    ): string[] {
      const takes = ({ content: { isEnabled, subscriptionRules: rules } }: KeptSubscription) =>
        isEnabled &&
        rules.eventTypes.includes(eventType) &&
        marketplaces.some((id) => rules.marketplaces.includes(id));
      const ofHistory = history.flatMap(({ id }) => kept.get(id) ?? []).filter(takes);
      const one = ofHistory.find(({ id }) => id === drawn) ?? ofHistory[0];
      const created = [...kept.values()].filter(({ isCreated }) => isCreated).filter(takes);
      return [...(one ? [one] : []), ...created].map(({ id }) => id);
    },
  };
}

function newEtag(random: Random): string {
  return String(1_000_000 + random.below(9_000_000));
}

const SECRET_CHARACTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';

function drawSecret(random: Random): string {
  return Array.from({ length: 22 }, () => random.pick([...SECRET_CHARACTERS])).join('');
}
