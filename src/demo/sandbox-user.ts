import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { type Context, type Environment, emptyMemory } from '../context.ts';
import { faultText, UsageError } from '../errors.ts';
import { temporaryFolder } from '../files/folders.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { SandboxSettings } from '../sandbox/sandbox-options.ts';
import { quotedWord } from '../shell-words.ts';
import { REDIRECTS_ONLY } from '../sign-in/login/announce-sign-in.ts';
import { inputOf } from '../streams.ts';

type Variables = Readonly<Record<string, string>>;

const NO_BROWSER = { HOOKTRAIL_BROWSER: REDIRECTS_ONLY };

/**
 * A user that exists only in the sandbox: no setting, secret or folder of the real user is read or written.
 */
export interface SandboxUser {
  readonly context: Context;
  /** For programs that run as this user. */
  readonly environment: Environment;
  /** Those of them that make the difference: the sandbox's settings, with an encrypted store of their own. */
  readonly variables: Variables;
  remove(): Promise<void>;
}

/**
 * Creates a user in a temporary folder, who signs in without a browser, as do the user's programs if the
 * sandbox approves.
 */
export async function createSandboxUser(context: Context, sandbox: Sandbox): Promise<SandboxUser> {
  const folder = await temporaryFolder('hooktrail-sandbox-').catch(async (error) => {
    // Its servers would keep the program running.
    await sandbox.close();
    throw new UsageError(`the sandbox needs a temporary folder: ${faultText(error)}`, {
      next: 'name a folder that can be written in the variable TMPDIR',
      cause: error,
    });
  });
  const variables = variablesOf(sandbox.settings, folder.path);
  const toUse = { ...variables, ...(sandbox.behaviour.autoApprove ? NO_BROWSER : {}) };
  const kept = Object.entries(context.environment).filter(([name]) => !OF_THE_USER.test(name));
  // Other variables would say that the browser is on another machine, but the sandbox's browser is on this
  // one.
  const ofTerminal = ['TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'PATH'];
  const terminal = Object.fromEntries(ofTerminal.map((name) => [name, context.environment[name]]));
  return {
    variables: toUse,
    environment: { ...Object.fromEntries(kept), ...toUse },
    context: {
      ...context,
      stdin: noInput,
      environment: { ...terminal, ...variables, ...NO_BROWSER },
      machine: { ...context.machine, userHome: folder.path, isContainer: false },
      memory: emptyMemory(),
    },
    remove: folder.remove,
  };
}

/** Typed input is meant for the program that runs next. */
const noInput = inputOf(() => Readable.from([]));

/** Variables of the real user that `variablesOf` does not replace. */
const OF_THE_USER = /^HOOKTRAIL_(ACCESS_TOKEN|API_TOKEN|CLIENT_(SECRET|KEY|ASSERTION)|PASSPHRASE|BROWSER)/;

const IN_THE_WAY =
  /^HOOKTRAIL_(ACCESS_TOKEN|ACCESS_TOKEN_.*|(CLIENT_(SECRET|KEY|ASSERTION)|PASSPHRASE)_(FILE|COMMAND))$/;

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
 * Lines for a shell of any machine, with or without a keychain: for PowerShell on Windows, else for a POSIX
 * shell.
 */
export function shellLines(
  variables: Variables,
  { environment, machine }: Pick<Context, 'environment' | 'machine'>,
): string {
  const isWindows = machine.platform === 'win32';
  // A secret may have one source only, and a ready token goes before every sign-in.
  const inTheWay = Object.keys(environment).filter((name) => IN_THE_WAY.test(name) && environment[name]);
  const removals = inTheWay.map((name) => (isWindows ? `$env:${name} = ''\n` : `unset ${name}\n`));
  const lines = Object.entries(variables).map(([name, value]) =>
    isWindows ? `$env:${name} = '${value.replaceAll("'", "''")}'\n` : `export ${name}=${quotedWord(value)}\n`,
  );
  return [...removals, ...lines].join('');
}
