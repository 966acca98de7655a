import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import tty from 'node:tty';
import type { Environment, Machine, Pager, StartedProgram } from './context.ts';
import { ClosedPipeError, UsageError } from './errors.ts';

type Signal = 'SIGINT' | 'SIGTERM';

/**
 * Runs a program on this process's own streams until it ends; returns its exit code as a shell counts it.
 * `divert`: redirects our signals to a function until the returned function is called. Rejects if the program
 * cannot be started.
 */
export async function runProgram(
  words: readonly string[],
  environment: Environment,
  { platform }: Pick<Machine, 'platform'>,
  divert: (to: (signal: Signal) => void) => () => void,
): Promise<number> {
  const [file = '', ...rest] = words;
  const child = spawnProgram(file, rest, { env: environment, stdio: 'inherit' }, platform);
  const hasTerminal = [0, 1, 2].some((descriptor) => tty.isatty(descriptor));
  const restore = divert((signal) => {
    // The terminal also sends Ctrl-C to the program, so a SIGINT from this process would be a second Ctrl-C.
    // On Windows every signal comes from the shared console, and `kill` would end the program at once.
    if (platform !== 'win32' && (signal !== 'SIGINT' || !hasTerminal)) child.kill(signal);
  });
  try {
    return await exitCodeOf(child);
  } finally {
    restore();
  }
}

async function exitCodeOf(child: ChildProcess): Promise<number> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal ? os.constants.signals[signal] : 0);
}

/** Implements `StartProgram`. Windows has no process groups, so only the program itself is ended there. */
export function startProgram(
  words: readonly string[],
  environment: Environment,
  input: Buffer,
  { platform }: Pick<Machine, 'platform'>,
  sendSignal: (pid: number, signal: NodeJS.Signals) => unknown,
): StartedProgram {
  const [file = '', ...rest] = words;
  const hasGroup = platform !== 'win32';
  const stdio: SpawnOptions['stdio'] = ['pipe', 'inherit', 'inherit'];
  const child = spawnProgram(file, rest, { env: environment, stdio, detached: hasGroup }, platform);
  // It may end without reading its input.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const kill = (signal: NodeJS.Signals) => {
    if (!hasGroup || child.pid === undefined) return void child.kill(signal);
    try {
      // A negative number means a process group.
      sendSignal(-child.pid, signal);
    } catch {
      // The whole group has ended.
    }
  };
  return { ended: exitCodeOf(child), kill };
}

type ProgramOptions = SpawnOptions & { readonly env: Environment };

/** Starts a program without a shell, except for batch files on Windows, which need one. */
function spawnProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions,
  platform: Machine['platform'],
): ChildProcess {
  const batch = platform === 'win32' ? batchFile(file, options.env) : undefined;
  if (!batch) return spawn(file, args, options);
  const shell = ['/e:ON', '/v:OFF', '/d', '/s', '/c', batchLine(batch, args)];
  return spawn(options.env['ComSpec'] ?? 'cmd.exe', shell, { ...options, windowsVerbatimArguments: true });
}

/** Returns the batch file that Windows would run under this name, such as for `npm`. */
function batchFile(name: string, environment: Environment): string | undefined {
  const search = Object.entries(environment).find(([key]) => key.toUpperCase() === 'PATH')?.[1] ?? '';
  const folders = /[\\/]/.test(name) ? [''] : search.split(path.delimiter).filter(Boolean);
  const endings = path.extname(name) ? [''] : ['.exe', '.com', '.cmd', '.bat'];
  const files = folders.flatMap((folder) => endings.map((ending) => path.join(folder, name + ending)));
  const found = files.find((file) => existsSync(file));
  return found && /\.(cmd|bat)$/i.test(found) ? found : undefined;
}

function withLastBackslashesTwice(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\\') end--;
  return text + text.slice(end);
}

/**
 * Builds a command line on which no character of a word is special to cmd.exe, like Rust's standard library
 * (CVE-2024-24576): a quote is doubled, and after `%%cd:~,`, which expands to nothing, a percent sign begins
 * no variable.
 */
function batchLine(file: string, words: readonly string[]): string {
  const quoted = (word: string) =>
    `"${word.split('"').map(withLastBackslashesTwice).join('""').replace(/[%\r]/g, '%%cd:~,$&')}"`;
  return `"${[`"${file}"`, ...words.map(quoted)].join(' ')}"`;
}

/**
 * Milliseconds to wait for a failure to open a browser: `xdg-open` tries several browsers, then exits with 3.
 */
const TROUBLE_MS = 1_500;

/**
 * Opens a URL with `command` if given, run without a shell and with the URL as its only argument; else with
 * `usual`, the value of `$BROWSER`; else with the system's browser. Pass only `https:` URLs, `http:` URLs of
 * loopback hosts and `file:` URLs of pages written by this program. Rejects when the browser cannot be
 * started, or exits at once with a failure.
 */
export async function openBrowser(
  url: URL,
  command: string | undefined,
  environment: Environment,
  { platform }: Pick<Machine, 'platform'>,
  usual?: string,
): Promise<void> {
  const options: ProgramOptions = { detached: true, stdio: 'ignore', env: environment };
  if (command) return await waitUntilStarted(spawnProgram(command, [url.href], options, platform));
  if (usual?.trim()) return await openWithFirst(browserCommands(usual), url, options);
  const { default: open } = await import('open');
  await waitUntilStarted(await open(url.href));
}

/**
 * Splits `$BROWSER` at colons into command lines. A word may be in quotes; a line that is the path of an
 * existing file, with any spaces, is one word.
 */
function browserCommands(list: string): string[][] {
  const lines = list.match(/(?:"[^"]*"|'[^']*'|[^:"'])+/g) ?? [];
  return lines.map((line) => {
    const whole = line.trim();
    if (existsSync(whole)) return [whole];
    const words = whole.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
    return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
  });
}

/** Opens a URL with the first command line that works; `%s` is replaced by the URL. */
async function openWithFirst(
  commands: readonly (readonly string[])[],
  url: URL,
  options: ProgramOptions,
): Promise<void> {
  let failure: unknown = new Error('BROWSER names no program');
  for (const [program, ...args] of commands) {
    if (program === undefined) continue;
    const isNamed = args.some((arg) => arg.includes('%s'));
    const all = isNamed ? args.map((arg) => arg.replace('%s', () => url.href)) : [...args, url.href];
    try {
      return await waitUntilStarted(spawn(program, all, options));
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function waitUntilStarted(child: ChildProcess): Promise<void> {
  child.unref();
  let timer: NodeJS.Timeout | undefined;
  const quiet = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), TROUBLE_MS);
  });
  try {
    // On Windows `open` has already waited for PowerShell to exit. If 'error' is emitted, `once` rejects.
    const ended =
      child.exitCode === null ? await Promise.race([once(child, 'exit'), quiet]) : [child.exitCode];
    if (ended && ended[0] !== 0) throw new Error(`its command ended with ${ended[0] ?? ended[1]}`);
  } finally {
    clearTimeout(timer);
    child.on('error', () => undefined);
  }
}

export function openPager(command: string, environment: Environment): Pager {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env: environment });
  const closed = once(child, 'close') as Promise<[number | null]>;
  closed.catch(() => undefined);
  // The pager ends when its user quits it, which is not an error.
  child.stdin.on('error', () => undefined);
  return {
    write: (chunk) =>
      new Promise((resolve, reject) => {
        child.stdin.write(chunk, (error) => (error ? reject(new ClosedPipeError()) : resolve()));
      }),
    async end() {
      child.stdin.end();
      const [code] = await closed;
      // POSIX: the shell could not find or execute the pager.
      if (code === 127 || code === 126)
        throw new UsageError(`the pager '${command}' cannot be run`, {
          next: 'set HOOKTRAIL_PAGER or PAGER to one that can, or add --no-pager',
        });
    },
  };
}

/**
 * The functions of keytar. Each call runs in a separate Node process, which an interrupt of this one does not
 * end.
 */
export function keytarApart(
  node: string,
  environment: Environment,
): Pick<typeof import('keytar'), 'getPassword' | 'setPassword' | 'deletePassword' | 'findCredentials'> {
  const call = async (...words: string[]) => {
    const args = ['--input-type=commonjs', '--eval', KEYTAR_CALL];
    const stdio: ['pipe', 'pipe', 'ignore'] = ['pipe', 'pipe', 'ignore'];
    const child = spawn(node, args, { detached: true, stdio, env: environment });
    // The library may end the process before it reads.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify([createRequire(import.meta.url).resolve('keytar'), ...words]));
    const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
    if (printed === '') throw new Error('the native library ended without an answer');
    const { value, message } = JSON.parse(printed);
    if (message !== undefined) throw new Error(message);
    return value;
  };
  return {
    getPassword: (...words) => call('getPassword', ...words),
    setPassword: (...words) => call('setPassword', ...words),
    deletePassword: (...words) => call('deletePassword', ...words),
    findCredentials: (...words) => call('findCredentials', ...words),
  };
}

/** Reads the call from standard input, since other users can see a process's arguments. */
const KEYTAR_CALL = `
const [library, name, ...words] = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
require(library)[name](...words)
  .then((value) => ({ value }), ({ message }) => ({ message }))
  .then((answer) => console.log(JSON.stringify(answer)));
`;
