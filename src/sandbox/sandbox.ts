import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import { createIdentityProvider, type IdentityProvider } from './identity/identity-provider.ts';
import { Random } from './random.ts';
import type { Behaviour, SandboxOptions, SandboxSettings } from './sandbox-options.ts';
import { createEventService } from './service/event-service.ts';
import { withTrouble } from './service/service-trouble.ts';
import { subscriptionOperations } from './service/subscription-requests.ts';
import { flatShape } from './shapes/flat-shape.ts';
import { publishedShape } from './shapes/published-shape.ts';
import type { ServiceShape, ShapeName } from './shapes/service-shape.ts';
import { createEventStore, type EventStore } from './store/event-store.ts';
import { writeHistory } from './store/seeded-history.ts';
import { createSubscriptionStore, type SubscriptionStore } from './store/subscription-store.ts';

export interface Sandbox extends AsyncDisposable {
  readonly settings: SandboxSettings;
  /** Assign to its members: a change applies from the next request. */
  readonly behaviour: Behaviour;
  readonly events: EventStore;
  readonly identity: Pick<IdentityProvider, 'memory'>;
  readonly deliveries: Deliveries;
  /** Undefined if the service has no requests for subscriptions. */
  readonly subscriptions: SubscriptionStore | undefined;
  readonly shape: ServiceShape;
  /** Frees the port and ends all connections at once. */
  close(): Promise<void>;
}

const shapes: Readonly<Record<ShapeName, ServiceShape>> = { published: publishedShape, flat: flatShape };

/**
 * Starts the identity provider and the event service on one loopback port.
 *
 * @throws Error with the code `EADDRINUSE` when the port is taken.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, seed = 1, now = Date.now, intercept } = options;
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = settingsFor(origin, options);
  const { latencyMs = 0, rateLimit = 0, faultRate = 0 } = options;
  const { tokenLifetimeSeconds = 1800, autoApprove = false } = options;
  const behaviour: Behaviour = { latencyMs, rateLimit, faultRate, tokenLifetimeSeconds, autoApprove };
  const clock = typeof now === 'number' ? () => now : now;
  const identity = await createIdentityProvider(settings, behaviour, clock, options);
  const history = writeHistory(options.events ?? 5000, seed, clock());
  const shape = shapes[options.shape ?? 'published'];
  const subscriptions = shape.hasSubscriptions
    ? createSubscriptionStore(history.subscriptions, new Random(seed + 5))
    : undefined;
  const events = createEventStore(history, new Random(seed + 1), clock, subscriptions?.receivers);
  const deliveries = createDeliveries(options.deliveries, shape, events, subscriptions, new Random(seed + 3));
  events.onAdded = deliveries.add;
  const live = options.rate && setInterval(() => events.add(), 1000 / options.rate).unref();
  const { verify } = identity;
  const operations = subscriptions
    ? subscriptionOperations(settings, subscriptions, options.renewHeader)
    : [];
  const service = createEventService(settings, shape, events, operations, (token) => verify(token));
  const troubled = withTrouble(service, shape, behaviour, clock, new Random(seed + 2));

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('Date', new Date(clock()).toUTCString());
    if (intercept && !(await intercept(request, response))) return;
    const url = `${origin}${request.url}`;
    if (url.startsWith(`${settings.baseUrl}/`)) await troubled(request, response);
    else if (url.startsWith(`${settings.authUrl}/`)) await identity.handle(request, response);
    else response.writeHead(404, { 'Content-Type': 'text/plain' }).end('There is nothing here.\n');
  }

  server.on('request', (request, response) => {
    handle(request, response).catch((error: unknown) => {
      // Reports errors of the sandbox itself, but not broken connections.
      if (response.headersSent || response.destroyed) return void request.socket.destroy();
      response.writeHead(500, { 'Content-Type': 'application/json; charset=utf-8' });
      response.end(JSON.stringify(shape.errorBody([{ code: 'sandbox.defect', message: String(error) }])));
    });
  });
  const stop = async () => {
    if (live) clearInterval(live);
    deliveries.stop();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return {
    settings,
    behaviour,
    events,
    identity,
    deliveries,
    subscriptions,
    shape,
    close: stop,
    [Symbol.asyncDispose]: stop,
  };
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
