import type { Context, Environment } from '../context.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { AuthorizationRequest } from './authorization-request.ts';

interface AnnounceOptions {
  readonly browser: boolean;
  readonly paste: boolean;
}

/** Shows the user the URL, whatever the options say, and opens the browser on it where one is wanted and near. */
export async function announce(
  { url, redirectUri }: Pick<AuthorizationRequest, 'url' | 'redirectUri'>,
  { browser, paste }: AnnounceOptions,
  { environment, machine, browser: opener }: Pick<Context, 'environment' | 'machine' | 'browser'>,
  reporter: Reporter,
): Promise<void> {
  const command = environment['HOOKTRAIL_BROWSER'] || undefined;
  // A browser over there is a text browser or none: it would take the terminal, or nothing would happen.
  const near =
    command !== undefined ||
    !isRemote(environment) ||
    Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
  const opens = browser && near;
  if (!paste) {
    for (const line of remoteAdvice(environment, machine.hostname, redirectUri.url)) reporter.notice(line);
  }
  reporter.notice(opens ? 'Sign in in the browser. If it does not open, go to' : 'Sign in in a browser at');
  reporter.say(url.href);
  if (!opens) return;
  try {
    await opener.open(url, command);
  } catch (error) {
    reporter.warning(`the browser could not be started: ${(error as Error).message}`);
    reporter.notice('Open the URL above by hand; the sign-in goes on.');
  }
}

/** Where the browser is not on the machine that waits for it, as far as the environment tells. */
export function isRemote(environment: Environment): boolean {
  return Boolean(environment['SSH_CONNECTION'] || environment['SSH_TTY']);
}

/** How the redirect reaches this machine from a browser elsewhere; no lines where it comes by itself. */
export function remoteAdvice(environment: Environment, hostname: string, redirectUri: URL): string[] {
  const port = redirectUri.port || '80';
  const paste = 'or run `hooktrail login --paste` and paste the URL the browser ends up at';
  if (isRemote(environment)) {
    const target = redirectUri.hostname === '[::1]' ? '[::1]' : '127.0.0.1';
    return [
      'This is an SSH session: for a browser on your own machine, forward the port from there first,',
      `  ssh -N -L ${port}:${target}:${port} ${hostname}`,
      paste,
    ];
  }
  if (environment['WSL_DISTRO_NAME'] || environment['WSL_INTEROP']) {
    return [
      `This is WSL: a browser on Windows reaches port ${port} here only with localhost forwarding`,
      '(.wslconfig: localhostForwarding=true, or networkingMode=mirrored);',
      paste,
    ];
  }
  return [];
}
