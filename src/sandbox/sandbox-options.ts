import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JWK } from 'oidc-provider';
import type { DeliveryOptions } from './deliveries.ts';
import type { ShapeName } from './shapes/service-shape.ts';

/** The options of a new sandbox; each has a default. */
export interface SandboxOptions
  extends Optional<Behaviour>,
    Optional<Pick<SandboxSettings, 'clientId' | 'clientSecret' | 'vendor' | 'redirectUri'>> {
  /** 0 chooses any free port. */
  readonly port?: number | undefined;
  /** What items, errors and deliveries look like. Absent: `published`. */
  readonly shape?: ShapeName | undefined;
  /** Number of events in the seeded history. */
  readonly events?: number | undefined;
  /** The same seed and the same `now` give the same history. */
  readonly seed?: number | undefined;
  /**
   * The sandbox's clock in milliseconds since the epoch, or the time at which it stands still. The seeded
   * history ends at its first reading; the `Date` header, new events and the lifetimes of tokens follow it.
   * Only waiting takes real time.
   */
  readonly now?: number | (() => number) | undefined;
  /** New events per second that the sandbox adds by itself; none when absent. */
  readonly rate?: number | undefined;
  /** Delivers events that are added while it runs; those of the seeded history are not delivered. */
  readonly deliveries?: DeliveryOptions | undefined;
  /** The header that carries the token of a renewal. Absent: `Api-Key`. */
  readonly renewHeader?: RenewHeader | undefined;
  /** The public key of a second client, `<clientId>-key`, which proves itself by signing (RFC 7523). */
  readonly clientKey?: JWK | undefined;
  /** Takes no authorization request that was not pushed (RFC 9126). */
  readonly requirePushedRequests?: boolean | undefined;
  /**
   * Sees each request first, and may change its answer. Returns false for a request that it has answered
   * itself.
   */
  readonly intercept?: Intercept | undefined;
}

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/**
 * The header that carries the token of a renewal. The published reference names the first there, and the
 * second everywhere else.
 */
export type RenewHeader = 'Api-Key' | 'Api-Token';

/** Options that can be changed while the sandbox runs. */
export interface Behaviour {
  /** Added to every answer of the event service. */
  latencyMs: number;
  /**
   * Requests per second to the event service, which answers 429 with `Retry-After` to more; 0 is no limit.
   */
  rateLimit: number;
  /** Share (0 to 1) of event service requests answered 500, 502, 503, 504 or with a broken connection. */
  faultRate: number;
  tokenLifetimeSeconds: number;
  /** The sign-in page approves at once, still by HTTP redirects, and asks for no cookies. */
  autoApprove: boolean;
}

/** The settings that a client needs to use the sandbox. */
export interface SandboxSettings {
  readonly authUrl: string;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly vendor: string;
  /** Loopback redirect URIs are accepted with any port (RFC 8252 section 7.3). */
  readonly redirectUri: string;
  readonly scope: string;
  readonly issuer: string;
}
