import type { Context } from '../context.ts';
import type { MethodCall } from './dbus.ts';
import { DBusConnection, DBusError, DBusTimeout, sessionBus } from './dbus.ts';

const SERVICE = {
  destination: 'org.freedesktop.secrets',
  path: '/org/freedesktop/secrets',
  interface: 'org.freedesktop.Secret.Service',
} as const;

/** Why the Secret Service cannot be used now. */
export class SecretServiceError extends Error {
  readonly condition: 'no-bus' | 'no-service' | 'no-keyring' | 'locked' | 'mute' | 'refused';
  readonly detail: string | undefined;
  /** True if it holds none of our secrets although it is locked. */
  readonly holdsNothing: boolean;

  constructor(condition: SecretServiceError['condition'], detail?: string, holdsNothing = false) {
    super(condition);
    this.condition = condition;
    this.detail = detail;
    this.holdsNothing = holdsNothing;
  }
}

/**
 * Checks that the Secret Service can be used (its specification, "Service" and "Collection") before the native library
 * calls it: a native call that hangs would keep the process alive for 25 s or more, since Node joins its threads on
 * exit, and a locked keyring looks empty to it. `limit` is in milliseconds. Throws `SecretServiceError`.
 */
export async function checkSecretService(
  context: Pick<Context, 'environment' | 'machine'>,
  attributes: Readonly<Record<string, string>>,
  limit: number,
): Promise<void> {
  const address = await sessionBus(context);
  if (address === 'absent') throw new SecretServiceError('no-bus');
  if (address === 'other') return;
  // libsecret also begins with this call. It works while the keyring is locked, and the bus starts the service if it
  // can.
  const search: MethodCall = { ...SERVICE, member: 'SearchItems', body: [attributes] };
  const connection = await connected(address.socket, context.machine.userId, limit, search);
  if (connection === undefined) return;
  const { bus, result } = connection;
  try {
    const [open, locked] = await result.catch((error) => {
      // Under many simultaneous calls, gnome-keyring answers about one in a thousand with "no such method".
      if (error instanceof DBusError && error.errorName.endsWith('.UnknownMethod')) return bus.call(search);
      throw error;
    });
    const collections = new Set(paths(locked).map((item) => item.slice(0, item.lastIndexOf('/'))));
    for (const collection of collections)
      if (!(await isOpenWallet(bus, collection))) throw new SecretServiceError('locked');
    if (paths(open).length === 0 && collections.size === 0) await checkDefaultCollection(bus);
  } catch (error) {
    throw explained(error);
  } finally {
    bus.close();
  }
}

/**
 * Checks that the default collection exists and is unlocked. Skipped if there are items to read. The calls go one at a
 * time, and are repeated once before the collection counts as missing: with two simultaneous calls for an alias,
 * gnome-keyring gives random answers and can crash.
 */
async function checkDefaultCollection(bus: DBusConnection): Promise<void> {
  const readAlias = { ...SERVICE, member: 'ReadAlias', body: ['default'] };
  let [collection] = await bus.call(readAlias);
  if (collection === '/') [collection] = await bus.call(readAlias);
  if (collection === '/') throw new SecretServiceError('no-keyring');
  const [isLocked] = await bus.call(property(String(collection), 'Locked'));
  if (isLocked === true && !(await isOpenWallet(bus, String(collection))))
    throw new SecretServiceError('locked', undefined, !(await hidesLockedItems(bus)));
}

/** KeePassXC does not know the items of a locked database. Other services find them, by their attributes. */
async function hidesLockedItems(bus: DBusConnection): Promise<boolean> {
  const [isKeePassXC] = await bus.call({
    destination: 'org.freedesktop.DBus',
    path: '/org/freedesktop/DBus',
    interface: 'org.freedesktop.DBus',
    member: 'NameHasOwner',
    body: ['org.keepassxc.KeePassXC.MainWindow'],
  });
  return isKeePassXC === true;
}

/**
 * KWallet calls a collection locked until one of its clients calls `Unlock` and `Prompt` for it, although the wallet is
 * open, by the sign-in to the desktop for instance. The native library calls both, and no dialog is shown then.
 */
async function isOpenWallet(bus: DBusConnection, collection: string): Promise<boolean> {
  const [wallet] = await bus.call(property(collection, 'Label'));
  for (const path of ['/modules/kwalletd6', '/modules/kwalletd5']) {
    const isOpen: MethodCall = { ...SERVICE, path, interface: 'org.kde.KWallet', member: 'isOpen' };
    const [answer] = await bus.call({ ...isOpen, body: [String(wallet)] }).catch((error) => {
      if (error instanceof DBusError) return [false];
      throw error;
    });
    if (answer === true) return true;
  }
  return false;
}

function property(collection: string, name: 'Label' | 'Locked'): MethodCall {
  return {
    ...SERVICE,
    path: collection,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    body: ['org.freedesktop.Secret.Collection', name],
  };
}

async function connected(socket: string, userId: number, limit: number, first: MethodCall) {
  try {
    return await DBusConnection.open(socket, userId, limit, first);
  } catch (error) {
    if (error instanceof DBusTimeout)
      throw new SecretServiceError('mute', 'the D-Bus session bus does not answer');
    if (error instanceof DBusError) throw new SecretServiceError('refused', `D-Bus: ${error.message}`);
    // Node 20 pads abstract names with NULs and therefore cannot connect there; the native library can.
    if (socket.startsWith('\0')) return undefined;
    throw new SecretServiceError('no-bus', (error as Error).message);
  }
}

function paths(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function explained(error: unknown): unknown {
  if (error instanceof SecretServiceError) return error;
  if (error instanceof DBusTimeout) return new SecretServiceError('mute');
  if (!(error instanceof DBusError)) return new SecretServiceError('mute', (error as Error).message);
  const name = error.errorName.replace(/^org\.freedesktop\.(DBus\.Error|Secret\.Error)\./, '');
  if (name === 'ServiceUnknown' || name === 'NameHasNoOwner') return new SecretServiceError('no-service');
  // The bus knows a service, but starting it failed.
  if (name.startsWith('Spawn.')) return new SecretServiceError('no-service', error.message);
  if (name === 'NoReply' || name === 'Timeout' || name === 'TimedOut')
    return new SecretServiceError('mute', error.message);
  if (name === 'IsLocked') return new SecretServiceError('locked');
  return new SecretServiceError('refused', `${error.errorName}: ${error.message}`);
}
