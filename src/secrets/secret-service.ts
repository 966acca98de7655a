import type { Context } from '../context.ts';
import {
  BUS,
  type DBus,
  DBusError,
  DBusTimeout,
  hasOwnSocket,
  type MethodCall,
  openDBus,
  sessionBus,
} from './dbus.ts';
import { KeychainError } from './keychain-error.ts';

export const OURS = { service: 'hooktrail' };

const SERVICE = {
  destination: 'org.freedesktop.secrets',
  path: '/org/freedesktop/secrets',
  interface: 'org.freedesktop.Secret.Service',
} as const;

/**
 * Checks that the Secret Service is usable (its specification, "Service" and "Collection") before the native
 * library calls it. A native call that hangs would keep the process alive for 25 s or more, since Node joins
 * its threads on exit, and the library reads a locked keyring as empty. Throws `KeychainError`.
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

/** True if the service has the item; also false if only the native library can reach the bus. */
export async function hasItem(context: BusPlace, account: string, limitMs: number): Promise<boolean> {
  const found = await withBus(context, limitMs, (bus) => searchItems(bus, { ...OURS, account }));
  return found !== undefined && found.open.length + found.locked.length > 0;
}

/** Returns undefined if only the native library can reach the bus. */
export async function listAccounts(context: BusPlace, limitMs: number): Promise<string[] | undefined> {
  return await withBus(context, limitMs, async (bus) => {
    for (let tries = 1; ; tries++) {
      try {
        return await readAccounts(bus);
      } catch (error) {
        // Another process may have deleted an item just found.
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

async function withBus<T>(
  context: BusPlace,
  limitMs: number,
  ask: (bus: DBus) => Promise<T>,
): Promise<T | undefined> {
  const address = await sessionBus(context);
  if (address === 'absent') throw await missingBus(context.machine);
  if (address === 'other') return undefined;
  const bus = await connectToBus(address.socket, context.machine.userId, limitMs);
  if (bus === undefined) return undefined;
  try {
    return await ask(bus);
  } catch (error) {
    throw serviceError(error);
  } finally {
    bus.close();
  }
}

/** Cron jobs and sudo commands lack the variable with the address of the user's session bus. */
async function missingBus({ userId }: BusPlace['machine']): Promise<KeychainError> {
  const folder = `/run/user/${userId}`;
  if (!(await hasOwnSocket(`${folder}/bus`, userId))) return new KeychainError('no-bus');
  return new KeychainError('unnamed-bus', `XDG_RUNTIME_DIR=${folder} names the one of this user`);
}

/**
 * libsecret also begins with this call. It works while the keyring is locked, and makes the bus start the
 * service if possible.
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

async function connectToBus(socket: string, userId: number, limitMs: number) {
  try {
    return await openDBus(socket, userId, limitMs);
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof DBusTimeout)
      throw new KeychainError('mute', 'the D-Bus session bus does not answer');
    if (error instanceof DBusError) throw new KeychainError('refused', `D-Bus: ${message}`);
    throw new KeychainError('no-bus', message);
  }
}

/**
 * Checks that the default collection exists and is unlocked. Not needed if there are items to read. Calls are
 * made one at a time, and repeated once before the collection counts as missing: with two simultaneous calls
 * for an alias, gnome-keyring gives random answers and can crash.
 */
async function checkDefaultCollection(bus: DBus): Promise<void> {
  const readAlias = { ...SERVICE, member: 'ReadAlias', body: ['default'] };
  let [collection] = await bus.call(readAlias);
  if (collection === '/') [collection] = await bus.call(readAlias);
  if (collection === '/') throw new KeychainError('no-keyring');
  const [isLocked] = await bus.call(property(String(collection), 'Collection', 'Locked'));
  if (isLocked !== true || (await isOpenWallet(bus, String(collection)))) return;
  // KeePassXC hides the items of a locked database. Other services find them by their attributes.
  const name = 'org.keepassxc.KeePassXC.MainWindow';
  const [hidesItems] = await bus.call({ ...BUS, member: 'NameHasOwner', body: [name] });
  throw new KeychainError('locked', undefined, hidesItems !== true);
}

/**
 * KWallet reports a collection as locked until a client calls `Unlock` and `Prompt` for it, although the
 * wallet is open, such as after the sign-in to the desktop. The native library makes both calls, without a
 * dialog.
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
  // The bus knows a service but could not start it.
  if (name.startsWith('Spawn.')) return new KeychainError('no-service', message);
  if (name === 'NoReply' || name === 'Timeout' || name === 'TimedOut')
    return new KeychainError('mute', message);
  if (name === 'IsLocked') return new KeychainError('locked');
  return new KeychainError('refused', `${error.errorName}: ${message}`);
}
