import { setImmediate } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { traced } from '../http/redaction.ts';
import type { TokenSource } from '../http/service.ts';
import { TOKEN_LIMITS } from '../http/transport.ts';
import { createTransport } from '../http/undici-transport.ts';
import type { LockOptions } from '../lock/lock.ts';
import { openKeychain } from '../secrets/keychain.ts';
import { openVault } from '../secrets/open-vault.ts';
import type { AccessToken, Binding, Vault } from '../secrets/vault.ts';
import type { SettingName } from '../settings/setting-names.ts';
import { loadSettings, type SettingFlags, type Settings } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { givenToken } from './given-token.ts';
import { loginCommand, notSignedIn, withoutSignIn } from './not-signed-in.ts';

/** A token is refreshed this long before its end, in milliseconds. */
const MARGIN = 60_000;
/** What a sibling has just stored serves although the provider grants less than the margin; this much is needed to use it. */
const SHORT_MARGIN = 5_000;
/** Milliseconds to wait for another process's refresh: twice as long as a token request may take, and some. */
const REFRESH_PATIENCE = 150_000;

/** The settings that a stored sign-in is bound to: without one of them there is none to be found. */
export const BOUND = ['authUrl', 'baseUrl', 'clientId'] as const;
export type BoundSettings = Settings<(typeof BOUND)[number]>;

/**
 * The settings of this run, and where its requests get their token: `HOOKTRAIL_ACCESS_TOKEN` as it is, or else the
 * stored sign-in, refreshed when needed. Throws `UsageError` for settings that are wrong, or missing: those of `needed`,
 * and those that find a stored sign-in.
 */
export async function openSession<Needed extends SettingName = never>(
  flags: SettingFlags,
  context: Context,
  reporter: Reporter,
  needed: readonly Needed[] = [],
): Promise<{ settings: Settings<Needed>; tokens: TokenSource }> {
  const given = givenToken(context.environment);
  if (given) {
    const tokens = { accessToken: async () => given, replace: async () => undefined };
    return { settings: await loadSettings(flags, context, needed), tokens };
  }
  const settings = await loadSettings(flags, context, [...BOUND, ...needed]);
  const binding = bindingOf(settings);
  const vault = await openForReading(settings.store, binding, context).catch((error) => {
    throw withoutSignIn(error, settings);
  });
  return { settings, tokens: new StoredSession(settings, binding, vault, context, reporter) };
}

/** The keychain is asked first of all, and what reads it is loaded while it answers; it is open when this ends. */
async function openForReading(store: Vault['kind'], binding: Binding, context: Context): Promise<Vault> {
  if (store === 'file') return await openVault(store, binding, context);
  const keychain = openKeychain(context);
  keychain.catch(() => undefined);
  // The question goes out with the next turn of the event loop, and loading would hold it up.
  await setImmediate();
  const vault = await openVault(store, binding, context, keychain);
  await keychain;
  return vault;
}

/** What the secrets of these settings are bound to. */
export function bindingOf({ profile, authUrl, baseUrl, clientId }: BoundSettings): Binding {
  return { profile, authUrl: authUrl.href, clientId, serviceOrigin: baseUrl.origin };
}

/** Runs `work` while no other process refreshes or replaces the sign-in of this provider, client and profile. */
export async function withSignInLock<T>(
  binding: Binding,
  context: Context,
  work: () => Promise<T>,
  options: LockOptions<T> = {},
): Promise<T> {
  const { withLock } = await import('../lock/lock.ts');
  return await withLock(lockName(binding), context, work, options);
}

function lockName({ authUrl, clientId, profile }: Binding): string {
  return JSON.stringify([authUrl, clientId, profile]);
}

class StoredSession implements TokenSource {
  readonly #settings: BoundSettings;
  readonly #binding: Binding;
  readonly #vault: Vault;
  readonly #context: Context;
  readonly #reporter: Reporter;
  #current: { readonly token: string; readonly until: number } | undefined;
  #pending: Promise<string> | undefined;

  constructor(settings: BoundSettings, binding: Binding, vault: Vault, context: Context, reporter: Reporter) {
    this.#settings = settings;
    this.#binding = binding;
    this.#vault = vault;
    this.#context = context;
    this.#reporter = reporter;
  }

  async accessToken(): Promise<string> {
    if (this.#current && this.#now() < this.#current.until) return this.#current.token;
    this.#pending ??= this.#shared(this.#obtain());
    return await this.#pending;
  }

  async replace(rejected: string): Promise<string> {
    // Many requests may be rejected together; the first of them replaces the token for all.
    while (this.#pending) {
      const token = await this.#pending;
      if (token !== rejected) return token;
    }
    if (this.#current && this.#current.token !== rejected) return this.#current.token;
    this.#pending = this.#shared(this.#refresh(rejected, rejected));
    return await this.#pending;
  }

  async #shared(work: Promise<string>): Promise<string> {
    try {
      return await work;
    } finally {
      this.#pending = undefined;
    }
  }

  async #obtain(): Promise<string> {
    const cached = await this.#vault.readAccess();
    return cached && this.#hasTime(cached, MARGIN)
      ? this.#use(cached)
      : await this.#refresh(cached?.token, undefined);
  }

  async #refresh(known: string | undefined, rejected: string | undefined): Promise<string> {
    const serves = (access: AccessToken) =>
      access.token !== rejected && this.#hasTime(access, access.token === known ? MARGIN : SHORT_MARGIN);
    // Most runs find a token that is good: what a refresh takes is read when there is one.
    const [{ withLock }, { refreshUnderLock }] = await Promise.all([
      import('../lock/lock.ts'),
      import('./refresh-protocol.ts'),
    ]);
    // A transport of its own: that of a command ends with the command's requests, and an interrupt must not cut off
    // the answer that carries the new refresh token.
    const transport = traced(
      createTransport(this.#context, TOKEN_LIMITS),
      this.#reporter,
      this.#context.clock,
    );
    try {
      const access = await withLock(
        lockName(this.#binding),
        this.#context,
        (lock) =>
          refreshUnderLock(
            {
              settings: this.#settings,
              vault: this.#vault,
              context: this.#context,
              reporter: this.#reporter,
              world: { transport, clock: this.#context.clock },
              serves,
              lasts: (access) => access.token !== rejected && this.#hasTime(access, 0),
              loginCommand: loginCommand(this.#settings.profile),
            },
            lock,
          ),
        {
          patience: REFRESH_PATIENCE,
          meanwhile: async () => {
            const stored = await this.#vault.readAccess();
            return stored && serves(stored) ? stored : undefined;
          },
        },
      );
      if (access) return this.#use(access);
    } finally {
      await transport.close();
    }
    throw await notSignedIn(this.#settings, this.#binding, this.#vault, this.#context);
  }

  #use({ token, expiresAt }: AccessToken): string {
    const left = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - this.#now();
    // A provider that grants two minutes or less must not make every request of this run a refresh.
    this.#current = {
      token,
      until: this.#now() + (left > 2 * MARGIN ? left - MARGIN : Math.max(left / 2, SHORT_MARGIN)),
    };
    return token;
  }

  #hasTime({ expiresAt }: AccessToken, margin: number): boolean {
    return expiresAt === undefined || expiresAt - this.#now() > margin;
  }

  #now(): number {
    return this.#context.clock.now();
  }
}
