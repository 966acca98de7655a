import type { SandboxSettings } from '../../src/sandbox/sandbox.ts';
import { browserCommand } from '../support/browser.ts';
import { createHome } from '../support/home.ts';
import { hasKeyring, startBus } from '../support/keyring.ts';
import { sandboxEnv } from '../support/sandbox-env.ts';
import { measure } from './measure.ts';
import { program, startSandboxProcess } from './sandbox-process.ts';

export interface SignedIn extends AsyncDisposable {
  /** The environment of a command that finds its access token where `login` cached it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the secrets are. */
  readonly store: 'keychain' | 'file';
}

/** A sandbox in a process of its own and a user who is signed in to it: by a keychain where this machine can have one. */
export async function signIn(...sandboxArgs: string[]): Promise<SignedIn> {
  const sandbox = await startSandboxProcess('--token-lifetime', '86400', ...sandboxArgs);
  const signedIn = await signInTo(sandbox.settings);
  return {
    ...signedIn,
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await signedIn[Symbol.asyncDispose]();
    },
  };
}

/** A user of their own who is signed in to a sandbox that runs already. */
export async function signInTo(settings: SandboxSettings): Promise<SignedIn> {
  const home = await createHome();
  const bus = hasKeyring ? await startBus() : undefined;
  await bus?.startKeyring('a password of the bench');
  const store = bus ? 'keychain' : 'file';
  const { HOOKTRAIL_CLIENT_SECRET, ...configured } = sandboxEnv(settings);
  const env = { ...home.env, ...bus?.env, ...configured, HOOKTRAIL_STORE: store };
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
