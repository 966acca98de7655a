import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Context, Environment, Input } from './context.ts';
import { UnreachableError } from './errors.ts';
import { temporaryFolder } from './files/folders.ts';
import type { SandboxSettings } from './sandbox/sandbox-options.ts';
import { quotedWord } from './settings/flag-values.ts';
import { REDIRECTS_ONLY, visitWithoutBrowser } from './sign-in/sign-in.ts';

/** A user that exists only in the sandbox: no setting, secret or folder of the real user is read or written. */
export interface SandboxUser {
  readonly context: Context;
  /** For programs that run as this user. */
  readonly environment: Environment;
  /** Removes the folder. */
  remove(): Promise<void>;
}

/**
 * Creates a user in a temporary folder, whose browser approves every sign-in. If the browser fails, the user's commands
 * end.
 */
export async function createSandboxUser(context: Context, settings: SandboxSettings): Promise<SandboxUser> {
  const folder = await temporaryFolder('hooktrail-sandbox-');
  const own = environmentOf(settings, folder.path);
  const browserFailed = new AbortController();
  return {
    environment: { ...withoutUserSecrets(context.environment), ...own },
    context: {
      ...context,
      stdin: noInput,
      environment: { ...terminalVariables(context.environment), ...own },
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
const noInput: Input = {
  isTerminal: false,
  stream: () => Readable.from([]),
  lines: async function* () {},
  bytes: async () => Buffer.alloc(0),
};

/**
 * Only the variables of the terminal: others would say that the browser is on another machine, but the sandbox's
 * browser is on this one.
 */
function terminalVariables(environment: Environment): Environment {
  const kept = ['TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'PATH'];
  return Object.fromEntries(kept.map((name) => [name, environment[name]]));
}

/** Variables of the real user that `environmentOf` does not replace. */
const OF_THE_USER = /^HOOKTRAIL_(ACCESS_TOKEN|API_TOKEN|CLIENT_SECRET|PASSPHRASE|BROWSER)/;

function withoutUserSecrets(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !OF_THE_USER.test(name)));
}

/** A sandbox's settings as environment variables, with an encrypted store of their own in a folder. */
function environmentOf(settings: SandboxSettings, folder: string): Readonly<Record<string, string>> {
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

/** Lines for a shell of any machine, with or without a keychain and a browser, and what removes their folder. */
export interface ShellLines {
  readonly text: string;
  remove(): Promise<void>;
}

/**
 * Lines that set the variables in a POSIX shell, or in PowerShell on Windows. Where the sandbox approves sign-ins itself,
 * they need no browser.
 */
export async function shellLines(
  settings: SandboxSettings,
  approves: boolean,
  platform: NodeJS.Platform,
): Promise<ShellLines> {
  const folder = await temporaryFolder('hooktrail-sandbox-');
  const variables = Object.entries({
    ...environmentOf(settings, folder.path),
    ...(approves ? { HOOKTRAIL_BROWSER: REDIRECTS_ONLY } : {}),
  });
  const text = variables.map(([name, value]) =>
    platform === 'win32'
      ? `$env:${name} = '${value.replaceAll("'", "''")}'\n`
      : `export ${name}=${quotedWord(value)}\n`,
  );
  return { text: text.join(''), remove: folder.remove };
}
