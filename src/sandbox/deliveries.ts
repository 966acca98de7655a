import http from 'node:http';
import https from 'node:https';
import type { Random } from './random.ts';
import type { ServiceShape } from './shapes/service-shape.ts';
import type { StoredEvent } from './store/event-item.ts';
import type { EventStore } from './store/event-store.ts';
import type { SubscriptionStore } from './store/subscription-store.ts';

export interface DeliveryOptions {
  readonly url: string;
  /** Sent as the `Api-Token` header (service description, part 5). */
  readonly apiToken: string;
  readonly duplicates?: number | undefined;
  /**
   * Longest random delay of a delivery in milliseconds, which makes deliveries arrive out of order; 300 by
   * default.
   */
  readonly spreadMs?: number | undefined;
  /** Milliseconds before each retry; there are as many retries as entries. */
  readonly retryDelaysMs?: readonly number[] | undefined;
}

const SPREAD_MS = 300;
const RETRY_DELAYS_MS = [500, 1_000, 2_000];
const TIMEOUT_MS = 10_000;
const CONNECTIONS = 32;

export type Deliveries = ReturnType<typeof createDeliveries>;

interface Target {
  readonly url: string;
  readonly apiToken: string;
}

type Subscriptions = Pick<SubscriptionStore, 'find'>;

/**
 * Delivers events that are added while the sandbox runs as the service description requires (part 6): out of
 * order, some twice, each with the `Api-Token`. An event goes to its subscription's callback address if that
 * is on this machine, with the subscription's own token; otherwise, for subscriptions of the history, to the
 * address of the options, if any. An event becomes FAILED when its first attempt fails, and SUCCESS again
 * when a later one succeeds.
 */
export function createDeliveries(
  options: DeliveryOptions | undefined,
  shape: Pick<ServiceShape, 'deliveryText'>,
  events: Pick<EventStore, 'setStatus'>,
  subscriptions: Subscriptions | undefined,
  random: Random,
) {
  const { duplicates = 0, spreadMs = SPREAD_MS, retryDelaysMs = RETRY_DELAYS_MS } = options ?? {};
  const agents = {
    http: new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS }),
    https: new https.Agent({ keepAlive: true, maxSockets: CONNECTIONS }),
  };
  const failed = new Set<StoredEvent>();
  const spread = () => random.float() * spreadMs;
  let pending = 0;
  let isStopped = false;

  /** Called for each attempt, since a token renewed meanwhile is invalid. */
  function targetOf({ subscriptionId }: StoredEvent): Target | undefined {
    const subscription = subscriptions?.find(subscriptionId);
    const { callbackUrl } = subscription?.content ?? {};
    if (subscription && callbackUrl && isLoopback(callbackUrl))
      return { url: callbackUrl, apiToken: subscription.apiToken };
    return subscription?.isCreated ? undefined : options;
  }

  function later(milliseconds: number, act: () => Promise<unknown>): void {
    pending++;
    const run = async () => {
      if (!isStopped) await act();
      pending--;
    };
    setTimeout(run, milliseconds).unref();
  }

  async function deliver(event: StoredEvent, body: string, tries: number): Promise<void> {
    if (await send(event, body)) return;
    if (tries === 0) {
      failed.add(event);
      events.setStatus(event.eventId, 'FAILED', event.subscriptionId);
    }
    const delay = retryDelaysMs[tries];
    if (delay !== undefined) later(delay, () => deliver(event, body, tries + 1));
  }

  async function send(event: StoredEvent, body: string): Promise<boolean> {
    const target = targetOf(event);
    const status = target ? await post(target, body) : 0;
    const succeeded = status >= 200 && status < 300;
    if (succeeded && failed.delete(event)) events.setStatus(event.eventId, 'SUCCESS', event.subscriptionId);
    return succeeded;
  }

  /** Returns the status of the answer; 0 if there was none. */
  function post({ url, apiToken }: Target, body: string): Promise<number> {
    const isSecure = url.startsWith('https:');
    const { request } = isSecure ? https : http;
    const agent = isSecure ? agents.https : agents.http;
    const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Api-Token': apiToken };
    return new Promise((resolve) => {
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        response.resume();
        response.once('close', () => resolve((response.complete && response.statusCode) || 0));
      });
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error('no answer in time')));
      sent.once('error', () => resolve(0));
      sent.end(body);
    });
  }

  return {
    add(event: StoredEvent): void {
      if (!targetOf(event)) return;
      const body = shape.deliveryText(event);
      later(spread(), () => deliver(event, body, 0));
      if (random.float() < duplicates) later(spread() + spread(), () => send(event, body));
    },
    pending: () => pending,
    stop(): void {
      isStopped = true;
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/** The sandbox sends nothing to other machines unless configured to. */
function isLoopback(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}
