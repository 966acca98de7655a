import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeliveryOptions } from './deliveries.ts';
import type { EventOrder } from './store/event-store.ts';

/** The options of a new sandbox; each has a default. */
export interface SandboxOptions {
  /** 0 chooses any free port. */
  readonly port?: number | undefined;
  /** Number of events in the seeded history. */
  readonly events?: number | undefined;
  /** The same seed and the same `now` give the same history. */
  readonly seed?: number | undefined;
  /**
   * The sandbox's clock in milliseconds since the epoch, or the time at which it stands still. The seeded history ends at its
   * first reading; the `Date` header, new events, deliveries and the lifetimes of tokens follow it. Only waiting takes real time.
   */
  readonly now?: number | (() => number) | undefined;
  /** Added to every answer of the event service. */
  readonly latencyMs?: number | undefined;
  readonly tokenLifetimeSeconds?: number | undefined;
  /** The sign-in page approves at once, still by HTTP redirects, and asks for no cookies. */
  readonly autoApprove?: boolean | undefined;
  /** Requests per second to the event service, which answers 429 with `Retry-After` to more. */
  readonly rateLimit?: number | undefined;
  /** Share (0 to 1) of event service requests answered 500, 502, 503, 504 or with a broken connection. */
  readonly faultRate?: number | undefined;
  /** Loopback redirect URIs are accepted with any port (RFC 8252 section 7.3). */
  readonly redirectUri?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly vendor?: string | undefined;
  /** Compresses answers of the event service for clients that accept gzip. */
  readonly compress?: boolean | undefined;
  /** New events per second that the sandbox adds by itself; none when absent. */
  readonly rate?: number | undefined;
  /** Delivers events that are added while it runs; those of the seeded history are not delivered. */
  readonly deliveries?: DeliveryOptions | undefined;
  readonly intercept?: Intercept | undefined;
}

/** Sees each request first, and may change its answer. Returns false for a request that it has answered itself. */
export type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/** The settings that a client needs to use the sandbox. */
export interface SandboxSettings {
  readonly authUrl: string;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly vendor: string;
  readonly redirectUri: string;
  readonly scope: string;
  readonly issuer: string;
}

/** Behaviour that the service description leaves open. It can be changed while the sandbox runs. */
export interface Behaviour {
  latencyMs: number;
  /** Requests per second; 0 is no limit. */
  rateLimit: number;
  faultRate: number;
  compress: boolean;
  order: EventOrder;
  /** Pages hold no more items than this, whatever the client asks for. */
  maxPageSize: number;
  /**
   * The service's clock is ahead by this many milliseconds, which are added to the `Date` header and to the creation
   * time of new events.
   */
  clockOffsetMs: number;
  autoApprove: boolean;
  tokenLifetimeSeconds: number;
}
