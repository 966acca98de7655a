import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startTool } from '../support/machine/foreground-tool.ts';
import { type Bus, hasBus, hasService, serviceCondition } from '../support/machine/keyring.ts';
import { available } from '../support/machine/requirement.ts';

/** Implementations of the Secret Service other than gnome-keyring. */

export const hasKWallet = hasBus && available('KWallet');
export const hasKeePassXC = hasBus && available('KeePassXC') && available('Xvfb') && available('xdotool');

const QT = { QT_QPA_PLATFORM: 'offscreen', LC_ALL: 'C.UTF-8' };

/** Starts KDE's wallet service with an open wallet. */
export async function startKWallet(bus: Bus) {
  const home = path.dirname(bus.env.XDG_DATA_HOME);
  const config = path.join(home, 'kwallet');
  await mkdir(config);
  await writeFile(
    path.join(config, 'kwalletrc'),
    '[Wallet]\nFirst Use=false\nDefault Wallet=kdewallet\n\n[org.freedesktop.secrets]\napiEnabled=true\n',
  );
  const env = { ...bus.env, ...QT, HOME: home, XDG_CONFIG_HOME: config };
  const start = () => startTool('/usr/bin/kwalletd5', [], { env, ready: () => hasService(bus.env) });
  const call = (method: string, ...args: string[]) =>
    dbusSend(
      env,
      'org.freedesktop.secrets /modules/kwalletd5',
      `org.kde.KWallet.${method}`,
      'string:kdewallet',
      ...args,
    );
  /**
   * Opens the wallet, as the desktop does with the password of the user who logs in; creates it. The key has
   * 56 bytes.
   */
  const open = () => call('pamOpen', `array:byte:${Array(56).fill(7).join()}`, 'int32:0');
  let daemon = await start();
  /** Restarts the service, as at the beginning of a session: the wallet is closed. */
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
  return { lock: restart, open, end: () => daemon.end() };
}

async function dbusSend(env: Readonly<Record<string, string>>, to: string, ...words: string[]) {
  const [name, place] = to.split(' ') as [string, string];
  const args = ['--session', '--print-reply', `--dest=${name}`, place, ...words];
  await promisify(execFile)('/usr/bin/dbus-send', args, { env });
}

const EXPOSED_GROUP = '00112233-4455-6677-8899-aabbccddeeff';

/**
 * An empty database whose root group is offered on the bus. Only the settings window can set that otherwise.
 */
const DATABASE = `<?xml version="1.0" encoding="UTF-8"?>
<KeePassFile>
  <Meta><CustomData><Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key><Value>{${EXPOSED_GROUP}}</Value></Item></CustomData></Meta>
  <Root><Group>
    <UUID>${Buffer.from(EXPOSED_GROUP.replaceAll('-', ''), 'hex').toString('base64')}</UUID><Name>Root</Name>
  </Group></Root>
</KeePassFile>
`;

/**
 * Without its questions: whether to update, to unlock for a search, and to let a program read or delete an
 * item.
 */
const KEEPASSXC_SETTINGS = `[General]
ConfigVersion=2
UpdateCheckMessageShown=true
[GUI]
CheckForUpdates=false
[FdoSecrets]
Enabled=true
ShowNotification=false
ConfirmAccessItem=false
ConfirmDeleteItem=false
UnlockBeforeSearch=false
`;

/**
 * Starts KeePassXC with an open database, on a screen where somebody allows whatever it asks: it asks before
 * an item is replaced, whatever its settings say.
 */
export async function startKeePassXC(bus: Bus) {
  const home = path.join(path.dirname(bus.env.XDG_DATA_HOME), 'keepassxc');
  await mkdir(home);
  const file = (name: string) => path.join(home, name);
  await writeFile(file('settings.ini'), KEEPASSXC_SETTINGS);
  await writeFile(file('database.xml'), DATABASE);
  // A server that resets itself when its last client leaves, as xdotool does, refuses whoever connects
  // meanwhile.
  const screenArgs = ['-displayfd', '1', '-nolisten', 'tcp', '-noreset'];
  const screen = await startTool('/usr/bin/Xvfb', screenArgs, { ready: /\d+\n/ });
  const display = { DISPLAY: `:${screen.printed.match(/\d+(?=\n)/)?.[0]}` };
  // A second KeePassXC with the same temporary folder would end at once.
  const env = { ...bus.env, ...display, QT_QPA_PLATFORM: 'xcb', LC_ALL: 'C.UTF-8', HOME: home, TMPDIR: home };
  const answer =
    'while sleep 0.1; do xdotool search --onlyvisible --name "Access Request" windowfocus key Return; done';
  const person = await startTool('/bin/sh', ['-c', answer], { env: display });
  const password = 'a password\n';
  const words = ['import', '--set-password', file('database.xml'), file('database.kdbx')];
  const imported = await startTool('/usr/bin/keepassxc-cli', words, { env, input: password + password });
  await imported.ended;
  const args = ['--config', file('settings.ini'), '--localconfig', file('state.ini')];
  const start = () => startTool('/usr/bin/keepassxc', args, { env, ready: () => hasService(bus.env) });
  let program = await start();
  const call = (method: string, ...strings: string[]) =>
    dbusSend(
      env,
      'org.keepassxc.KeePassXC.MainWindow /keepassxc',
      `org.keepassxc.KeePassXC.MainWindow.${method}`,
      ...strings.map((one) => `string:${one}`),
    );
  const open = async () => {
    await call('openDatabase', file('database.kdbx'), password.trim());
    // KeePassXC can crash if a client searches while a database opens: its window says when that is over.
    const words = ['search', '--sync', '--name', 'database.kdbx - KeePassXC'];
    await promisify(execFile)('/usr/bin/xdotool', words, { env });
    while ((await serviceCondition(bus.env)) !== undefined) await setTimeout(100);
  };
  /**
   * Opens it in a new process: the one that locked it can crash when it opens it again (in 2 of 5 runs under
   * load).
   */
  const openAgain = async () => {
    await program.end();
    program = await start();
    await open();
  };
  const lock = async () => {
    await call('lockAllDatabases');
    while ((await serviceCondition(bus.env)) !== 'locked') await setTimeout(100);
  };
  await open();
  return {
    lock,
    open: openAgain,
    end: async () => {
      for (const tool of [person, program, screen]) await tool.end();
    },
  };
}
