import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { FileSeal } from '../../src/secrets/sealed-file.ts';
import { bindingText } from '../../src/secrets/vault.ts';
import { forEachTest } from './each-test.ts';
import { createHome } from './home.ts';
import { type CommandOptions, hooktrail, startHooktrail } from './program.ts';
import { type SandboxOptions, sandboxEnv, startSandbox } from './sandbox.ts';

type Given = Partial<CommandOptions>;

/**
 * A sandbox, a home, and settings that make the program in that home use that sandbox. The program chooses a
 * port for each sign-in, unless one is given.
 */
export async function startSigningIn(options: SandboxOptions = {}, { host = '127.0.0.1', port = 0 } = {}) {
  const redirectUri = `http://${host}:${port}/callback`;
  const sandbox = await startSandbox({ events: 10, autoApprove: true, redirectUri, ...options });
  const home = await createHome();
  // The options may give the sandbox another redirect URI than the program uses.
  const env: Readonly<Record<string, string>> = {
    ...home.env,
    ...sandboxEnv(sandbox.settings),
    HOOKTRAIL_REDIRECT_URI: redirectUri,
  };
  /** Starts `login --no-browser` and waits until it has shown where to sign in. */
  const login = async (
    args: readonly string[] = [],
    { firstInput, ...given }: Given & { firstInput?: string } = {},
  ) => {
    const program = startHooktrail(['login', '--no-browser', ...args], { env, ...given });
    if (firstInput !== undefined) program.stdin.write(firstInput);
    const [line] = await program.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
    return { program, authorizeUrl: new URL(line) };
  };
  return {
    sandbox,
    control: sandbox.control,
    home,
    env,
    redirectUri,
    run: (args: readonly string[], given: Given = {}) => hooktrail(args, { env, ...given }),
    start: (args: readonly string[], given: Given = {}) => startHooktrail(args, { env, ...given }),
    login,
    /** Returns the URL to sign in at, of a `login` that then ends. */
    authorizeUrl: async (args?: readonly string[], given: Given = {}) => {
      const { program, authorizeUrl } = await login(args, { stdin: null, ...given });
      program.kill('SIGTERM');
      await program.finished;
      return authorizeUrl;
    },
    /** Signs in from start to end. */
    signIn: async () => {
      const result = await hooktrail(['login'], { env });
      if (result.code !== 0) throw new Error(`login failed: ${JSON.stringify(result)}`);
    },
    /** The number of codes that were exchanged. */
    exchanges: () => sandbox.log.filter(({ grantType }) => grantType === 'authorization_code').length,
    async [Symbol.asyncDispose]() {
      await sandbox.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

export type SigningIn = Awaited<ReturnType<typeof startSigningIn>>;
export type Login = Awaited<ReturnType<SigningIn['login']>>;

/** A new sandbox and home for each test of a file: the members are those of the running test. */
export function useSigningIn(options: SandboxOptions = {}): SigningIn {
  return forEachTest(() => startSigningIn(options));
}

/**
 * A signed-in user whose access token is due: the next command refreshes; tokens granted from then on last
 * for half an hour.
 */
export async function startRefreshing(options: SandboxOptions = {}) {
  const at = await startSigningIn({ tokenLifetimeSeconds: 30, ...options });
  await at.signIn();
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 1800;
  return Object.assign(at, {
    /** The errors with which the token endpoint answered refreshes, in order; `ok` for a granted one. */
    refreshes: () =>
      at.sandbox.log
        .filter(({ grantType }) => grantType === 'refresh_token')
        .map(({ error }) => error ?? 'ok'),
    /** The stored secrets, by file. */
    stored: async () => {
      const { HOOKTRAIL_CONFIG_DIR = '', HOOKTRAIL_PASSPHRASE = '' } = at.env;
      const { authUrl, baseUrl, clientId } = at.sandbox.settings;
      const binding = bindingText({
        profile: 'default',
        authUrl: new URL(authUrl).href,
        clientId,
        serviceOrigin: new URL(baseUrl).origin,
      });
      const folder = path.join(HOOKTRAIL_CONFIG_DIR, 'secrets');
      const fileSeal = new FileSeal(async () => HOOKTRAIL_PASSPHRASE);
      const contents = new Map<string, unknown>();
      for (const name of (await readdir(folder)).sort()) {
        const file = await readFile(path.join(folder, name));
        const text = await fileSeal.open(HOOKTRAIL_PASSPHRASE, file, binding);
        const { written, ...secrets } = JSON.parse(text ?? 'null');
        contents.set(name, secrets);
      }
      return contents;
    },
  });
}

export type Refreshing = Awaited<ReturnType<typeof startRefreshing>>;
