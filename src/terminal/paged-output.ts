import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Context, Output, Pager } from '../context.ts';

export interface PagedOutput extends Output {
  /** Prints what is left, or waits until the user has left the pager. Must be called however the work ends. */
  end(): Promise<void>;
}

/**
 * Standard output, held back until it is more than the terminal shows, and then sent through the user's pager, as git does.
 * Undefined where there is no terminal or no pager.
 */
export function pagedOutput(
  {
    stdout,
    environment,
    machine,
    openPager,
    holdOff,
  }: Pick<Context, 'stdout' | 'environment' | 'machine' | 'openPager' | 'holdOff'>,
  onOpen: () => void,
): PagedOutput | undefined {
  const command = pagerCommand(environment, machine.platform);
  if (!stdout.isTerminal || environment['TERM'] === 'dumb' || !openPager || !command) return undefined;
  let held: (string | Uint8Array)[] = [];
  let lines = 0;
  let pager: Pager | undefined;
  let release: (() => void) | undefined;
  const open = async () => {
    onOpen();
    // Ctrl+C is for the pager: ending before it would leave it on a terminal that the shell has taken back.
    release = holdOff?.();
    pager = openPager(command);
    for (const chunk of held) await pager.write(chunk);
    held = [];
  };
  return {
    isTerminal: true,
    columns: stdout.columns,
    rows: stdout.rows,
    colorDepth: stdout.colorDepth,
    stream: () => stdout.stream(),
    async write(chunk) {
      if (pager) return await pager.write(chunk);
      held.push(chunk);
      lines += linesOf(chunk, stdout.columns);
      // The prompt that follows takes a line.
      if (lines >= stdout.rows) await open();
    },
    async end() {
      try {
        await pager?.end();
      } finally {
        release?.();
      }
      for (const chunk of held) await stdout.write(chunk);
      held = [];
    },
  };
}

function linesOf(chunk: string | Uint8Array, columns: number): number {
  const lines = Buffer.from(chunk as string)
    .toString()
    .split('\n')
    .slice(0, -1);
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
}

/** `HOOKTRAIL_PAGER`, `PAGER`, or less where there is one; undefined where the user wants none. */
function pagerCommand(environment: Context['environment'], platform: string): string | undefined {
  const own = environment['HOOKTRAIL_PAGER'] ?? environment['PAGER'];
  if (own !== undefined) return own === '' || own === 'cat' ? undefined : own;
  const folders = platform === 'win32' ? [] : (environment['PATH'] ?? '').split(path.delimiter);
  return folders.some((folder) => isExecutable(path.join(folder, 'less'))) ? 'less' : undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
