import { hash } from 'node:crypto';
import type { Holder } from '../lock/lock-file.ts';

export interface Secrets {
  readonly refreshToken?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly access?: AccessToken | undefined;
  /**
   * Set if access tokens are granted to the client itself (RFC 6749 section 4.4), without a refresh token.
   */
  readonly grant?: 'client_credentials' | undefined;
  /**
   * How the client authenticates if not by the stored secret: with a credential read on each use, or not at
   * all.
   */
  readonly client?: 'key' | 'assertion' | 'none' | undefined;
  /** The provider's name at sign-in, the audience of the client's assertions. */
  readonly issuer?: string | undefined;
  readonly spending?: Spending | undefined;
}

export interface Spending {
  /** SHA-256 of the refresh token. */
  readonly token: string;
  readonly holder: Holder;
  /** Milliseconds since the epoch, by the holder's clock. */
  readonly since: number;
}

export interface AccessToken {
  readonly token: string;
  /** Milliseconds since the epoch, from `expires_in`; undefined if the answer had none. */
  readonly expiresAt?: number | undefined;
  readonly scope?: string | undefined;
}

/** The key of stored secrets: they apply only to the same profile, provider, client and service. */
export interface Binding {
  readonly profile: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly serviceOrigin: string;
}

/** Identifies a binding without revealing it: eight bytes of a hash. */
export function bindingHash(binding: Binding): string {
  return hash('sha256', bindingText(binding)).slice(0, 16);
}

export function bindingText({ profile, authUrl, clientId, serviceOrigin }: Binding): string {
  return JSON.stringify([profile, authUrl, clientId, serviceOrigin]);
}

/** A store of irreplaceable content. Every method throws a typed error with a next step if it is unusable. */
export interface Store<Content> {
  readonly place: string;
  /** Reads the latest content, even if it was rescued; undefined if there is none. */
  read: () => Promise<Content | undefined>;
  /**
   * Replaces what is stored. After a `read` or a `probe` it reads nothing again, since the stored content may
   * be gone.
   */
  write: (content: Content) => Promise<void>;
  /**
   * The last resort after `write` failed: keeps the content in another file, which `read` finds in all
   * processes that share the store. Returns the file.
   */
  rescue: (content: Content) => Promise<string>;
}

/** A store of the secrets for one binding. */
export interface Vault extends Store<Secrets> {
  readonly kind: 'keychain' | 'file';
  /**
   * Checks that secrets can be written and read back, and leaves nothing behind. `anew`: for a sign-in that
   * replaces the stored one. A file sealed with a passphrase then counts as empty if a key is given, and vice
   * versa.
   */
  probe(anew?: boolean): Promise<void>;
  /**
   * Resolves when the keychain has begun to answer the next `read`, so that the caller can load code
   * meanwhile. Leaves errors to `read`.
   */
  startReading?(): Promise<void>;
}

export interface StoredSecrets extends Secrets {
  /** Milliseconds since the epoch, always increasing. */
  readonly written: number;
}

export function parseSecrets(text: string): StoredSecrets | undefined {
  let value: Partial<StoredSecrets> | null;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (value === null || typeof value !== 'object') return undefined;
  const { refreshToken, clientSecret, grant, client, issuer, spending, access, written = 0 } = value;
  return {
    refreshToken,
    clientSecret,
    grant: grant === 'client_credentials' ? grant : undefined,
    client,
    issuer,
    spending,
    access: typeof access?.token === 'string' ? access : undefined,
    written,
  };
}
