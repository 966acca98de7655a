import type { Environment } from '../../context.ts';

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
