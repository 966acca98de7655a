import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { checkWritable } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { readsSystemTrust } from '../http/certificates.ts';
import { LockedError, withLock } from '../lock/lock.ts';
import { sessionBus } from '../secrets/dbus/bus-connection.ts';
import { openKeychain } from '../secrets/keychain.ts';
import { shellWord } from '../settings/command-words.ts';
import type { Settings } from '../settings/settings.ts';
import { listenForRedirect } from '../sign-in/redirect-listener.ts';
import { broken, doubtful, type Finding, failed, ok } from './finding.ts';

/** The checks that only need this machine. */
export function machineChecks(settings: Settings | undefined, context: Context): Promise<Finding>[] {
  const store = settings?.store ?? 'keychain';
  return [
    Promise.resolve(ok('node', `Node.js ${context.machine.runtime}`)),
    keychain(store, context),
    ...(context.machine.platform === 'linux' && store === 'keychain' ? [bus(context)] : []),
    folder(context),
    lock(context),
    ...(settings ? [redirectPort(settings)] : []),
    certificates(context),
  ];
}

async function keychain(store: 'keychain' | 'file', context: Context): Promise<Finding> {
  if (store === 'file')
    return ok('keychain', 'not used: the secrets are in an encrypted file (HOOKTRAIL_STORE, --store)');
  try {
    // No item has that name, so no system asks the user for permission to read it.
    await (await openKeychain(context)).get('doctor');
    return ok('keychain', 'the OS keychain is there, unlocked, and answers');
  } catch (error) {
    return failed('keychain', error);
  }
}

async function bus(context: Context): Promise<Finding> {
  const found = await sessionBus(context);
  if (found === 'absent')
    return broken(
      'd-bus',
      'there is no D-Bus session bus, which the keychain needs',
      'run hooktrail in a desktop session or under `dbus-run-session`, or use `--store file`',
    );
  if (found === 'other')
    return doubtful(
      'd-bus',
      'the session bus is not on a local socket',
      'if the keychain does not answer, check DBUS_SESSION_BUS_ADDRESS',
    );
  return ok('d-bus', `the session bus is ${found.socket.replace(/^\0/, '@')}`);
}

async function folder(context: Context): Promise<Finding> {
  const check = 'configuration';
  const place = configFolder(context);
  const existing = await nearest(place);
  try {
    await checkWritable(path.join(existing, 'config.json'), context.machine);
  } catch (error) {
    return broken(
      check,
      `${existing} is not writable (${(error as NodeJS.ErrnoException).code})`,
      'make it writable for this user, or choose another folder with HOOKTRAIL_CONFIG_DIR',
    );
  }
  if (existing !== place) return ok(check, `${place} will be created when something is saved`);
  const { mode, uid } = await stat(place);
  const { platform, userId } = context.machine;
  if (platform !== 'win32' && uid !== userId)
    return broken(check, `${place} belongs to another user`, `\`chown\` it to this user`);
  if (platform !== 'win32' && (mode & 0o022) !== 0)
    return broken(check, `others can write to ${place}`, `\`chmod 700 ${shellWord(place)}\``);
  if (platform !== 'win32' && (mode & 0o055) !== 0)
    return doubtful(
      check,
      `others can look into ${place}; each secret file is private`,
      `\`chmod 700 ${shellWord(place)}\``,
    );
  return ok(check, place);
}

/** The folder, or its nearest ancestor that exists. */
async function nearest(place: string): Promise<string> {
  const parent = path.dirname(place);
  const exists = await stat(place).catch(() => undefined);
  return exists || parent === place ? place : await nearest(parent);
}

async function lock(context: Context): Promise<Finding> {
  try {
    await withLock('doctor', context, async () => undefined, { patience: 0, subject: 'the check' });
    return ok('lock', 'locks can be taken and freed');
  } catch (error) {
    if (error instanceof LockedError) return failed('lock', error, 'doubtful');
    return failed('lock', error);
  }
}

async function redirectPort({ redirectUri }: Settings): Promise<Finding> {
  try {
    (await listenForRedirect(redirectUri)).close();
    return ok('redirect', `${redirectUri.text} is free for a sign-in`);
  } catch (error) {
    return failed('redirect', error, 'doubtful');
  }
}

async function certificates({ environment }: Context): Promise<Finding> {
  const check = 'certificates';
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    return broken(
      check,
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off',
      "unset it, and name your company's authority with NODE_EXTRA_CA_CERTS",
    );
  const extra = environment['NODE_EXTRA_CA_CERTS'];
  if (!extra) {
    const trusted = (await readsSystemTrust())
      ? "Node's own authorities and those of the operating system are trusted"
      : "Node's own authorities are trusted";
    return ok(check, `${trusted}; NODE_EXTRA_CA_CERTS is not set`);
  }
  const text = await readFile(extra, 'utf8').catch((error: NodeJS.ErrnoException) => error);
  const next = 'set it to a file with the certificate of the authority (PEM)';
  if (text instanceof Error) return broken(check, `NODE_EXTRA_CA_CERTS: ${text.message}`, next);
  const count = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (count === 0) return broken(check, `NODE_EXTRA_CA_CERTS: ${extra} holds no certificate`, next);
  return ok(check, `NODE_EXTRA_CA_CERTS adds ${count} from ${extra}`);
}
