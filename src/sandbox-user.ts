import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Context, Environment } from './context.ts';
import { UnreachableError } from './errors.ts';
import { temporaryFolder } from './files/folders.ts';
import type { SandboxSettings } from './sandbox/sandbox-options.ts';
import { quotedWord } from './settings/flag-values.ts';
import { REDIRECTS_ONLY, visitWithoutBrowser } from './sign-in/sign-in.ts';
import { inputOf } from './streams.ts';

type Variables = Readonly<Record<string, string>>;

/** A user that exists only in the sandbox: no setting, secret or folder of the real user is read or written. */
export interface SandboxUser {
  readonly context: Context;
  /** For programs that run as this user. */
  readonly environment: Environment;
  /** Those of them that make the difference: the sandbox's settings, with an encrypted store of their own. */
  readonly variables: Variables;
  /** Removes the folder. */
  remove(): Promise<void>;
}

/**
 * Creates a user in a temporary folder, whose browser approves every sign-in. If the browser fails, the user's commands
 * end.
 */
export async function createSandboxUser(context: Context, settings: SandboxSettings): Promise<SandboxUser> {
  const folder = await temporaryFolder('hooktrail-sandbox-');
  const variables = variablesOf(settings, folder.path);
  const browserFailed = new AbortController();
  return {
    variables,
    environment: { ...withoutUserSecrets(context.environment), ...variables },
    context: {
      ...context,
      stdin: noInput,
      environment: { ...terminalVariables(context.environment), ...variables },
      machine: { ...context.machine, userHome: folder.path, isContainer: false },
      signal: AbortSignal.any([context.signal, browserFailed.signal]),
      browser: {
        // Not awaited: the last page is sent after the sign-in has ended.
        open: async (url) => {
          visitWithoutBrowser(url, context.signal).catch((cause: Error) => {
            browserFailed.abort(
              new UnreachableError(`signing in to the sandbox failed: ${cause.message}`, { cause }),
            );
          });
        },
      },
    },
    remove: folder.remove,
  };
}

/** Typed input is meant for the program that runs next. */
const noInput = inputOf(() => Readable.from([]));

/**
 * Only the variables of the terminal: others would say that the browser is on another machine, but the sandbox's
 * browser is on this one.
 */
function terminalVariables(environment: Environment): Environment {
  const kept = ['TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'PATH'];
  return Object.fromEntries(kept.map((name) => [name, environment[name]]));
}

/** Variables of the real user that `variablesOf` does not replace. */
const OF_THE_USER = /^HOOKTRAIL_(ACCESS_TOKEN|API_TOKEN|CLIENT_SECRET|PASSPHRASE|BROWSER)/;

const IN_THE_WAY = /^HOOKTRAIL_(ACCESS_TOKEN|ACCESS_TOKEN_.*|(CLIENT_SECRET|PASSPHRASE)_(FILE|COMMAND))$/;

function withoutUserSecrets(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !OF_THE_USER.test(name)));
}

function variablesOf(settings: SandboxSettings, folder: string): Variables {
  return {
    HOOKTRAIL_PROFILE: 'sandbox',
    HOOKTRAIL_AUTH_URL: settings.authUrl,
    HOOKTRAIL_BASE_URL: settings.baseUrl,
    HOOKTRAIL_CLIENT_ID: settings.clientId,
    HOOKTRAIL_CLIENT_SECRET: settings.clientSecret,
    HOOKTRAIL_VENDOR: settings.vendor,
    HOOKTRAIL_REDIRECT_URI: settings.redirectUri,
    HOOKTRAIL_SCOPE: settings.scope,
    HOOKTRAIL_ISSUER: settings.issuer,
    HOOKTRAIL_CONFIG_DIR: folder,
    HOOKTRAIL_STORE: 'file',
    HOOKTRAIL_PASSPHRASE: `htk1-${randomBytes(32).toString('base64url')}`,
  };
}

/**
 * Lines for a shell of any machine, with or without a keychain: for PowerShell on Windows, else for a POSIX shell. Where the
 * sandbox approves sign-ins itself, they need no browser.
 */
export function shellLines(
  variables: Variables,
  approves: boolean,
  { environment, machine }: Pick<Context, 'environment' | 'machine'>,
): string {
  const isWindows = machine.platform === 'win32';
  // A secret may have one source only, and a ready token goes before every sign-in.
  const inTheWay = Object.keys(environment).filter((name) => IN_THE_WAY.test(name) && environment[name]);
  const removals = inTheWay.map((name) => (isWindows ? `$env:${name} = ''\n` : `unset ${name}\n`));
  const all = Object.entries({ ...variables, ...(approves ? { HOOKTRAIL_BROWSER: REDIRECTS_ONLY } : {}) });
  const lines = all.map(([name, value]) =>
    isWindows ? `$env:${name} = '${value.replaceAll("'", "''")}'\n` : `export ${name}=${quotedWord(value)}\n`,
  );
  return [...removals, ...lines].join('');
}
