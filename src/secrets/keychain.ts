import { randomBytes } from 'node:crypto';
import type { Context, Keychain } from '../context.ts';
import { KeychainError } from './keychain-error.ts';
import { checkSecretService, hasItem, listAccounts, OURS } from './secret-service.ts';

type KeychainContext = Pick<Context, 'environment' | 'machine' | 'loadKeychain'>;

/**
 * Milliseconds that the keychain has for one answer; forty commands that start at once may queue there. If
 * the service hangs during a call, the process still ends late: Node waits for the native thread at exit, and
 * libsecret gives up only after 25 s per call.
 */
const CALL_LIMIT_MS = 10_000;
/** Milliseconds for a macOS dialog that asks whether this program may read the item. */
const DIALOG_LIMIT_MS = 60_000;
/** Further sessions tried for an existing item before it counts as unreadable. */
const MAX_OTHER_SESSIONS = 2;

/**
 * Opens the OS keychain and checks that it is usable. Every call has a time limit; failures are
 * `KeychainError`s. On Linux the Secret Service is checked first, so that the native library is not called
 * when it would hang.
 */
export async function openKeychain(context: KeychainContext, callLimitMs = CALL_LIMIT_MS): Promise<Keychain> {
  const { platform } = context.machine;
  const isLinux = platform === 'linux';
  const [library] = await Promise.all([
    loadLibrary(context),
    isLinux ? checkSecretService(context, OURS, callLimitMs) : undefined,
  ]);
  const inTime = callLimit(platform === 'darwin' ? DIALOG_LIMIT_MS : callLimitMs);
  const bounded = limited(library, inTime);
  if (!isLinux) return withNamedAccounts(bounded);
  const openApart = async () => limited(await context.loadKeychain('apart'), inTime);
  return new SecretServiceKeychain(bounded, openApart, context, callLimitMs);
}

type CallLimit = <T>(call: () => Promise<T>) => Promise<T>;

function callLimit(limitMs: number): CallLimit {
  let unanswered: Promise<unknown> | undefined;
  return async (call) => {
    // Each unanswered call blocks one of the four threads that file operations also need.
    if (unanswered) throw new KeychainError('mute');
    let timer: NodeJS.Timeout | undefined;
    const work = call();
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const settled = () => {
          unanswered = undefined;
        };
        unanswered = work.then(settled, settled);
        reject(new KeychainError('mute'));
      }, limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      throw libraryError(error);
    } finally {
      clearTimeout(timer);
    }
  };
}

function limited(keychain: Keychain, inTime: CallLimit): Keychain {
  return {
    get: (account) => inTime(() => keychain.get(account)),
    set: (account, secret) => inTime(() => keychain.set(account, secret)),
    delete: (account) => inTime(() => keychain.delete(account)),
    accounts: () => inTime(() => keychain.accounts()),
  };
}

/**
 * Linux' keychain. KWallet before 6.25 misreads the keys of about one libsecret session in a hundred
 * (bugs.kde.org 514194): it refuses the session, or uses a different key than libsecret. Items then seem to
 * be missing, and new ones are refused or, rarely, stored damaged. A process keeps its session, so a refused
 * call, or one that misses an item, is repeated in a separate process, which then makes all later calls.
 */
class SecretServiceKeychain implements Keychain {
  #inSession: Keychain;
  readonly #openApart: () => Promise<Keychain>;
  readonly #context: KeychainContext;
  readonly #limitMs: number;

  constructor(
    keychain: Keychain,
    openApart: () => Promise<Keychain>,
    context: KeychainContext,
    limitMs: number,
  ) {
    this.#inSession = keychain;
    this.#openApart = openApart;
    this.#context = context;
    this.#limitMs = limitMs;
  }

  async get(account: string): Promise<string | null> {
    let text = await this.#retried((keychain) => keychain.get(account));
    for (let tries = 1; text === null; tries++) {
      if (!(await hasItem(this.#context, account, this.#limitMs))) break;
      if (tries > MAX_OTHER_SESSIONS) throw new KeychainError('unreadable');
      text = await this.#inOtherSession((keychain) => keychain.get(account));
    }
    return text;
  }

  set(account: string, secret: string): Promise<void> {
    return this.#retried((keychain) => keychain.set(account, secret));
  }

  delete(account: string): Promise<boolean> {
    return this.#retried((keychain) => keychain.delete(account));
  }

  async accounts(): Promise<string[]> {
    // The native library reads every item to list them, and crashes in a session with a wrong key.
    const listed = await listAccounts(this.#context, this.#limitMs);
    return listed ?? (await this.#retried((keychain) => keychain.accounts()));
  }

  async #retried<T>(call: (keychain: Keychain) => Promise<T>): Promise<T> {
    try {
      return await call(this.#inSession);
    } catch (error) {
      if ((error as KeychainError).condition !== 'refused') throw error;
      return await this.#inOtherSession(call);
    }
  }

  async #inOtherSession<T>(call: (keychain: Keychain) => Promise<T>): Promise<T> {
    this.#inSession = await this.#openApart();
    return await call(this.#inSession);
  }
}

function withNamedAccounts(keychain: Keychain): Keychain {
  return {
    ...keychain,
    accounts: async () => {
      const accounts = await keychain.accounts();
      // On macOS keytar reads every item to list them, and lists one without its name if the user denies
      // access.
      if (accounts.includes('')) throw new KeychainError('refused', 'an item could not be read');
      return accounts;
    },
  };
}

/** Checks that the keychain returns a stored value, and leaves nothing behind. Throws `KeychainError`. */
export async function probeKeychain(keychain: Keychain, account: string): Promise<void> {
  const text = randomBytes(16).toString('hex');
  let read: string | null;
  try {
    await keychain.set(account, text);
    read = await keychain.get(account);
  } finally {
    await keychain.delete(account);
  }
  if (read !== text) throw new KeychainError('refused', 'what was stored could not be read back');
}

async function loadLibrary({ loadKeychain, machine }: KeychainContext): Promise<Keychain> {
  try {
    return await loadKeychain();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') throw new KeychainError('no-package');
    const condition = machine.platform === 'linux' ? 'no-library' : 'no-package';
    throw new KeychainError(condition, message.split('\n')[0]);
  }
}

/** The native library reports errors as text only. */
function libraryError(error: unknown): KeychainError {
  if (error instanceof KeychainError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/locked|interaction is not allowed/i.test(message)) return new KeychainError('locked', message);
  if (/autolaunch|D-?Bus.*(connect|address)|could not connect/i.test(message))
    return new KeychainError('no-bus', message);
  if (/not provided by any \.service|NameHasNoOwner|ServiceUnknown/i.test(message))
    return new KeychainError('no-service', message);
  if (/time(d )?-?out/i.test(message)) return new KeychainError('mute', message);
  return new KeychainError('refused', message);
}
