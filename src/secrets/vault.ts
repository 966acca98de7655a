import type { Clock } from '../context.ts';
import type { Holder } from '../lock/lock-file.ts';

/** The secrets of a sign-in. They are never written unencrypted. */
export interface Secrets {
  readonly refreshToken?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly access?: AccessToken | undefined;
  /**
   * Set if access tokens are granted to the client itself (RFC 6749 section 4.4), without a refresh token.
   */
  readonly grant?: 'client_credentials' | undefined;
  /**
   * How the client proves itself, if not by the stored secret: by what is read anew at each use, or by
   * nothing.
   */
  readonly client?: 'key' | 'assertion' | 'none' | undefined;
  /** The provider's name at the time of the sign-in, which the client's assertions are for. */
  readonly issuer?: string | undefined;
  /** Set while a process spends the refresh token, until it has stored the successor. */
  readonly spending?: Spending | undefined;
}

/** The mark of a refresh token that is being spent. */
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
  /** The scopes granted, separated by spaces, if the answer named them. */
  readonly scope?: string | undefined;
}

/** The key of stored secrets: they are found only with the same profile, provider, client and service. */
export interface Binding {
  readonly profile: string;
  /** `settings.authUrl.href` */
  readonly authUrl: string;
  readonly clientId: string;
  /** `settings.baseUrl.origin` */
  readonly serviceOrigin: string;
}

/**
 * A store of secrets for one binding. Every method throws a typed error with a next step if the store is
 * unusable.
 */
export interface Vault {
  readonly kind: 'keychain' | 'file';
  /** The place for `status`: the keychain's name or the file's path. */
  readonly place: string;
  /**
   * Checks that secrets can be written and read back, and leaves nothing behind. `anew`: for a sign-in that
   * replaces the stored one. A file that is sealed with a passphrase then counts as empty if a key is given,
   * and the other way round.
   */
  probe(anew?: boolean): Promise<void>;
  /**
   * Resolves when the keychain is at work on the answer to the next `read`, so that its caller can load code
   * meanwhile. Throws nothing: `read` does.
   */
  startReading?(): Promise<void>;
  /** Reads all secrets, also what `rescue` wrote; undefined if nothing is stored for this binding. */
  read(): Promise<Secrets | undefined>;
  /**
   * Replaces everything that is stored. After a `read` or a `probe` it reads nothing again, since the stored
   * secrets may be gone.
   */
  write(secrets: Secrets): Promise<void>;
  /**
   * The last resort after `write` failed: keeps the secrets in another file, where all who share the store
   * find them by `read`. Returns the file.
   */
  rescue(secrets: Secrets): Promise<string>;
}

/**
 * Milliseconds between attempts to store irreplaceable secrets: a disk or a keychain may fail for a moment.
 */
const PAUSES_MS = [100, 400, 1_000, 2_000, 4_000, 4_000];

/**
 * Stores irreplaceable secrets: tries the store several times over some seconds, then another file.
 * Resolves to that file, or to undefined if the store accepted them. Throws the first error if
 * both failed. It has no abort signal: an interrupt waits.
 */
export async function storeSurely<Content = Secrets>(
  vault: {
    readonly write: (secrets: Content) => Promise<void>;
    readonly rescue: (secrets: Content) => Promise<string>;
  },
  secrets: Content,
  clock: Pick<Clock, 'sleep'>,
): Promise<string | undefined> {
  let first: unknown;
  for (const pause of [0, ...PAUSES_MS]) {
    if (pause > 0) await clock.sleep(pause);
    try {
      await vault.write(secrets);
      return undefined;
    } catch (error) {
      first ??= error;
    }
  }
  try {
    return await vault.rescue(secrets);
  } catch {
    throw first;
  }
}

/** The content of a file of secrets. */
export interface StoredSecrets extends Secrets {
  /** Milliseconds since the epoch, always increasing: the later of two copies has the larger. */
  readonly written: number;
}

/** Parses the content of a file of secrets; undefined if the text is not one. */
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
