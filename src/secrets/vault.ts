import type { Clock } from '../context.ts';

/** The secrets of a sign-in; none of them is ever written in the clear. */
export interface Secrets {
  readonly refreshToken?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly access?: AccessToken | undefined;
}

export interface AccessToken {
  readonly token: string;
  /** Milliseconds since the epoch, from `expires_in`; undefined where the answer had none. */
  readonly expiresAt?: number | undefined;
  /** Space-delimited scopes granted, where the answer named them. */
  readonly scope?: string | undefined;
}

/** The key of stored secrets: they are found only for the same profile, provider, client and service. */
export interface Binding {
  readonly profile: string;
  /** `settings.authUrl.href` */
  readonly authUrl: string;
  readonly clientId: string;
  /** `settings.baseUrl.origin` */
  readonly serviceOrigin: string;
}

/** A store of secrets for one binding. Every method throws a typed error with the next step where the store is unusable. */
export interface Vault {
  readonly kind: 'keychain' | 'file';
  /** The place in words for `status`: the keychain's name or the file's path. */
  readonly place: string;
  /**
   * Proves that secrets can be written and read back, and leaves nothing behind. `anew`: for a sign-in that replaces what
   * is stored; a file that is sealed with a passphrase where a key is given, or the other way round, then counts as empty.
   */
  probe(anew?: boolean): Promise<void>;
  /** Only the cached access token: the cheap path of every command. */
  readAccess(): Promise<AccessToken | undefined>;
  /**
   * Reads all secrets; undefined if nothing is stored for this binding. Also looks in the folders that `rescue` writes
   * to.
   */
  read(): Promise<Secrets | undefined>;
  /** Replaces all that is stored. After a `read` or a `probe`, it reads nothing: the stored secrets may be gone. */
  write(secrets: Secrets): Promise<void>;
  /**
   * The last resort after `write` failed: keeps the secrets in another folder of the user's, where the next `read` finds
   * them. Returns the file.
   */
  rescue(secrets: Secrets): Promise<string>;
  /** Forgets everything of this binding. */
  delete(): Promise<void>;
}

/** Milliseconds between the tries to store irreplaceable secrets: a disk or a keychain may fail for a moment. */
const PAUSES = [100, 400, 1_000, 2_000];

/**
 * Stores irreplaceable secrets: several tries over some seconds, then in another folder. Resolves to the file in that
 * folder, or to undefined if the store itself took them. Throws the first error if both failed. It has no abort signal:
 * an interrupt waits.
 */
export async function storeSurely(
  vault: Pick<Vault, 'write' | 'rescue'>,
  secrets: Secrets,
  clock: Pick<Clock, 'sleep'>,
): Promise<string | undefined> {
  let first: unknown;
  for (const pause of [0, ...PAUSES]) {
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

/** Parses a stored access token; undefined if the text is not one. */
export function parseAccess(text: string): AccessToken | undefined {
  let value: Partial<AccessToken> | null;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value?.token !== 'string') return undefined;
  return {
    token: value.token,
    expiresAt: typeof value.expiresAt === 'number' ? value.expiresAt : undefined,
    scope: typeof value.scope === 'string' ? value.scope : undefined,
  };
}
