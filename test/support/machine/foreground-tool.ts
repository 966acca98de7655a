import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

interface Options {
  /**
   * The text that it prints when it is ready, or a question that is asked until it is; absent: it is ready at
   * once.
   */
  readonly ready?: RegExp | (() => Promise<boolean>);
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Starts a tool and waits until it is ready. Rejects with what it printed if it ends before. */
export async function startTool(
  file: string,
  args: readonly string[],
  { ready = async () => true, env, input = '' }: Options = {},
) {
  // This gives the tool its own process group.
  const child = spawn(file, args, { env: { PATH: '/usr/sbin:/usr/bin:/bin', ...env }, detached: true });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const kill = (signal: NodeJS.Signals) => {
    if (!hasEnded()) process.kill(-(child.pid as number), signal);
  };
  const ended = once(child, 'exit').catch(() => undefined);
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  child.stdin.on('error', () => undefined).end(input);
  await once(child, 'spawn');
  while (!(ready instanceof RegExp ? ready.test(printed) : await ready())) {
    if (hasEnded()) throw new Error(`${file} ended: ${printed}`);
    await setTimeout(10);
  }
  return {
    /** The text on both outputs so far. */
    get printed() {
      return printed;
    },
    ended,
    kill,
    /** Ends the tool and the processes that it started. */
    async end(signal: NodeJS.Signals = 'SIGKILL') {
      kill(signal);
      await ended;
    },
  };
}

export type ForegroundTool = Awaited<ReturnType<typeof startTool>>;
