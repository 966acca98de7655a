import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Deliveries } from './deliveries.ts';
import { createIdentityProvider } from './identity/identity-provider.ts';
import { Random } from './random.ts';
import { createRequestHandler, RequestLog, type RequestRecord } from './request-handler.ts';
import type { Behaviour, SandboxOptions, SandboxSettings } from './sandbox-options.ts';
import { createEventService } from './service/event-service.ts';
import type { PublishStatus } from './store/event-item.ts';
import { EventStore } from './store/event-store.ts';
import { EventWriter, type NewEvent, type WrittenEvent } from './store/event-writer.ts';
import { type Subscription, writeHistory } from './store/seeded-history.ts';

export type { DeliveryAttempt, DeliveryOptions } from './deliveries.ts';
export type { RequestRecord } from './request-handler.ts';
export type { Behaviour, SandboxOptions, SandboxSettings } from './sandbox-options.ts';
export type { NewEvent, WrittenEvent } from './store/event-writer.ts';

export interface Sandbox extends AsyncDisposable {
  readonly settings: SandboxSettings;
  /** The latest 100,000 requests, oldest first. */
  readonly log: readonly RequestRecord[];
  readonly control: Control;
  /** Frees the port and all connections at once. */
  close(): Promise<void>;
}

/** For tests: inspects and changes a running sandbox. Changes apply from the next request. */
export interface Control {
  /** Assign to its members to change them. */
  readonly behaviour: Behaviour;
  /** The endpoints that the seeded history was published to. */
  readonly subscriptions: readonly Subscription[];
  readonly store: EventStore;
  addEvent(event?: NewEvent): WrittenEvent;
  /** Changes an event's publish status; false when there is no such event. */
  setStatus(eventId: string, status: PublishStatus): boolean;
  /** Adds events at a steady rate until the returned function is called. */
  startLive(perSecond: number, event?: () => NewEvent): () => void;
  /** Refuses all access tokens issued so far; refresh tokens stay valid. */
  revokeAccessTokens(): void;
  /** Refuses everything issued so far, refresh tokens too. */
  revokeGrants(): void;
  /** The deliveries of events that were added; undefined if nothing is delivered. */
  readonly deliveries: Pick<Deliveries, 'attempts' | 'pending'> | undefined;
}

/**
 * Starts the identity provider and the event service of the service description on one loopback port.
 *
 * @throws Error with the code `EADDRINUSE` when the port is taken.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const server = createServer();
  const origin = await listen(server, options.port ?? 0);
  try {
    return await serve(server, origin, options);
  } catch (error) {
    await close(server);
    throw error;
  }
}

async function serve(server: Server, origin: string, options: SandboxOptions): Promise<Sandbox> {
  const seed = options.seed ?? 1;
  const settings = settingsFor(origin, options);
  const behaviour = behaviourFor(options);
  const { now = Date.now } = options;
  const clock = typeof now === 'number' ? () => now : now;
  const log = new RequestLog(clock);
  const store = new EventStore();
  const identity = await createIdentityProvider(settings, behaviour, clock, log);
  const subscriptions = writeHistory(store, options.events ?? 5000, seed, clock());
  const serviceClock = () => clock() + behaviour.clockOffsetMs;
  const writer = new EventWriter(store, new Random(seed + 1), subscriptions, serviceClock);
  const deliveries =
    options.deliveries && new Deliveries(options.deliveries, writer, new Random(seed + 3), serviceClock);
  if (deliveries) writer.onAdded = (event) => deliveries.add(event);
  if (options.rate) writer.startLive(options.rate);
  const control: Control = {
    behaviour,
    deliveries,
    subscriptions,
    store,
    addEvent: (event = {}) => writer.add(event),
    setStatus: (eventId, status) => writer.setStatus(eventId, status),
    startLive: (perSecond, event) => writer.startLive(perSecond, event),
    revokeAccessTokens: () => identity.tokens.revokeAll(),
    revokeGrants: () => identity.revokeGrants(),
  };
  const service = createEventService({
    baseUrl: settings.baseUrl,
    vendor: settings.vendor,
    store,
    behaviour,
    verify: (token) => identity.tokens.verify(token),
  });
  server.on(
    'request',
    createRequestHandler({
      settings,
      behaviour,
      log,
      intercept: options.intercept,
      clock: serviceClock,
      random: new Random(seed + 2),
      identity: (request, response) => identity.handle(request, response),
      service,
    }),
  );
  const stop = () => {
    writer.stopAll();
    deliveries?.stop();
    return close(server);
  };
  return { settings, log: log.records, control, close: stop, [Symbol.asyncDispose]: stop };
}

function settingsFor(origin: string, options: SandboxOptions): SandboxSettings {
  const authUrl = `${origin}/identity`;
  return {
    authUrl,
    baseUrl: `${origin}/events/v1`,
    clientId: options.clientId ?? 'hooktrail-sandbox',
    clientSecret: options.clientSecret ?? randomBytes(24).toString('base64url'),
    vendor: options.vendor ?? 'sandbox',
    redirectUri: options.redirectUri ?? 'http://127.0.0.1:8976/callback',
    scope: 'event_api offline_access',
    issuer: authUrl,
  };
}

function behaviourFor(options: SandboxOptions): Behaviour {
  return {
    latencyMs: options.latencyMs ?? 0,
    rateLimit: options.rateLimit ?? 0,
    faultRate: options.faultRate ?? 0,
    compress: options.compress ?? false,
    order: 'newest-first',
    maxPageSize: 500,
    clockOffsetMs: 0,
    autoApprove: options.autoApprove ?? false,
    tokenLifetimeSeconds: options.tokenLifetimeSeconds ?? 1800,
  };
}

async function listen(server: Server, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
