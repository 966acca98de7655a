import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { agentVariable } from '../agent-mode.ts';
import type { Context, Pager } from '../context.ts';

/**
 * Runs the work with an output that switches to the user's pager as soon as the text does not fit on the
 * terminal. Standard error written after the first data is held back until the end, or until the user has
 * left the pager.
 */
export async function withPager<Result>(
  context: Context,
  work: (context: Context) => Promise<Result>,
): Promise<Result> {
  const { stdout, stderr, environment, machine, openPager, holdOff } = context;
  const command = pagerCommand(environment, machine.platform);
  if (!stdout.isTerminal || !openPager || !command) return await work(context);
  // Data, and the messages written after some of it, in order.
  let held: { readonly chunk: string | Uint8Array; readonly isData: boolean }[] = [];
  let lines = 0;
  let pager: Pager | undefined;
  let release: (() => void) | undefined;
  const opened = new AbortController();
  const print = async (chunk: string | Uint8Array) => {
    if (pager) return await pager.write(chunk);
    held.push({ chunk, isData: true });
    lines += linesOf(chunk, stdout.columns);
    // The shell's prompt also needs one line.
    if (lines < stdout.rows) return;
    opened.abort();
    // Ctrl-C is for the pager. If we ended first, pager and shell would share the terminal.
    release = holdOff?.();
    pager = await openPager(command);
    for (const { chunk } of held.filter(({ isData }) => isData)) await pager.write(chunk);
    held = held.filter(({ isData }) => !isData);
  };
  const tell = async (chunk: string | Uint8Array) => {
    if (held.length > 0 || pager) held.push({ chunk, isData: false });
    else await stderr.write(chunk);
  };
  try {
    return await work({
      ...context,
      stdout: Object.assign(Object.create(stdout), { write: print, pagerOpened: opened.signal }),
      stderr: Object.assign(Object.create(stderr), { write: tell }),
    });
  } finally {
    try {
      await pager?.end();
    } finally {
      release?.();
      for (const { chunk, isData } of held) await (isData ? stdout : stderr).write(chunk);
    }
  }
}

function linesOf(chunk: string | Uint8Array, columns: number): number {
  const text = stripVTControlCharacters(Buffer.from(chunk as string).toString());
  const lines = text.split('\n').slice(0, -1);
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
}

/** Returns `HOOKTRAIL_PAGER`, `PAGER`, or less if it is installed; undefined for no pager. */
function pagerCommand(environment: Context['environment'], platform: string): string | undefined {
  if (environment['TERM'] === 'dumb') return undefined;
  // PAGER was set for the person who started the agent.
  const usual = agentVariable(environment) ? '' : environment['PAGER'];
  const own = environment['HOOKTRAIL_PAGER'] ?? usual;
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
