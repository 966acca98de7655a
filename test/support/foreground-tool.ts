import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ForegroundTool {
  readonly printed: string;
  /** Ends it, with the processes that it started. */
  end(): Promise<void>;
}

/** Starts a tool and waits until it prints that it is ready. Rejects with what it printed if it ends before. */
export async function startTool(
  file: string,
  args: readonly string[],
  ready: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<ForegroundTool> {
  // A process group of its own.
  const child = spawn(file, args, {
    env: { PATH: '/usr/sbin:/usr/bin:/bin', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = once(child, 'exit');
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        if (ready.test(printed)) resolve();
      });
    }
    child.on('error', reject);
    ended.then(() => reject(new Error(`${file} ended: ${printed}`)), reject);
  });
  return {
    get printed() {
      return printed;
    },
    async end() {
      if (child.exitCode === null && child.signalCode === null)
        process.kill(-(child.pid as number), 'SIGKILL');
      await ended;
    },
  };
}
