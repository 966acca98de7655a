import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Context, Output, Pager } from '../context.ts';

interface Held {
  readonly chunk: string | Uint8Array;
  readonly isData: boolean;
}

/** The streams of a command whose output may not fit on the terminal. */
interface PagedStreams {
  readonly stdout: Output;
  /** Holds back what is written after the first data, which stands above it or in the pager. */
  readonly stderr: Output;
  /** Prints the text that was held back, or waits until the user has left the pager. Call it even if the work fails. */
  end(): Promise<void>;
}

/** Runs the work with an output that switches to the user's pager where the text does not fit on the terminal. */
export async function withPager<Result>(
  context: Context,
  work: (context: Context) => Promise<Result>,
): Promise<Result> {
  const paged = pagedStreams(context);
  if (!paged) return await work(context);
  try {
    return await work({ ...context, stdout: paged.stdout, stderr: paged.stderr });
  } finally {
    await paged.end();
  }
}

/**
 * Returns a standard output that switches to the user's pager as soon as the text does not fit on the terminal, and the
 * standard error beside it. Undefined without a terminal or a pager.
 */
function pagedStreams({
  stdout,
  stderr,
  environment,
  machine,
  openPager,
  holdOff,
}: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'machine' | 'openPager' | 'holdOff'>):
  | PagedStreams
  | undefined {
  if (!stdout.isTerminal || environment['TERM'] === 'dumb' || !openPager) return undefined;
  const command = pagerCommand(environment, machine.platform);
  if (!command) return undefined;
  // In the order in which they were written: data, and messages that came after some of it.
  let held: Held[] = [];
  let lines = 0;
  let pager: Pager | undefined;
  let release: (() => void) | undefined;
  const opened = new AbortController();
  const open = async () => {
    opened.abort();
    // Ctrl-C is for the pager. If we ended first, pager and shell would share the terminal.
    release = holdOff?.();
    pager = await openPager(command);
    for (const { chunk } of held.filter(({ isData }) => isData)) await pager.write(chunk);
    held = held.filter(({ isData }) => !isData);
  };
  const write = async (chunk: string | Uint8Array) => {
    if (pager) return await pager.write(chunk);
    held.push({ chunk, isData: true });
    lines += linesOf(chunk, stdout.columns);
    // The shell's prompt needs one line, too.
    if (lines >= stdout.rows) await open();
  };
  return {
    stdout: outputLike(stdout, write, opened.signal),
    stderr: outputLike(stderr, async (chunk) => {
      if (held.length > 0 || pager) held.push({ chunk, isData: false });
      else await stderr.write(chunk);
    }),
    async end() {
      try {
        await pager?.end();
      } finally {
        release?.();
        for (const { chunk, isData } of held) await (isData ? stdout : stderr).write(chunk);
        held = [];
      }
    },
  };
}

/** An output of the same shape whose text goes elsewhere. */
function outputLike(output: Output, write: Output['write'], pagerOpened?: AbortSignal): Output {
  return {
    isTerminal: output.isTerminal,
    isPipe: output.isPipe === true,
    get columns() {
      return output.columns;
    },
    get rows() {
      return output.rows;
    },
    colorDepth: output.colorDepth,
    stream: () => output.stream(),
    write,
    ...(pagerOpened ? { pagerOpened } : {}),
  };
}

function linesOf(chunk: string | Uint8Array, columns: number): number {
  const lines = Buffer.from(chunk as string)
    .toString()
    .split('\n')
    .slice(0, -1);
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
}

/** Returns `HOOKTRAIL_PAGER`, `PAGER`, or less if it is installed; undefined if the user wants no pager. */
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
