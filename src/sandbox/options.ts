import type { DeliveryOptions } from './deliveries/options.ts';

/** What a sandbox can be started with; every part has a default. */
export interface SandboxOptions {
  /** 0 takes any free port. */
  readonly port?: number;
  /** Number of events in the seeded history. */
  readonly events?: number;
  /** The same seed and the same `now` give the same history. */
  readonly seed?: number;
  /**
   * The sandbox's clock in milliseconds since the epoch, or the time at which it stands still. The seeded history ends at its
   * first reading; the `Date` header, new events, deliveries and the lifetimes of tokens follow it. Only waiting takes real time.
   */
  readonly now?: number | (() => number);
  /** Added to every answer of the event service. */
  readonly latencyMs?: number;
  readonly tokenLifetimeSeconds?: number;
  /** The sign-in page approves at once, still by HTTP redirects, and asks for no cookies. */
  readonly autoApprove?: boolean;
  /** Requests a second to the event service; beyond that it answers 429 with `Retry-After`. */
  readonly rateLimit?: number;
  /** Share (0 to 1) of event service requests answered 500, 502, 503, 504 or with a broken connection. */
  readonly faultRate?: number;
  /** Loopback redirect URIs are accepted with any port (RFC 8252 section 7.3). */
  readonly redirectUri?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly vendor?: string;
  /** Compresses answers of the event service for clients that accept gzip. */
  readonly compress?: boolean;
  /** Delivers events that are added while it runs; those of the seeded history are not delivered. */
  readonly deliveries?: DeliveryOptions;
}

/** What a client needs to know to use the sandbox. */
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
