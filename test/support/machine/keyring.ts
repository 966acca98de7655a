import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Environment, Machine } from '../../../src/context.ts';
import type { KeychainCondition } from '../../../src/secrets/keychain-error.ts';
import { checkSecretService } from '../../../src/secrets/secret-service.ts';
import { type ForegroundTool, startTool } from './foreground-tool.ts';
import { available } from './requirement.ts';

export const hasBus = available('dbus-daemon');
export const hasKeyring = hasBus && available('gnome-keyring-daemon');

/** A D-Bus session bus for the test, with or without a Secret Service on it. */
export async function startBus(listen?: 'unix:abstract=') {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-bus-'));
  await mkdir(path.join(folder, 'run'), { mode: 0o700 });
  // Has its own configuration, so that none of the machine's services is started on demand.
  const config = path.join(folder, 'bus.conf');
  await writeFile(config, configuration(`${listen ?? 'unix:path='}${path.join(folder, 'run', 'bus')}`));
  const bus = await startTool(
    '/usr/bin/dbus-daemon',
    ['--nofork', '--print-address', `--config-file=${config}`],
    { ready: /\n/ },
  );
  const env = {
    DBUS_SESSION_BUS_ADDRESS: bus.printed.split('\n')[0] as string,
    XDG_RUNTIME_DIR: path.join(folder, 'run'),
    XDG_DATA_HOME: path.join(folder, 'data'),
  };
  let keyring: ForegroundTool | undefined;
  const stopKeyring = async () => {
    await keyring?.end();
    keyring = undefined;
  };
  return {
    /** The environment for programs that use the bus. */
    env,
    /** Starts gnome-keyring-daemon. The same password opens the same keyring again. */
    async startKeyring(password?: string) {
      const unlock = password === undefined ? [] : ['--unlock'];
      const args = ['--foreground', '--components=secrets', ...unlock];
      keyring = await startTool('/usr/bin/gnome-keyring-daemon', args, {
        env: { ...env, PATH: '/usr/bin:/bin', HOME: folder },
        input: password ?? '',
        ready: () => hasService(env),
      });
    },
    stopKeyring,
    /** Suspends the keyring: it stays on the bus and does not answer. */
    suspendKeyring: () => keyring?.kill('SIGSTOP'),
    async [Symbol.asyncDispose]() {
      await stopKeyring();
      await bus.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Bus = Awaited<ReturnType<typeof startBus>>;

/**
 * True once somebody on the bus answers as the Secret Service: those that start say nothing when they are
 * ready.
 */
export const hasService = async (environment: Environment) =>
  (await serviceCondition(environment)) !== 'no-service';

/**
 * Returns the condition that keeps the program from using the Secret Service of a bus; undefined if there is
 * none.
 */
export async function serviceCondition(environment: Environment): Promise<KeychainCondition | undefined> {
  const machine = { userId: os.userInfo().uid } as Machine;
  const failure = await checkSecretService({ environment, machine }, {}, 5000).catch((error) => error);
  return failure?.condition;
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
