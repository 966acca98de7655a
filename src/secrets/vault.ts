/** What a sign-in yields and `hooktrail` keeps; nothing of it is ever written in the clear. */
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

/** What stored secrets belong to: they are found again only for the same profile, provider, client and service. */
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
  /** Human words for where it is, for `status`: the keychain's name or the file's path. */
  readonly place: string;
  /** Proves that secrets can be written and read back, and leaves nothing behind. */
  probe(): Promise<void>;
  /** The cached access token alone: the cheap path of every command. */
  readAccess(): Promise<AccessToken | undefined>;
  /** Everything; undefined where nothing is stored for this binding. */
  read(): Promise<Secrets | undefined>;
  /** Stores what is given (refresh token first, then the access token) and keeps what is left undefined. */
  write(secrets: Secrets): Promise<void>;
  /** Forgets everything of this binding. */
  delete(): Promise<void>;
}

/** An access token as it was stored; undefined where the text is none. */
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
