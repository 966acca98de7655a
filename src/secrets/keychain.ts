import type { Context, Keychain } from '../context.ts';
import { checkSecretService, SecretServiceError } from './secret-service.ts';
import { StoreError } from './vault.ts';

/** The reason why the OS keychain cannot be used now. */
export type KeychainCondition = 'no-package' | 'no-library' | SecretServiceError['condition'];

const ABSENT: readonly KeychainCondition[] = [
  'no-package',
  'no-library',
  'no-bus',
  'no-service',
  'no-keyring',
];

/** The keychain is not usable; the message and the next step depend on why. */
export class KeychainError extends StoreError {
  readonly condition: KeychainCondition;
  readonly holdsNothing: boolean;

  constructor(condition: KeychainCondition, detail?: string, holdsNothing = ABSENT.includes(condition)) {
    const { message, step } = TEXTS[condition];
    super(message, {
      details: detail ? [detail] : [],
      next: `${step}, or keep the secrets in an encrypted file: \`hooktrail login --store file\` (or HOOKTRAIL_STORE=file)`,
    });
    this.condition = condition;
    this.holdsNothing = holdsNothing;
  }
}

const TEXTS: Readonly<Record<KeychainCondition, { message: string; step: string }>> = {
  'no-package': {
    message: 'the OS keychain cannot be reached: the npm package keytar is not installed',
    step: 'install hooktrail again without `--omit=optional`',
  },
  'no-library': {
    message: 'the OS keychain cannot be reached: its native library could not be loaded',
    step: 'install libsecret (Debian, Ubuntu: `apt install libsecret-1-0`; Fedora: `dnf install libsecret`)',
  },
  'no-bus': {
    message: 'the OS keychain cannot be reached: there is no D-Bus session bus',
    step: 'run hooktrail in a desktop session, or under `dbus-run-session` with an unlocked keyring',
  },
  'no-service': {
    message: 'there is no OS keychain: no Secret Service runs on the D-Bus session bus',
    step: 'start one (gnome-keyring, KWallet, KeePassXC)',
  },
  'no-keyring': {
    message: 'the OS keychain has no default keyring to store anything in',
    step: 'create one (in "Passwords and Keys", or by signing in to the desktop once)',
  },
  locked: {
    message: 'the OS keychain is locked',
    step: 'unlock it (in "Passwords and Keys" or your wallet manager, with `gnome-keyring-daemon --unlock`, on macOS with `security unlock-keychain`) and run the command again',
  },
  mute: {
    message: 'the OS keychain does not answer',
    step: 'look for a dialog of the keychain that waits for you, or restart its service',
  },
  refused: {
    message: 'the OS keychain refused',
    step: 'allow hooktrail to use it (macOS calls it node)',
  },
};

type Surroundings = Pick<Context, 'environment' | 'machine' | 'clock' | 'loadKeychain'>;

/**
 * How long the keychain may take for one answer. On a busy machine forty commands that start at once wait for each other
 * there. If the service stops answering during a call, the process still ends late: Node waits for the native thread at
 * exit, and libsecret gives up only after 25 s per call.
 */
const CALL_LIMIT_MS = 10_000;
/** macOS shows a dialog that asks the user whether this program may read the item. */
const DIALOG_LIMIT_MS = 60_000;

/**
 * Opens the OS keychain and checks that it is usable. Every call has a time-out; failures are `KeychainError`s. On
 * Linux the Secret Service is checked first, so that the native library is not called when it would hang.
 */
export async function openKeychain(context: Surroundings, callLimitMs = CALL_LIMIT_MS): Promise<Keychain> {
  const { platform } = context.machine;
  const [, keychain] = await Promise.all([
    platform === 'linux' ? checkLinux(context, callLimitMs) : undefined,
    loadLibrary(context),
  ]);
  let unanswered = false;
  const once = async <T>(call: () => Promise<T>): Promise<T> => {
    // Each unanswered call holds one of the four threads that file operations need, too.
    if (unanswered) throw new KeychainError('mute');
    const limit = platform === 'darwin' ? DIALOG_LIMIT_MS : callLimitMs;
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

async function checkLinux(context: Surroundings, limit: number): Promise<void> {
  try {
    await checkSecretService(context, { service: 'hooktrail' }, limit);
  } catch (error) {
    if (!(error instanceof SecretServiceError)) throw error;
    const { condition, detail, holdsNothing } = error;
    throw new KeychainError(condition, detail, holdsNothing || undefined);
  }
}

async function loadLibrary({ loadKeychain, machine }: Surroundings): Promise<Keychain> {
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
