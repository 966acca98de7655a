import type { KeyObject } from 'node:crypto';
import { jwtVerify } from 'jose';
import type { Adapter, AdapterPayload } from 'oidc-provider';

interface Entry {
  readonly payload: AdapterPayload;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

const KEPT = 20_000;

/** The identity provider's storage: the 20,000 most recently used entries of all kinds. */
export class IdentityMemory {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: () => number;
  readonly #reused: (grantId: string) => Error;

  /** `reused` is called with the grant whose code or refresh token was spent twice; the error that it returns is the answer. */
  constructor(clock: () => number, reused: (grantId: string) => Error) {
    this.#clock = clock;
    this.#reused = reused;
  }

  adapter(kind: string): Adapter {
    const key = (id: string) => `${kind}:${id}`;
    const find = async (id: string) => {
      const entry = this.#entries.get(key(id));
      // An expired device code has an error of its own (RFC 8628 section 3.5). The library compares `exp` with the machine's clock.
      if (kind === 'DeviceCode' && entry && entry.expires <= this.#clock())
        return { ...entry.payload, exp: 1 };
      return this.#get(key(id));
    };
    return {
      find,
      upsert: async (id, payload, expiresIn) => {
        this.#set(key(id), { payload, expires: expiresIn ? this.#clock() + expiresIn * 1000 : Infinity });
      },
      consume: async (id) => {
        const payload = this.#get(key(id));
        if (!payload) return;
        // Two simultaneous requests may both have found it unspent. This runs for one after the other.
        if (payload.consumed) throw this.#reused(String(payload.grantId));
        payload.consumed = Math.floor(this.#clock() / 1000);
      },
      destroy: async (id) => {
        this.#entries.delete(key(id));
      },
      findByUid: async (uid) => this.#first(kind, (payload) => payload.uid === uid),
      findByUserCode: async (code) => this.#first(kind, (payload) => payload.userCode === code),
      revokeByGrantId: async (grantId) => this.#remove(kind, (payload) => payload.grantId === grantId),
    };
  }

  /** Forgets a grant and everything that was issued for it. */
  revoke(grantId: string): void {
    this.#entries.delete(`Grant:${grantId}`);
    for (const kind of ['RefreshToken', 'AuthorizationCode']) {
      this.#remove(kind, (payload) => payload.grantId === grantId);
    }
  }

  /** Forgets all entries of a kind. */
  clear(kind: string): void {
    this.#remove(kind, () => true);
  }

  #get(key: string): AdapterPayload | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.expires <= this.#clock()) return undefined;
    this.#entries.set(key, entry);
    return entry.payload;
  }

  #set(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= KEPT) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  #first(kind: string, matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined {
    for (const [key, { payload }] of this.#entries) {
      if (key.startsWith(`${kind}:`) && matches(payload)) return payload;
    }
    return undefined;
  }

  #remove(kind: string, matches: (payload: AdapterPayload) => boolean): void {
    for (const [key, { payload }] of this.#entries) {
      if (key.startsWith(`${kind}:`) && matches(payload)) this.#entries.delete(key);
    }
  }
}

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

const REMEMBERED = 10_000;

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
    if (this.#verified.size >= REMEMBERED) this.#verified.clear();
    this.#verified.set(token, verified);
    return this.#valid(verified);
  }
}

function remember(values: Set<string>, value: string): void {
  values.add(value);
  if (values.size <= REMEMBERED) return;
  const [oldest] = values;
  if (oldest !== undefined) values.delete(oldest);
}
