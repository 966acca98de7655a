import { randomBytes } from 'node:crypto';
import { advise, hooktrail } from '../advice.ts';
import type { Context, Keychain } from '../context.ts';
import { UsageError } from '../errors.ts';
import { BUS, type DBus, DBusError, DBusTimeout, type MethodCall, openDBus, sessionBus } from './dbus.ts';

/** The reason why the OS keychain cannot be used now. */
export type KeychainCondition = keyof typeof TEXTS;

/** The keychain is not usable; the message and the next step depend on why. */
export class KeychainError extends UsageError {
  readonly condition: KeychainCondition;
  /** True if it holds none of our secrets: there is no keychain, or it said so although it is locked. */
  readonly holdsNothing: boolean;

  constructor(condition: KeychainCondition, detail?: string, holdsNothing = ABSENT.has(condition)) {
    const { message, step } = TEXTS[condition];
    super(message, {
      details: detail ? [detail] : [],
      next: advise`${step}, or keep the secrets in an encrypted file: ${hooktrail('login --store file')} (or HOOKTRAIL_STORE=file)`,
    });
    this.condition = condition;
    this.holdsNothing = holdsNothing;
  }
}

const TEXTS = {
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
  unreadable: {
    message: 'the OS keychain has the item, but what it gave cannot be decrypted',
    step: advise`run the command again, or replace the item with ${hooktrail('logout')} and ${hooktrail('login')}`,
  },
  refused: { message: 'the OS keychain refused', step: 'allow hooktrail to use it (macOS calls it node)' },
} as const;

const ABSENT = new Set<KeychainCondition>(['no-package', 'no-library', 'no-bus', 'no-service', 'no-keyring']);

type KeychainContext = Pick<Context, 'environment' | 'machine' | 'loadKeychain'>;

/**
 * How long the keychain may take for one answer. On a busy machine forty commands that start at once wait for
 * each other there. If the service stops answering during a call, the process still ends late: Node waits for
 * the native thread at exit, and libsecret gives up only after 25 s per call.
 */
const CALL_LIMIT_MS = 10_000;
/** macOS shows a dialog that asks the user whether this program may read the item. */
const DIALOG_LIMIT_MS = 60_000;

/**
 * Opens the OS keychain and checks that it is usable. Every call has a time-out; failures are
 * `KeychainError`s. On Linux the Secret Service is checked first, so that the native library is not called
 * when it would hang.
 */
export async function openKeychain(context: KeychainContext, callLimitMs = CALL_LIMIT_MS): Promise<Keychain> {
  const { platform } = context.machine;
  let [keychain] = await Promise.all([
    loadLibrary(context),
    platform === 'linux' ? checkSecretService(context, OURS, callLimitMs) : undefined,
  ]);
  const limitMs = platform === 'darwin' ? DIALOG_LIMIT_MS : callLimitMs;
  let unanswered: Promise<unknown> | undefined;
  const once = async <T>(call: () => Promise<T>): Promise<T> => {
    // Each unanswered call holds one of the four threads that file operations need, too.
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
  // KWallet before 6.25 misreads the keys of about one libsecret session in a hundred (bugs.kde.org 514194):
  // it refuses the session, or has another key for it than libsecret. Then items seem to be missing, and new
  // ones are refused or, rarely, stored damaged. A process keeps its session, so all later calls are made in
  // other processes.
  const inOtherSession = async <T>(call: (keychain: Keychain) => Promise<T>): Promise<T> => {
    keychain = await context.loadKeychain('apart');
    return await once(() => call(keychain));
  };
  const bounded = async <T>(call: (keychain: Keychain) => Promise<T>): Promise<T> => {
    try {
      return await once(() => call(keychain));
    } catch (error) {
      if (platform !== 'linux' || (error as KeychainError).condition !== 'refused') throw error;
      return await inOtherSession(call);
    }
  };
  return {
    get: async (account) => {
      const get = (from: Keychain) => from.get(account);
      let text = await bounded(get);
      for (let tries = 1; text === null && platform === 'linux'; tries++) {
        if (!(await hasItem(context, account, callLimitMs))) break;
        if (tries > 2) throw new KeychainError('unreadable');
        text = await inOtherSession(get);
      }
      return text;
    },
    set: (account, secret) => bounded((to) => to.set(account, secret)),
    delete: (account) => bounded((from) => from.delete(account)),
    accounts: async () => {
      // The native library reads every item to list them, and ends the process in a session with a wrong key.
      const listed = platform === 'linux' ? await listAccounts(context, callLimitMs) : undefined;
      const accounts = listed ?? (await bounded((from) => from.accounts()));
      // On macOS keytar reads every item to list them, and lists one without its name if the user denies it.
      if (accounts.includes('')) throw new KeychainError('refused', 'an item could not be read');
      return accounts;
    },
  };
}

/** Checks that the keychain gives back what it takes, and leaves nothing behind. Throws `KeychainError`. */
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

/** The attribute by which the native library finds the items of this program. */
const OURS = { service: 'hooktrail' };

const SERVICE = {
  destination: 'org.freedesktop.secrets',
  path: '/org/freedesktop/secrets',
  interface: 'org.freedesktop.Secret.Service',
} as const;

/**
 * Checks that the Secret Service can be used (its specification, "Service" and "Collection") before the
 * native library calls it: a native call that hangs would keep the process alive for 25 s or more, since Node
 * joins its threads on exit, and a locked keyring looks empty to it. Throws `KeychainError`.
 */
export async function checkSecretService(
  context: BusPlace,
  attributes: Readonly<Record<string, string>>,
  limitMs: number,
): Promise<void> {
  await withBus(context, limitMs, async (bus) => {
    const { open, locked } = await searchItems(bus, attributes);
    const collections = new Set(locked.map((item) => item.slice(0, item.lastIndexOf('/'))));
    for (const collection of collections)
      if (!(await isOpenWallet(bus, collection))) throw new KeychainError('locked');
    if (open.length === 0 && collections.size === 0) await checkDefaultCollection(bus);
  });
}

/** False also if only the native library can reach the bus. */
async function hasItem(context: BusPlace, account: string, limitMs: number): Promise<boolean> {
  const found = await withBus(context, limitMs, (bus) => searchItems(bus, { ...OURS, account }));
  return found !== undefined && found.open.length + found.locked.length > 0;
}

/** Returns the accounts of our items; undefined if only the native library can reach the bus. */
async function listAccounts(context: BusPlace, limitMs: number): Promise<string[] | undefined> {
  return await withBus(context, limitMs, async (bus) => {
    for (let tries = 1; ; tries++) {
      try {
        return await readAccounts(bus);
      } catch (error) {
        // Another process may have deleted an item that was just found.
        if (!(error instanceof DBusError) || tries === 3) throw error;
      }
    }
  });
}

async function readAccounts(bus: DBus): Promise<string[]> {
  const { open, locked } = await searchItems(bus, OURS);
  const accounts: string[] = [];
  for (const item of [...open, ...locked]) {
    const [attributes] = await bus.call(property(item, 'Item', 'Attributes'));
    const { account } = Object.fromEntries(attributes as [string, string][]);
    if (account !== undefined) accounts.push(account);
  }
  return accounts;
}

type BusPlace = Pick<Context, 'environment' | 'machine'>;

/**
 * Asks the Secret Service on the session bus; undefined if only the native library can reach it. Throws
 * `KeychainError`.
 */
async function withBus<T>(
  context: BusPlace,
  limitMs: number,
  ask: (bus: DBus) => Promise<T>,
): Promise<T | undefined> {
  const address = await sessionBus(context);
  if (address === 'absent') throw new KeychainError('no-bus');
  if (address === 'other') return undefined;
  const bus = await connectTo(address.socket, context.machine.userId, limitMs);
  if (bus === undefined) return undefined;
  try {
    return await ask(bus);
  } catch (error) {
    throw serviceError(error);
  } finally {
    bus.close();
  }
}

/**
 * libsecret also begins with this call. It works while the keyring is locked, and the bus starts the service
 * if it can.
 */
async function searchItems(bus: DBus, attributes: Readonly<Record<string, string>>) {
  const search: MethodCall = { ...SERVICE, member: 'SearchItems', body: [attributes] };
  const [open, locked] = await bus.call(search).catch((error) => {
    // Under many simultaneous calls, gnome-keyring answers about one in a thousand with "no such method".
    if (error instanceof DBusError && error.errorName.endsWith('.UnknownMethod')) return bus.call(search);
    throw error;
  });
  return { open: paths(open), locked: paths(locked) };
}

async function connectTo(socket: string, userId: number, limitMs: number) {
  try {
    return await openDBus(socket, userId, limitMs);
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof DBusTimeout)
      throw new KeychainError('mute', 'the D-Bus session bus does not answer');
    if (error instanceof DBusError) throw new KeychainError('refused', `D-Bus: ${message}`);
    // Node 20 pads abstract names with NULs and therefore cannot connect there; the native library can.
    if (socket.startsWith('\0')) return undefined;
    throw new KeychainError('no-bus', message);
  }
}

/**
 * Checks that the default collection exists and is unlocked. Skipped if there are items to read. The calls go
 * one at a time, and are repeated once before the collection counts as missing: with two simultaneous calls
 * for an alias, gnome-keyring gives random answers and can crash.
 */
async function checkDefaultCollection(bus: DBus): Promise<void> {
  const readAlias = { ...SERVICE, member: 'ReadAlias', body: ['default'] };
  let [collection] = await bus.call(readAlias);
  if (collection === '/') [collection] = await bus.call(readAlias);
  if (collection === '/') throw new KeychainError('no-keyring');
  const [isLocked] = await bus.call(property(String(collection), 'Collection', 'Locked'));
  if (isLocked !== true || (await isOpenWallet(bus, String(collection)))) return;
  // KeePassXC does not know the items of a locked database. Other services find them, by their attributes.
  const name = 'org.keepassxc.KeePassXC.MainWindow';
  const [hidesItems] = await bus.call({ ...BUS, member: 'NameHasOwner', body: [name] });
  throw new KeychainError('locked', undefined, hidesItems !== true);
}

/**
 * KWallet calls a collection locked until one of its clients calls `Unlock` and `Prompt` for it, although the
 * wallet is open, by the sign-in to the desktop for instance. The native library calls both, and no dialog is
 * shown then.
 */
async function isOpenWallet(bus: DBus, collection: string): Promise<boolean> {
  const [wallet] = await bus.call(property(collection, 'Collection', 'Label'));
  for (const path of ['/modules/kwalletd6', '/modules/kwalletd5']) {
    const isOpen = { ...SERVICE, path, interface: 'org.kde.KWallet', member: 'isOpen' };
    const [answer] = await bus.call({ ...isOpen, body: [String(wallet)] }).catch((error) => {
      if (error instanceof DBusError) return [false];
      throw error;
    });
    if (answer === true) return true;
  }
  return false;
}

function property(path: string, kind: 'Collection' | 'Item', name: string): MethodCall {
  return {
    ...SERVICE,
    path,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    body: [`org.freedesktop.Secret.${kind}`, name],
  };
}

function paths(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function serviceError(error: unknown): KeychainError {
  if (error instanceof KeychainError) return error;
  if (error instanceof DBusTimeout) return new KeychainError('mute');
  const { message } = error as Error;
  if (!(error instanceof DBusError)) return new KeychainError('mute', message);
  const name = error.errorName.replace(/^org\.freedesktop\.(DBus\.Error|Secret\.Error)\./, '');
  if (name === 'ServiceUnknown' || name === 'NameHasNoOwner') return new KeychainError('no-service');
  // The bus knows a service, but starting it failed.
  if (name.startsWith('Spawn.')) return new KeychainError('no-service', message);
  if (name === 'NoReply' || name === 'Timeout' || name === 'TimedOut')
    return new KeychainError('mute', message);
  if (name === 'IsLocked') return new KeychainError('locked');
  return new KeychainError('refused', `${error.errorName}: ${message}`);
}
