import { randomBytes } from 'node:crypto';
import { browserCommand } from '../support/browser.ts';
import { createHome } from '../support/home.ts';
import { hasKeyring, startBus } from '../support/keyring.ts';
import type { SandboxSettings } from '../support/sandbox.ts';
import { sandboxEnv } from '../support/sandbox-env.ts';
import { measure } from './measure.ts';
import { program } from './sandbox-process.ts';

export interface SignedIn extends AsyncDisposable {
  /** The environment for a command that finds its access token where `login` cached it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file or keychain that holds the secrets. */
  readonly store: 'keychain' | 'file';
}

/** True if a Secret Service can be started on this machine, so that it has a keychain. */
export const hasKeychain = hasKeyring;

/** Creates a user who is signed in to a running sandbox. A file is sealed with a random key. */
export async function signInTo(
  settings: SandboxSettings,
  store: SignedIn['store'] = hasKeychain ? 'keychain' : 'file',
): Promise<SignedIn> {
  const home = await createHome();
  const bus = store === 'keychain' ? await startBus() : undefined;
  await bus?.startKeyring('a password of the bench');
  const { HOOKTRAIL_CLIENT_SECRET, ...configured } = sandboxEnv(settings);
  const env = {
    ...home.env,
    // Without the preload that gives tests their clock: its start-up time would be measured, too.
    NODE_OPTIONS: undefined,
    NODE_EXTRA_CA_CERTS: undefined,
    ...bus?.env,
    ...configured,
    HOOKTRAIL_STORE: store,
    HOOKTRAIL_PASSPHRASE: `htk1-${randomBytes(32).toString('base64url')}`,
  };
  await measure({
    file: process.execPath,
    args: [program, 'login', '--quiet'],
    env: { ...env, HOOKTRAIL_BROWSER: browserCommand, HOOKTRAIL_CLIENT_SECRET },
  });
  return {
    env,
    store,
    async [Symbol.asyncDispose]() {
      for (const resource of [bus, home]) await resource?.[Symbol.asyncDispose]();
    },
  };
}
