import type { KeyObject } from 'node:crypto';
import { jwtVerify } from 'jose';

/** The part of a verified access token that the event service uses. */
export interface AccessToken {
  readonly scopes: readonly string[];
}

interface Verified extends AccessToken {
  readonly grantId: string;
  readonly generation: number;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

const KEPT = 10_000;

/**
 * Checks access tokens (RFC 9068) and remembers the valid ones, so that only the first request with a token checks its
 * signature.
 */
export class AccessTokens {
  readonly #key: KeyObject;
  readonly #issuer: string;
  readonly #audience: string;
  readonly #clock: () => number;
  readonly #verified = new Map<string, Verified>();
  readonly #revokedGrants = new Set<string>();
  /** Part of each token; tokens of an earlier generation are revoked. */
  generation = 1;

  constructor(key: KeyObject, issuer: string, audience: string, clock: () => number) {
    this.#clock = clock;
    this.#key = key;
    this.#issuer = issuer;
    this.#audience = audience;
  }

  verify(token: string): AccessToken | undefined | Promise<AccessToken | undefined> {
    const known = this.#verified.get(token);
    return known ? this.#valid(known) : this.#check(token);
  }

  revokeGrant(grantId: string): void {
    remember(this.#revokedGrants, grantId);
  }

  /** Refuses every access token issued so far. */
  revokeAll(): void {
    this.generation++;
  }

  #valid(token: Verified): AccessToken | undefined {
    const good =
      token.expires > this.#clock() &&
      token.generation === this.generation &&
      !this.#revokedGrants.has(token.grantId);
    return good ? token : undefined;
  }

  async #check(token: string): Promise<AccessToken | undefined> {
    const { payload } = await jwtVerify(token, this.#key, {
      issuer: this.#issuer,
      audience: this.#audience,
      typ: 'at+jwt',
      algorithms: ['ES256'],
      currentDate: new Date(this.#clock()),
      requiredClaims: ['exp'],
    }).catch(() => ({ payload: undefined }));
    if (!payload) return undefined;
    const verified: Verified = {
      scopes: String(payload['scope'] ?? '').split(' '),
      grantId: String(payload['grant_id']),
      generation: Number(payload['generation']),
      expires: (payload.exp as number) * 1000,
    };
    if (this.#verified.size >= KEPT) this.#verified.clear();
    this.#verified.set(token, verified);
    return this.#valid(verified);
  }
}

function remember(values: Set<string>, value: string): void {
  values.add(value);
  if (values.size <= KEPT) return;
  const [oldest] = values;
  if (oldest !== undefined) values.delete(oldest);
}
