import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JWK } from 'oidc-provider';
import type { DeliveryOptions } from './deliveries.ts';
import type { ShapeName } from './shapes/service-shape.ts';

export interface SandboxOptions
  extends Optional<Behaviour>,
    Optional<Pick<SandboxSettings, 'clientId' | 'clientSecret' | 'vendor' | 'redirectUri'>> {
  readonly port?: number | undefined;
  readonly shape?: ShapeName | undefined;
  readonly events?: number | undefined;
  readonly seed?: number | undefined;
  /**
   * The sandbox's clock in milliseconds since the epoch, or a fixed time. The seeded history ends at its
   * first reading; the `Date` header, new events and the lifetimes of tokens follow it. Only waiting takes
   * real time.
   */
  readonly now?: number | (() => number) | undefined;
  readonly rate?: number | undefined;
  readonly deliveries?: DeliveryOptions | undefined;
  /** The header with the token in the answer to a renewal; `Api-Key` by default. */
  readonly renewHeader?: RenewHeader | undefined;
  /** The public key of a further client, `<clientId>-key`, which authenticates by signing (RFC 7523). */
  readonly clientKey?: JWK | undefined;
  /** Rejects authorization requests that were not pushed (RFC 9126). */
  readonly requirePushedRequests?: boolean | undefined;
  /**
   * Called first for each request, and may change its answer. Returns false if it has answered the request
   * itself.
   */
  readonly intercept?: Intercept | undefined;
}

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/** The published reference names the first in the answer to a renewal, and the second everywhere else. */
export type RenewHeader = 'Api-Key' | 'Api-Token';

export interface Behaviour {
  /** Milliseconds added to each answer of the event service. */
  latencyMs: number;
  /**
   * Requests per second to the event service above which it answers 429 with `Retry-After`; 0 for no limit.
   */
  rateLimit: number;
  /**
   * Share (0 to 1) of requests to the event service that fail with 500, 502, 503, 504 or a broken connection.
   */
  faultRate: number;
  tokenLifetimeSeconds: number;
  /** The sign-in page approves at once, still by HTTP redirects, and needs no cookies. */
  autoApprove: boolean;
}

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
