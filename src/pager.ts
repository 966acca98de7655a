import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment, Pager } from './context.ts';
import { ClosedPipeError, UsageError } from './errors.ts';

/** Runs a pager, a command line for the shell, on our terminal. */
export function openPager(command: string, environment: Environment): Pager {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env: environment });
  const closed = once(child, 'close') as Promise<[number | null]>;
  closed.catch(() => undefined);
  // It leaves when its user does, which is no failure of ours.
  child.stdin.on('error', () => undefined);
  return {
    write: (chunk) =>
      new Promise((resolve, reject) => {
        child.stdin.write(chunk, (error) => (error ? reject(new ClosedPipeError()) : resolve()));
      }),
    async end() {
      child.stdin.end();
      const [code] = await closed;
      // POSIX: the shell could not find or execute it.
      if (code === 127 || code === 126)
        throw new UsageError(`the pager '${command}' cannot be run`, {
          next: 'set HOOKTRAIL_PAGER or PAGER to one that can, or add --no-pager',
        });
    },
  };
}
