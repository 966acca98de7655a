import { setImmediate } from 'node:timers/promises';
import type { Context, Keychain } from '../context.ts';
import { checkSecretService } from './dbus/secret-service.ts';
import { KeychainError } from './keychain-error.ts';

type Surroundings = Pick<Context, 'environment' | 'machine' | 'clock' | 'loadKeychain'>;

/**
 * Every call ends within 5 s. If the service stops answering during a call, the process still ends late: Node waits for
 * the native thread at exit, and libsecret gives up only after 25 s per call.
 */
const LIMIT = 4_500;
/** macOS shows a dialog that asks the user whether this program may read the item. */
const DIALOG_LIMIT = 60_000;

/**
 * Opens the OS keychain and checks that it is usable. Every call has a time-out; failures are `KeychainError`s. On
 * Linux the Secret Service is checked first, so that the native library is not called when it would hang.
 */
export async function openKeychain(context: Surroundings): Promise<Keychain> {
  const { clock } = context;
  const { platform } = context.machine;
  const started = clock.now();
  const checked =
    platform === 'linux'
      ? checkSecretService(context, { service: 'hooktrail' }, LIMIT - 500)
      : Promise.resolve();
  // The library is loaded while the service answers. The request has to be sent first, since loading blocks the thread.
  const loaded = setImmediate().then(() => load(context));
  for (const outcome of [checked, loaded]) outcome.catch(() => undefined);
  await checked;
  const keychain = await loaded;
  let spent = clock.now() - started;
  let unanswered = false;
  const once = async <T>(call: () => Promise<T>): Promise<T> => {
    // Each unanswered call holds one of the four threads that file operations need, too.
    if (unanswered) throw new KeychainError('mute');
    const limit = platform === 'darwin' ? DIALOG_LIMIT : Math.min(Math.max(LIMIT - spent, 500), LIMIT);
    spent = 0;
    const settled = () => {
      unanswered = false;
    };
    const work = call();
    work.then(settled, settled);
    return await inTime(work, limit, () => {
      unanswered = true;
    });
  };
  const bounded = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await once(call);
    } catch (error) {
      // One libsecret session in 256 has a public key that begins with a zero byte, which libsecret leaves out: KWallet
      // refuses such a key. The next call opens another session.
      if (platform !== 'linux' || (error as KeychainError).condition !== 'refused') throw error;
      return await once(call);
    }
  };
  return {
    get: (account) => bounded(() => keychain.get(account)),
    set: (account, secret) => bounded(() => keychain.set(account, secret)),
    delete: (account) => bounded(() => keychain.delete(account)),
    accounts: async () => {
      const accounts = await bounded(() => keychain.accounts());
      // On macOS keytar reads every item to list them, and gives one that its user denies without its name.
      if (accounts.includes('')) throw new KeychainError('refused', 'an item could not be read');
      return accounts;
    },
  };
}

async function load({ loadKeychain, machine }: Surroundings): Promise<Keychain> {
  try {
    return await loadKeychain();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') throw new KeychainError('no-package');
    throw new KeychainError(
      machine.platform === 'linux' ? 'no-library' : 'no-package',
      message.split('\n')[0],
    );
  }
}

async function inTime<T>(work: Promise<T>, limit: number, onLate: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      onLate();
      reject(new KeychainError('mute'));
    }, limit);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw explained(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The native library reports errors as text only. */
function explained(error: unknown): KeychainError {
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
