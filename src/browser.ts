import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Milliseconds in which a browser that cannot be opened has said so: `xdg-open` tries several, then ends with 3. */
const TROUBLE = 1_500;

/**
 * Opens a URL in the user's browser, or with `command` run with the URL as its one argument, without a shell; else with
 * the one that `$BROWSER` names, as other programs do. Only `https:` URLs, `http:` ones of loopback hosts and `file:` ones of
 * pages of our own making get here. Rejects when the browser cannot be started, or ends at once with a failure.
 */
export async function openBrowser(url: URL, command: string | undefined, usual?: string): Promise<void> {
  if (command) return await started(spawn(command, [url.href], { detached: true, stdio: 'ignore' }));
  if (usual) {
    // A list of command lines, in which %s stands for the URL.
    const [program = '', ...args] = (usual.split(':')[0] as string).split(/\s+/).filter(Boolean);
    const isNamed = args.some((arg) => arg.includes('%s'));
    const all = isNamed ? args.map((arg) => arg.replace('%s', url.href)) : [...args, url.href];
    return await started(spawn(program, all, { detached: true, stdio: 'ignore' }));
  }
  const { default: open } = await import('open');
  await started(await open(url.href));
}

async function started(child: ChildProcess): Promise<void> {
  child.unref();
  let timer: NodeJS.Timeout | undefined;
  const quiet = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), TROUBLE);
  });
  try {
    // Rejects on 'error', which comes instead.
    const ended = await Promise.race([once(child, 'exit'), quiet]);
    if (ended && ended[0] !== 0) throw new Error(`its command ended with ${ended[0] ?? ended[1]}`);
  } finally {
    clearTimeout(timer);
    child.on('error', () => undefined);
  }
}
