import type { Clock } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { apiUrl, describeError, type Service, serviceError } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { isObject } from '../items/items.ts';
import { searchedAddress, shownAddress } from './callback-address.ts';

/** Requests of services with subscriptions; others answer 404, and only the names are missing. */
export const LIST_PATH = '/subscriptions/mine';
export const LIST_FAILURE = 'the subscriptions cannot be listed';
/** Some services lack this request. */
export const NO_SUBSCRIPTIONS =
  'this service may not have the requests of subscriptions: events are found by the id of theirs, --subscription GUID';
export const subscriptionPath = (id: string): string => `/subscriptions/id/${encodeURIComponent(id)}`;

/** `gone`: no longer known to the service. */
type SubscriptionState = 'on' | 'off' | 'gone';

export interface NamedSubscription {
  readonly id: string;
  readonly callbackUrl: string | undefined;
  readonly state: SubscriptionState;
  /** Marketplaces in its rules; empty if the service does not return them. */
  readonly marketplaces: readonly string[];
  /** Event types in its rules; empty if the service does not return them. */
  readonly eventTypes: readonly string[];
}

/** Milliseconds that a reader waits for names before it continues without them. */
const PATIENCE_MS = 1_500;
/** Most unlisted subscriptions requested one by one. */
const MAX_ASKED = 20;

const SHORT_ID_CHARACTERS = 8;

/** The state of the list: known, not offered by this service, or the error. */
type Listing = 'known' | 'not offered' | Error;

/**
 * A service's subscriptions, by id. They are requested during a search, without delaying it for long or
 * making it fail.
 */
export class SubscriptionNames {
  readonly #service: Service;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #closed = new AbortController();
  readonly #byId = new Map<string, NamedSubscription>();
  readonly #asked = new Set<string>();
  readonly #listing: Promise<Listing>;
  #known: Listing | undefined;

  constructor(service: Service) {
    this.#clock = service.clock;
    this.#service = service;
    this.#signal = AbortSignal.any([service.signal, this.#closed.signal]);
    this.#listing = this.#askList()
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
      .then((listing) => {
        this.#known = listing;
        return listing;
      });
  }

  /** Waits until the names for these ids are known or given up. Never rejects. */
  async learn(ids: Iterable<string>): Promise<void> {
    // Reading may take minutes: only this wait counts.
    const cancel = this.#clock.startTimer(PATIENCE_MS, () => this.close());
    await this.#learn(ids).finally(cancel);
  }

  async #learn(ids: Iterable<string>): Promise<void> {
    if ((await this.#listing) !== 'known') return;
    const unknown = [...new Set([...ids].map((id) => id.toLowerCase()))].filter(
      (id) => !this.#byId.has(id) && !this.#asked.has(id),
    );
    const due = unknown.slice(0, MAX_ASKED - this.#asked.size);
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

  /** Ends every request, since no answer is needed now. */
  close(): void {
    this.#closed.abort();
  }

  of(id: string): NamedSubscription | undefined {
    return this.#byId.get(id.toLowerCase());
  }

  /** Subscriptions listed or requested; those that are switched off may be missing. */
  get all(): readonly NamedSubscription[] {
    return [...this.#byId.values()];
  }

  /** Returns the showable address, with the start of the id if another subscription looks the same. */
  nameOf(id: string): string | undefined {
    const subscription = this.of(id);
    if (subscription?.callbackUrl === undefined) return undefined;
    const name = shownAddress(subscription.callbackUrl);
    if (name === undefined) return undefined;
    const isAlone = this.all.every(
      (other) => other === subscription || shownAddress(other.callbackUrl ?? '') !== name,
    );
    return isAlone ? name : `${name} ${this.#shortIdOf(subscription)}`;
  }

  /** `hooks.example.com/in`, `hooks.example.com/in, off` or `1f0c5a77, gone`; undefined if unknown. */
  labelOf(id: string): string | undefined {
    const subscription = this.of(id);
    const name = this.nameOf(id);
    if (!subscription || subscription.state === 'on') return name;
    return `${name ?? this.#shortIdOf(subscription)}, ${subscription.state}`;
  }

  /** Returns the start of the id, or all of it if another known id starts the same. */
  #shortIdOf({ id }: NamedSubscription): string {
    const start = id.slice(0, SHORT_ID_CHARACTERS);
    const isAlone = this.all.every((other) => other.id === id || !other.id.startsWith(start));
    return isAlone ? start : id;
  }

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
    try {
      for (const one of await listSubscriptions(this.#service, this.#signal)) this.#add(one);
      return 'known';
    } catch (error) {
      if (error instanceof ServiceError && (error.status === 200 || error.status === 404))
        return 'not offered';
      throw error;
    }
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

/** Runs `work` with the names of subscriptions if they are wanted, and then ends their requests. */
export async function withNames<Result>(
  service: Service,
  areWanted: boolean,
  work: (names: SubscriptionNames | undefined) => Promise<Result>,
): Promise<Result> {
  const names = areWanted ? new SubscriptionNames(service) : undefined;
  return await work(names).finally(() => names?.close());
}

/** Throws `ServiceError`, with the status 200 or 404 if the service does not offer the list. */
export async function listSubscriptions(
  service: Service,
  signal = service.signal,
): Promise<NamedSubscription[]> {
  const answer = await service.send({ url: apiUrl(service.baseUrl, LIST_PATH), signal });
  const body = answer.status === 200 ? parsedBody(answer) : undefined;
  const items = isObject(body) ? body['items'] : undefined;
  if (!Array.isArray(items)) throw serviceError(answer, LIST_FAILURE, { ifNotFound: NO_SUBSCRIPTIONS });
  const listed = items.flatMap((item) => subscriptionOf(item) ?? []);
  return [...new Map(listed.map((one) => [`${one.id} ${one.callbackUrl}`, one])).values()];
}

function parsedBody(answer: HttpResponse): unknown {
  try {
    return JSON.parse(answer.body.toString());
  } catch (cause) {
    throw new ServiceError(`${LIST_FAILURE}: the service answered with something that is not JSON`, {
      ...describeError(answer),
      next: NO_SUBSCRIPTIONS,
      cause,
    });
  }
}

/** Returns undefined if the item has no id. */
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

/**
 * Returns a list of texts or numbers in a subscription's rules; empty if it has other elements, or is not a
 * list.
 */
function textsIn(rules: unknown, member: string): string[] {
  const values = isObject(rules) ? rules[member] : undefined;
  if (!Array.isArray(values)) return [];
  const texts = values.filter((value) => typeof value === 'string' || typeof value === 'number').map(String);
  return texts.length === values.length ? texts : [];
}

export function withWord(subscriptions: readonly NamedSubscription[], word: string): NamedSubscription[] {
  const wanted = word.trim().toLowerCase();
  if (wanted === '') return [];
  return subscriptions.filter(({ callbackUrl }) => searchedAddress(callbackUrl ?? '').includes(wanted));
}

/** Returns what people may mean by a part of an address: each address, its host and the names in it. */
export function wordsOfAddresses(subscriptions: readonly NamedSubscription[]): string[] {
  const words = subscriptions.flatMap(({ callbackUrl = '' }) => {
    const shown = shownAddress(callbackUrl) ?? '';
    return [shown, shown.split('/')[0] as string, ...shown.split(/[./]/)];
  });
  return [...new Set(words)].filter((word) => word.length > 2);
}
