import type { Clock, Context } from '../context.ts';
import { apiUrl, type Service, serviceError } from '../http/service.ts';
import { isObject } from '../items/items.ts';
import { searchedAddress, shownAddress } from './callback-address.ts';

/**
 * The requests of a service that names its subscriptions; others answer 404, and nothing is lost but the
 * names.
 */
export const LIST_PATH = '/subscriptions/mine';
export const subscriptionPath = (id: string): string => `/subscriptions/id/${encodeURIComponent(id)}`;

/** `gone`: the service no longer knows it. */
type SubscriptionState = 'on' | 'off' | 'gone';

/** A subscription as the service describes it. */
export interface NamedSubscription {
  readonly id: string;
  /** Undefined if the service does not tell, or no longer knows it. */
  readonly callbackUrl: string | undefined;
  readonly state: SubscriptionState;
  /** The ids of the marketplaces in its rules; empty if the service does not tell. */
  readonly marketplaces: readonly string[];
  /** The event types in its rules; empty if the service does not tell. */
  readonly eventTypes: readonly string[];
}

/** Milliseconds for which a reader waits for names; what is not known by then is not to be known. */
const PATIENCE_MS = 1_500;
/** Subscriptions that are not in the list and are asked for one by one. */
const MOST_ASKED = 20;

/** The service's list of its subscriptions: known, not offered by this service, or unknown for a reason. */
type Listing = 'known' | 'not offered' | Error;

/**
 * A service's subscriptions, by id. They are asked for beside a search, which they neither delay for long nor
 * fail.
 */
export class SubscriptionNames {
  readonly #service: Service;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #closed = new AbortController();
  readonly #byId = new Map<string, NamedSubscription>();
  readonly #asked = new Set<string>();
  readonly #listing: Promise<Listing>;
  /** Undefined until the service has answered. */
  #known: Listing | undefined;

  /** Begins to ask. */
  constructor(service: Service, { clock, signal }: Pick<Context, 'clock' | 'signal'>) {
    this.#clock = clock;
    this.#service = service;
    this.#signal = AbortSignal.any([signal, this.#closed.signal]);
    this.#listing = this.#askList()
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
      .then((listing) => {
        this.#known = listing;
        return listing;
      });
  }

  /** Waits until the subscriptions with these ids are known, or are not to be known. Never rejects. */
  async learn(ids: Iterable<string>): Promise<void> {
    // What is read meanwhile may take minutes: only waiting counts.
    const cancel = this.#clock.startTimer(PATIENCE_MS, () => this.close());
    await this.#learn(ids).finally(cancel);
  }

  async #learn(ids: Iterable<string>): Promise<void> {
    if ((await this.#listing) !== 'known') return;
    const unknown = [...new Set([...ids].map((id) => id.toLowerCase()))].filter(
      (id) => !this.#byId.has(id) && !this.#asked.has(id),
    );
    const due = unknown.slice(0, MOST_ASKED - this.#asked.size);
    for (const id of due) this.#asked.add(id);
    await Promise.all(due.map((id) => this.#askOne(id).catch(() => {})));
  }

  /** Waits for the list as long as for names, and leaves the request running. */
  async awaitList(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.startTimer(PATIENCE_MS, resolve);
      void this.#listing.then(cancel).then(resolve);
    });
  }

  /** Waits for the list as long as any request may take. Throws the error that keeps it unknown. */
  async requireList(): Promise<void> {
    const listing = await this.#listing;
    if (listing instanceof Error) throw listing;
  }

  /** Ends every request: no answer is of use any more. */
  close(): void {
    this.#closed.abort();
  }

  of(id: string): NamedSubscription | undefined {
    return this.#byId.get(id.toLowerCase());
  }

  /**
   * The subscriptions that the service lists or was asked for; those that are switched off may be missing.
   */
  get all(): readonly NamedSubscription[] {
    return [...this.#byId.values()];
  }

  /**
   * The address as it may be shown; with the beginning of the id where another subscription looks the same.
   */
  nameOf(id: string): string | undefined {
    const subscription = this.of(id);
    if (subscription?.callbackUrl === undefined) return undefined;
    const name = shownAddress(subscription.callbackUrl);
    if (name === undefined) return undefined;
    const isAlone = this.all.every(
      (other) => other === subscription || shownAddress(other.callbackUrl ?? '') !== name,
    );
    return isAlone ? name : `${name} ${subscription.id.slice(0, 8)}`;
  }

  /** `hooks.example.com/in`, `hooks.example.com/in, off` or `gone`; undefined where nothing is known. */
  labelOf(id: string): string | undefined {
    const state = this.of(id)?.state;
    if (state === undefined) return undefined;
    const parts = [this.nameOf(id), state === 'on' ? undefined : state].filter((part) => part !== undefined);
    return parts.length === 0 ? undefined : parts.join(', ');
  }

  /** True once the service has listed its subscriptions. */
  get isListed(): boolean {
    return this.#known === 'known';
  }

  /** Why the list is unknown; undefined if it is known, or if this service offers none. */
  get whyUnknown(): string | undefined {
    if (this.#known instanceof Error && !this.#closed.signal.aborted) return this.#known.message;
    if (this.#known === 'known' || this.#known === 'not offered') return undefined;
    return `the service did not list them within ${PATIENCE_MS / 1000} s`;
  }

  async #askList(): Promise<Listing> {
    const url = apiUrl(this.#service.baseUrl, LIST_PATH);
    const answer = await this.#service.send({ url, signal: this.#signal });
    if (answer.status === 404) return 'not offered';
    if (answer.status !== 200) return serviceError(answer, 'the subscriptions cannot be listed');
    const body: unknown = JSON.parse(answer.body.toString());
    const items = isObject(body) ? body['items'] : undefined;
    if (!Array.isArray(items)) return 'not offered';
    for (const item of items) this.#add(subscriptionOf(item));
    return 'known';
  }

  async #askOne(id: string): Promise<void> {
    const url = apiUrl(this.#service.baseUrl, subscriptionPath(id));
    const { status, body } = await this.#service.send({ url, signal: this.#signal });
    if (status === 404)
      this.#add({ id, callbackUrl: undefined, state: 'gone', marketplaces: [], eventTypes: [] });
    if (status !== 200) return;
    const found = subscriptionOf(JSON.parse(body.toString()));
    if (found?.id.toLowerCase() === id) this.#add(found);
  }

  #add(subscription: NamedSubscription | undefined): void {
    if (subscription) this.#byId.set(subscription.id.toLowerCase(), subscription);
  }
}

/** A subscription of the service's answer; undefined if it has no id. */
export function subscriptionOf(item: unknown): NamedSubscription | undefined {
  const { subscriptionId: id, callbackUrl, isEnabled, subscriptionRules } = isObject(item) ? item : {};
  if (typeof id !== 'string' || id === '') return undefined;
  return {
    id,
    callbackUrl: typeof callbackUrl === 'string' ? callbackUrl : undefined,
    state: isEnabled === false ? 'off' : 'on',
    marketplaces: textsIn(subscriptionRules, 'marketplaces'),
    eventTypes: textsIn(subscriptionRules, 'eventTypes'),
  };
}

/** The texts and numbers of a list in a subscription's rules; empty if it has others, or is not a list. */
function textsIn(rules: unknown, member: string): string[] {
  const values = isObject(rules) ? rules[member] : undefined;
  if (!Array.isArray(values)) return [];
  const texts = values.filter((value) => typeof value === 'string' || typeof value === 'number').map(String);
  return texts.length === values.length ? texts : [];
}

/** The subscriptions with a word in their address, in any case; an empty word is in none. */
export function withWord(subscriptions: readonly NamedSubscription[], word: string): NamedSubscription[] {
  const wanted = word.trim().toLowerCase();
  if (wanted === '') return [];
  return subscriptions.filter(({ callbackUrl }) => searchedAddress(callbackUrl ?? '').includes(wanted));
}
