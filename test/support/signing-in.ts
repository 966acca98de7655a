import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createHome, type Home } from './home.ts';
import {
  hooktrail,
  type CommandOptions as Options,
  type Result,
  type RunningCommand,
  startHooktrail,
} from './program.ts';
import { type Sandbox, type SandboxOptions, sandboxEnv, startSandbox } from './sandbox.ts';

/** A sandbox, a home, and settings that make the program in that home use that sandbox. */
export interface SigningIn extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly home: Home;
  readonly env: Readonly<Record<string, string>>;
  readonly redirectUri: string;
  run(args: readonly string[], options?: Partial<Options>): Promise<Result>;
  /** Starts `login --no-browser` and waits until it has shown where to sign in. */
  login(args?: readonly string[], options?: Partial<Options> & { firstInput?: string }): Promise<Login>;
  /** The URL to sign in at, of a `login` that then ends. */
  authorizeUrl(args?: readonly string[], options?: Partial<Options>): Promise<URL>;
  /** Signs in from start to end. */
  signIn(): Promise<void>;
  /** The number of codes that were exchanged. */
  exchanges(): number;
}

export interface Login {
  readonly program: RunningCommand;
  readonly authorizeUrl: URL;
}

/** The program chooses a port for each sign-in, unless one is given. */
export async function startSigningIn(
  options: SandboxOptions = {},
  { host = '127.0.0.1', port = 0 } = {},
): Promise<SigningIn> {
  const redirectUri = `http://${host}:${port}/callback`;
  const sandbox = await startSandbox({ events: 10, autoApprove: true, redirectUri, ...options });
  const home = await createHome();
  // The options may give the sandbox another redirect URI than the program uses.
  const env = { ...home.env, ...sandboxEnv(sandbox.settings), HOOKTRAIL_REDIRECT_URI: redirectUri };
  const login: SigningIn['login'] = async (args = [], { firstInput, ...given } = {}) => {
    const program = startHooktrail(['login', '--no-browser', ...args], { env, ...given });
    if (firstInput !== undefined) program.stdin.write(firstInput);
    const [line] = await program.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
    return { program, authorizeUrl: new URL(line) };
  };
  return {
    sandbox,
    home,
    env,
    redirectUri,
    run: (args, given) => hooktrail(args, { env, ...given }),
    login,
    authorizeUrl: async (args, given) => {
      const { program, authorizeUrl } = await login(args, { stdin: null, ...given });
      program.kill('SIGTERM');
      await program.finished;
      return authorizeUrl;
    },
    signIn: async () => {
      const result = await hooktrail(['login'], { env });
      if (result.code !== 0) throw new Error(`login failed: ${JSON.stringify(result)}`);
    },
    exchanges: () => sandbox.log.filter(({ grantType }) => grantType === 'authorization_code').length,
    async [Symbol.asyncDispose]() {
      await sandbox.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** A signed-in user whose access token is due for a refresh. */
export interface Refreshing extends SigningIn {
  /** The errors with which the token endpoint answered refreshes, in order; `ok` for a granted one. */
  refreshes(): string[];
  /** The stored content, by file. */
  stored(): Promise<Map<string, string>>;
}

/** The next command refreshes; tokens granted from then on last for half an hour. */
export async function startRefreshing(options: SandboxOptions = {}): Promise<Refreshing> {
  const at = await startSigningIn({ tokenLifetimeSeconds: 30, ...options });
  await at.signIn();
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 1800;
  return Object.assign(at, {
    refreshes: () =>
      at.sandbox.log
        .filter(({ grantType }) => grantType === 'refresh_token')
        .map(({ error }) => error ?? 'ok'),
    stored: async () => {
      const folder = path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets');
      const names = (await readdir(folder)).sort();
      return new Map(
        await Promise.all(
          names.map(
            async (name) => [name, await readFile(path.join(folder, name), 'hex')] as [string, string],
          ),
        ),
      );
    },
  });
}
