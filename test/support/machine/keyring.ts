import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import type { Environment, Machine } from '../../../src/context.ts';
import { checkSecretService, type KeychainCondition } from '../../../src/secrets/keychain.ts';

import { available } from './requirement.ts';

/** A D-Bus session bus for the test, with or without a Secret Service on it. */
export interface Bus extends AsyncDisposable {
  /** The environment for programs that use the bus. */
  readonly env: Readonly<Record<'DBUS_SESSION_BUS_ADDRESS' | 'XDG_RUNTIME_DIR' | 'XDG_DATA_HOME', string>>;
  /** Starts gnome-keyring-daemon. The same password opens the same keyring again. */
  startKeyring(password?: string): Promise<void>;
  stopKeyring(): Promise<void>;
  /** Suspends the keyring: it stays on the bus and does not answer. */
  suspendKeyring(): void;
}

export const hasBus = available('dbus-daemon');
export const hasKeyring = hasBus && available('gnome-keyring-daemon');

export async function startBus(listen?: 'unix:abstract='): Promise<Bus> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-bus-'));
  await mkdir(path.join(folder, 'run'), { mode: 0o700 });
  // Has its own configuration, so that none of the machine's services is started on demand.
  const config = path.join(folder, 'bus.conf');
  await writeFile(config, configuration(`${listen ?? 'unix:path='}${path.join(folder, 'run', 'bus')}`));
  const bus = spawn('/usr/bin/dbus-daemon', ['--nofork', '--print-address', `--config-file=${config}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [address] = await once(createInterface(bus.stdout), 'line');
  const env = {
    DBUS_SESSION_BUS_ADDRESS: String(address),
    XDG_RUNTIME_DIR: path.join(folder, 'run'),
    XDG_DATA_HOME: path.join(folder, 'data'),
  };
  let keyring: ChildProcess | undefined;
  const stopKeyring = async () => {
    await ended(keyring);
    keyring = undefined;
  };
  return {
    env,
    async startKeyring(password) {
      const unlock = password === undefined ? [] : ['--unlock'];
      const daemon = spawn(
        '/usr/bin/gnome-keyring-daemon',
        ['--foreground', '--components=secrets', ...unlock],
        {
          env: { ...env, PATH: '/usr/bin:/bin', HOME: folder },
          stdio: ['pipe', 'ignore', 'ignore'],
        },
      );
      keyring = daemon;
      daemon.stdin.end(password ?? '');
      // It says nothing when it is ready: the bus is asked until somebody answers.
      while ((await serviceCondition(env)) === 'no-service') await setTimeout(20);
    },
    stopKeyring,
    suspendKeyring: () => void keyring?.kill('SIGSTOP'),
    async [Symbol.asyncDispose]() {
      await stopKeyring();
      await ended(bus);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the condition that keeps the program from using the Secret Service of a bus; undefined if there is none. */
export async function serviceCondition(environment: Environment): Promise<KeychainCondition | undefined> {
  const machine = { userId: os.userInfo().uid } as Machine;
  const failure = await checkSecretService({ environment, machine }, {}, 5000).catch((error) => error);
  return failure?.condition;
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function configuration(listen: string): string {
  return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>${listen}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;
}
