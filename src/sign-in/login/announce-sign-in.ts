import type { Context, Environment } from '../../context.ts';
import { UnreachableError } from '../../errors.ts';
import { createTransport } from '../../http/undici-client.ts';
import { isLoopback } from '../../settings/setting-names.ts';
import { canPrompt } from '../../terminal/prompt.ts';
import type { AuthorizationRequest } from '../authorization.ts';
import type { Attempt } from './login-attempt.ts';

export interface OpenedRequest extends AuthorizationRequest {
  readonly validSeconds?: number | undefined;
}

/**
 * Always shows the URL, and opens it in a browser if one is wanted and on this machine. `over` aborts at the
 * end.
 */
export function announce(request: OpenedRequest, attempt: Attempt, over: AbortController): void {
  const { url, redirectUri, validSeconds } = request;
  const { flags, context, reporter } = attempt;
  const { environment, browser } = context;
  const command = environment['HOOKTRAIL_BROWSER'] || undefined;
  // A remote machine without a display has no browser, or a text browser that would take over the terminal.
  const opens = flags.browser && (command !== undefined || !isRemote(environment) || hasDisplay(environment));
  // Anyone who sets a browser command knows how to reach a browser from here.
  const needsAdvice = !flags.paste && command === undefined;
  const advice = needsAdvice ? remoteAdvice(context, redirectUri.url, url) : [];
  for (const line of advice) reporter.notice(line);
  if (advice.length > 0) {
    const how = canPrompt(context) ? 'paste below' : 'run the same command with --paste and paste';
    reporter.notice(`or ${how} the URL that the browser ends up at`);
  }
  reporter.notice(opens ? 'Sign in in the browser. If it does not open, go to' : 'Sign in in a browser at');
  reporter.say(url.href);
  if (validSeconds !== undefined) reporter.notice(`This address is valid for ${validSeconds} s.`);
  // Not awaited: a failure may take a while to show.
  if (opens) {
    const opening =
      command === REDIRECTS_ONLY ? visitWithoutBrowser(url, context.signal) : browser.open(url, command);
    opening.catch((error: Error) => {
      if (over.signal.aborted) return;
      if (command === REDIRECTS_ONLY)
        return over.abort(new UnreachableError(`signing in without a browser failed: ${error.message}`));
      reporter.warning(`the browser could not be started: ${error.message}`, { kind: 'sign-in' });
      reporter.notice('Open the URL above by hand: the sign-in is still waiting.');
    });
  }
}

/** The `HOOKTRAIL_BROWSER` for a provider that approves sign-ins by itself, such as a sandbox. */
export const REDIRECTS_ONLY = 'hooktrail';

const MAX_REDIRECTS = 10;

async function visitWithoutBrowser(url: URL, signal: AbortSignal): Promise<void> {
  const transport = createTransport({ environment: {} });
  try {
    let at = url;
    for (let hop = 0; hop < MAX_REDIRECTS; hop++) {
      const { status, headers } = await transport.send({ method: 'GET', url: at, signal });
      if (status < 300 || status > 399 || !headers.location) return;
      at = new URL(headers.location, at.href);
    }
  } finally {
    await transport.close();
  }
}

function isRemote(environment: Environment): boolean {
  return Boolean(environment['SSH_CONNECTION'] || environment['SSH_TTY']);
}

function hasDisplay(environment: Environment): boolean {
  return Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
}

/**
 * Returns advice for a browser on another machine, from which the redirect does not reach this one; otherwise
 * no lines.
 */
function remoteAdvice({ environment, machine }: Context, redirectUri: URL, signInUrl: URL): string[] {
  const { CODESPACES, REMOTE_CONTAINERS, DEVCONTAINER, WSL_DISTRO_NAME, WSL_INTEROP } = environment;
  const port = redirectUri.port || '80';
  const forwarded = (place: string) => [
    `This is a ${place}: forward port ${port} to your machine in VS Code ("Ports"),`,
  ];
  if (CODESPACES === 'true') return forwarded('codespace');
  if (isRemote(environment)) {
    // A provider on this machine, such as a sandbox, is out of reach for that browser too.
    const ends = isLoopback(signInUrl) ? [redirectUri, signInUrl] : [redirectUri];
    const forwards = ends.map((end) => {
      const target = end.hostname === '[::1]' ? '[::1]' : '127.0.0.1';
      const at = end.port || (end.protocol === 'https:' ? '443' : '80');
      return `-L ${at}:${target}:${at}`;
    });
    return [
      `This is an SSH session: for a browser on your own machine, forward the port${ends[1] ? 's' : ''} from there first,`,
      `  ssh -N ${forwards.join(' ')} ${machine.hostname}`,
    ];
  }
  if (REMOTE_CONTAINERS || DEVCONTAINER) return forwarded('dev container');
  if (WSL_DISTRO_NAME || WSL_INTEROP)
    return [
      `This is WSL: a browser on Windows reaches port ${port} here only with localhost forwarding`,
      '(.wslconfig: localhostForwarding=true, or networkingMode=mirrored);',
    ];
  if (machine.isContainer && !hasDisplay(environment))
    return [
      `This is a container: a browser outside does not reach its port ${port}, published`,
      'or not; run the container with the network of its host (`--network host`),',
    ];
  return [];
}
