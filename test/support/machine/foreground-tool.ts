import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ForegroundTool {
  /** The text on both outputs so far. */
  readonly printed: string;
  readonly ended: Promise<unknown>;
  /** Ends the tool and the processes that it started. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

interface Options {
  /** The text that it prints when it is ready; absent: it counts as ready at once. */
  readonly ready?: RegExp;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Starts a tool and waits until it is ready. Rejects with what it printed if it ends before. */
export async function startTool(
  file: string,
  args: readonly string[],
  { ready, env, input = '' }: Options,
): Promise<ForegroundTool> {
  // This gives the tool its own process group.
  const child = spawn(file, args, { env: { PATH: '/usr/sbin:/usr/bin:/bin', ...env }, detached: true });
  const ended = once(child, 'exit');
  let printed = '';
  const isReady = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        if (ready?.test(printed)) resolve();
      });
    }
    if (!ready) child.once('spawn', resolve);
    ended.then(() => reject(new Error(`${file} ended: ${printed}`)), reject);
  });
  child.stdin.end(input);
  await isReady;
  return {
    get printed() {
      return printed;
    },
    ended,
    async end(signal = 'SIGKILL') {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), signal);
      await ended;
    },
  };
}
