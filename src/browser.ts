import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Opens a URL in the user's browser, or with `command` run with the URL as its one argument, without a shell.
 * Only `https:` URLs, `http:` ones of loopback hosts and `file:` ones of pages of our own making get here. Rejects when the browser cannot be started.
 */
export async function openBrowser(url: URL, command: string | undefined): Promise<void> {
  if (command) {
    const child = spawn(command, [url.href], { detached: true, stdio: 'ignore' });
    await once(child, 'spawn');
    child.unref();
    return;
  }
  const { default: open } = await import('open');
  const child = await open(url.href);
  child.on('error', () => undefined);
}
