import { setMaxListeners } from 'node:events';
import { existsSync, fstatSync, writeSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import {
  type Clock,
  type Context,
  type Keychain,
  type Machine,
  type Output,
  readEnvironment,
  SECRET_VARIABLES,
} from './context.ts';
import { ExitCode, type HooktrailError, InterruptedError, UsageError } from './errors.ts';
import { inputOf, outputKind, outputOf } from './streams.ts';

export interface System {
  readonly argv: readonly string[];
  readonly context: Context;
  exitWith(code: ExitCode): void;
}

/** Loads `node:tty` only where there may be a terminal. */
function isTerminal(descriptor: number): boolean {
  return process.getBuiltinModule('node:tty').isatty(descriptor);
}

/** The only file that uses `process`, the real clock and the native keychain. */
export function createSystem(): System {
  const abort = new AbortController();
  // Every pending request and wait listens to it.
  setMaxListeners(0, abort.signal);
  const atExit = new Set<() => void>();
  const leave = () => {
    for (const work of atExit) work();
  };
  process.on('exit', leave);
  const exitWith = failUntilExitCode();
  const { holdOff, divert } = stopOnSignals(abort, leave);
  const environment = readEnvironment(process.env);
  // Hide the secrets from programs that we start.
  for (const name of SECRET_VARIABLES) delete process.env[name];
  // Node 20 disables colour for an empty value; no-color.org does not.
  if (process.env['NO_COLOR'] === '') delete process.env['NO_COLOR'];
  const onFailure = (failure: HooktrailError) => abort.abort(failure);
  let [stdout, stderr]: (Output | undefined)[] = [];

  return {
    argv: process.argv.slice(2),
    context: {
      stdin: inputOf(() => {
        // Node reads a folder as an empty file. Without standard input, Windows has no descriptor.
        if (process.platform !== 'win32' && fstatSync(0).isDirectory())
          throw new UsageError('standard input is a folder', { next: 'redirect it from a file in it' });
        return process.stdin;
      }),
      // Finding out the kind of each file takes 2 ms.
      get stdout() {
        stdout ??= outputOf(1, outputKind(1, isTerminal), () => process.stdout, onFailure);
        return stdout;
      },
      // A closed stderr loses notices, never results: the run continues.
      get stderr() {
        const ignore = () => undefined;
        stderr ??= outputOf(2, outputKind(2, isTerminal), () => process.stderr, ignore);
        return stderr;
      },
      environment,
      clock: systemClock,
      machine: machine(),
      browser: {
        open: async (url, command) => {
          const { openBrowser } = await import('./child-programs.ts');
          const usual = process.platform === 'win32' ? undefined : environment['BROWSER'];
          await openBrowser(url, command, process.env, machine(), usual);
        },
      },
      runProgram: async (words, given) =>
        (await import('./child-programs.ts')).runProgram(words, given, machine(), divert),
      startProgram: async (words, given, input) =>
        (await import('./child-programs.ts')).startProgram(words, given, input, machine(), process.kill),
      // The options of git: quit if everything fits on the screen, pass colours through, do not clear the
      // screen.
      openPager: async (command) =>
        (await import('./child-programs.ts')).openPager(command, { LESS: 'FRX', LV: '-c', ...process.env }),
      ...(process.platform === 'win32' ? {} : { suspend }),
      loadKeychain,
      signal: abort.signal,
      memory: { secrets: new Map() },
      holdOff,
      atExit: (work) => {
        atExit.add(work);
        return () => void atExit.delete(work);
      },
    },
    exitWith,
  };
}

/**
 * Starts with exit code 1: a process that ends because nothing is left to wait for must not report success.
 */
function failUntilExitCode(): System['exitWith'] {
  process.exitCode = ExitCode.failed;
  const onIdle = () => void writeSync(2, UNFINISHED);
  process.once('beforeExit', onIdle);
  return (code) => {
    process.off('beforeExit', onIdle);
    process.exitCode = code;
  };
}

const UNFINISHED =
  'error: hooktrail ended before its work was done, which is a defect of hooktrail\n' +
  'next: run the command again with --debug, and report what it prints\n';

/** The shell's job is the whole process group. If no shell waits for it, the system ignores the signal. */
async function suspend(): Promise<void> {
  const { setTimeout: delay } = await import('node:timers/promises');
  const continued = new Promise((resolve) => process.once('SIGCONT', resolve));
  process.kill(0, 'SIGTSTP');
  await Promise.race([continued, delay(SUSPENDED_MS)]);
}

/** Milliseconds for the signal to arrive; the time does not run while the process is stopped. */
const SUSPENDED_MS = 200;

type Signal = 'SIGINT' | 'SIGTERM';

/**
 * Milliseconds within which two signals count as one, since `npm exec` also forwards a signal that the
 * terminal sends to its child.
 */
const ECHO_MS = 250;

/**
 * The first signal aborts the work in progress, which then ends in its own time. A later one ends the process
 * at once, unless `holdOff` prevents that. Diverted signals do neither.
 */
function stopOnSignals(abort: AbortController, leave: () => void) {
  let diverted: ((signal: Signal) => void) | undefined;
  let firstAt: number | undefined;
  let held = 0;
  let latest: Signal | undefined;
  // Uses the signal's default action. No code runs after that.
  const end = (signal: Signal) => {
    // There are no signals on Windows: `kill` would end the process with exit code 1.
    if (process.platform === 'win32') process.exit(new InterruptedError(signal).exitCode);
    leave();
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  const stop = (signal: Signal) => {
    if (diverted) return diverted(signal);
    const now = performance.now();
    firstAt ??= now;
    if (!abort.signal.aborted) abort.abort(new InterruptedError(signal));
    else if (now - firstAt > ECHO_MS) {
      latest = signal;
      if (held === 0) end(signal);
    }
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  // The terminal was closed.
  process.on('SIGHUP', () => stop('SIGTERM'));
  // Ctrl-Break on Windows.
  process.on('SIGBREAK', () => stop('SIGINT'));
  const holdOff = () => {
    held++;
    return () => {
      held--;
      if (held === 0 && latest) end(latest);
    };
  };
  const divert = (to: (signal: Signal) => void) => {
    diverted = to;
    return () => {
      diverted = undefined;
    };
  };
  return { holdOff, divert };
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  jitter: () => Math.random(),
  startTimer: (milliseconds, work) => {
    const timer = setTimeout(work, milliseconds).unref();
    return () => clearTimeout(timer);
  },
  sleep: async (milliseconds, signal) => {
    const { setTimeout: delay } = await import('node:timers/promises');
    try {
      // Node treats a delay beyond its timers' limit as one millisecond.
      let rest = milliseconds;
      do {
        await delay(Math.min(rest, LONGEST_TIMER_MS), undefined, signal ? { signal } : {});
        rest -= LONGEST_TIMER_MS;
      } while (rest > 0);
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};

/** Returns the zone of TZ. ICU, which gave `found`, falls back to UTC for unknown zones. */
export function machineZone(variable: string | undefined, found = 'UTC'): string {
  const asked = variable?.replace(/^:/, '') ?? found;
  if (/^((Etc\/)?(UTC|UCT|GMT|Zulu|Universal|Greenwich)[-+]?0?)?$/.test(asked)) return 'UTC';
  return found === 'UTC' ? asked : found;
}

export function machine(): Machine {
  let home: string | undefined;
  return {
    platform: process.platform,
    sharedFolder: '/tmp',
    pid: process.pid,
    runtime: `${process.version}-${process.arch}`,
    get hostname() {
      return hostname();
    },
    get timezone() {
      return machineZone(process.env['TZ'], Intl.DateTimeFormat().resolvedOptions().timeZone);
    },
    userId: process.geteuid?.() ?? -1,
    // Looked up in the user database only when needed: most commands do not.
    get userHome() {
      home ??= homeOfUser();
      return home;
    },
    get isContainer() {
      return (
        process.platform === 'linux' && ['/.dockerenv', '/run/.containerenv'].some((mark) => existsSync(mark))
      );
    },
    hasProcess,
  };
}

function hasProcess(pid: number): boolean | undefined {
  try {
    // Signal 0 only checks that the process exists, including on Windows.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // EPERM: the process exists and belongs to another user.
    if (code === 'EPERM') return true;
    return code === 'ESRCH' ? false : undefined;
  }
}

/**
 * A container may run with a user id missing from the user database: its home is `$HOME`, or else `/` as in a
 * shell.
 */
function homeOfUser(): string {
  try {
    return userInfo().homedir;
  } catch {
    return process.env['HOME'] || '/';
  }
}

const SERVICE = 'hooktrail';

async function loadKeychain(apart?: 'apart'): Promise<Keychain> {
  const keytar = apart
    ? (await import('./child-programs.ts')).keytarApart(process.execPath, process.env)
    : (await import('keytar')).default;
  return {
    get: (account) => keytar.getPassword(SERVICE, account),
    set: (account, secret) => keytar.setPassword(SERVICE, account, secret),
    delete: (account) => keytar.deletePassword(SERVICE, account),
    accounts: async () => (await keytar.findCredentials(SERVICE)).map((entry) => entry.account),
  };
}
