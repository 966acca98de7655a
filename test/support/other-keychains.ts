import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type ForegroundTool, startTool } from './foreground-tool.ts';
import { type Bus, hasBus, serviceCondition } from './keyring.ts';
import { available } from './requirement.ts';

/** Implementations of the Secret Service other than gnome-keyring, without a screen and without dialogs. */

export const hasKWallet = hasBus && available('KWallet');

export interface KWallet extends Pick<ForegroundTool, 'end'> {
  /** Restarts the service, as at the beginning of a session: the wallet is closed. */
  restart(): Promise<void>;
  /** Opens the wallet, as the desktop does with the password of the user who logs in. */
  open(): Promise<void>;
}

const QT = { QT_QPA_PLATFORM: 'offscreen', LC_ALL: 'C.UTF-8' };

/** Starts KDE's wallet service with an open wallet. */
export async function startKWallet(bus: Bus): Promise<KWallet> {
  const home = path.dirname(bus.env.XDG_DATA_HOME);
  const config = path.join(home, 'kwallet');
  await mkdir(config);
  await writeFile(
    path.join(config, 'kwalletrc'),
    '[Wallet]\nFirst Use=false\nDefault Wallet=kdewallet\n\n[org.freedesktop.secrets]\napiEnabled=true\n',
  );
  const env = { ...bus.env, ...QT, HOME: home, XDG_CONFIG_HOME: config };
  const start = async () => {
    const daemon = await startTool('/usr/bin/kwalletd5', [], { env });
    while ((await serviceCondition(bus.env)) === 'no-service') await setTimeout(20);
    return daemon;
  };
  const call = async (method: string, ...args: string[]) => {
    const to = ['--session', '--print-reply', '--dest=org.freedesktop.secrets', '/modules/kwalletd5'];
    const words = [...to, `org.kde.KWallet.${method}`, 'string:kdewallet', ...args];
    await promisify(execFile)('/usr/bin/dbus-send', words, { env });
  };
  // This creates a missing wallet. The key has 56 bytes.
  const open = () => call('pamOpen', `array:byte:${Array(56).fill(7).join()}`, 'int32:0');
  let daemon = await start();
  const restart = async () => {
    // The service writes changes to the disk some seconds later, unless it is told to do so now.
    await call('close', 'boolean:true');
    await daemon.end();
    daemon = await start();
  };
  await open();
  // A new wallet that is on the disk becomes a collection at the next start.
  do {
    await restart();
    await open();
  } while ((await serviceCondition(bus.env)) !== undefined);
  return { restart, open, end: () => daemon.end() };
}
