import { PassThrough } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { isForCompletion, main } from '../../src/cli/main.ts';
import { type Context, emptyMemory, readEnvironment } from '../../src/context.ts';
import { type HooktrailError, InterruptedError } from '../../src/errors.ts';
import { inputOf, outputOf } from '../../src/streams.ts';
import { visit } from './browser.ts';
import { clock } from './clock.ts';
import { type MemoryKeychain, memoryKeychain, thisMachine } from './context.ts';
import type { Options, Result, Running } from './process.ts';
import { memoryStream, noteRunning, PrintedText } from './running.ts';

export type { Result } from './process.ts';

/*
 * How to write a test
 *
 *   await using at = await startSearching({ events: 20 });        // a sandbox, a home, an access token
 *   at.sandbox.control.addEvent({ publishStatus: 'FAILED' });     // created at clock.now()
 *   expect(await at.search('--failed', '--since', '1h')).toEqual({ code: 0, stdout: …, stderr: '' });
 *
 * - Commands run through `main` in the test's process: `hooktrail(args, { env })` of this file, and whatever
 *   `startSearching`, `startSigningIn` and the others run. `startHooktrail(args, { env })` leaves one
 *   running: `printed()`, `kill()`, `closeStdout()`. `terminal: 80` makes its streams a terminal; `tty: {
 *   stdout: false }` takes one out.
 * - `spawnHooktrail(args)` and `startProcess(args)` of `process.ts` run the built program as a process. That
 *   is for signals, pipes, crashes, the bundle and `bin/`; `machine/terminal.ts` is for terminals with a
 *   person at the keys.
 * - The file's name says what a test may touch. `*.test.ts`: the source in this process, with no build and no
 *   tool. `*.process.test.ts`: the built program as a process. `*.machine.test.ts`: a tool, root, the
 *   registry, a keychain, a browser; what the machine lacks is in machine/requirement.ts, which names it when
 *   the tests are left out.
 * - The time is `clock.now()` (clock.ts): noon of 20 November 2026 UTC, standing still. `Date`, the sandbox
 *   and the program tell the same time. Move it with `clock.set('2028-02-29')` and `clock.advance(ms)`.
 *   Sleeps of up to 5 s end at once (`clock.skips`); a longer one ends when the test moves the clock, which
 *   it does after `await clock.asleep(30_000)`. A process begins at the same time, and from then on the clock
 *   runs; sleeps are real until the process has ended. Timers (`setTimeout`) are real everywhere: give the
 *   program a shorter time-out with `context: { timeouts: { … } }`.
 * - Each home has its keychain in memory: `keychainOf(env)`; `HOOKTRAIL_STORE: 'keychain'` together with
 *   `context: { machine: … }` of another platform leads to it, as Linux asks D-Bus first.
 * - The browser is an HTTP GET that follows redirects. `browser` in `context` replaces it.
 * - `Math.random`, fast-check and `randomOf(name)` (seed.ts) draw from one seed, which a failure shows.
 * - Files go to `home.folder` or `os.tmpdir()`, which is a folder of this test run; nothing else is written.
 */

export interface CommandOptions extends Options {
  /** The width of the terminal that the streams are; absent: pipes. */
  readonly terminal?: number;
  /** The streams that are a pipe although there is a terminal: `{ stdout: false }` is `hooktrail … | cat`. */
  readonly tty?: { readonly stdin?: boolean; readonly stdout?: boolean; readonly stderr?: boolean };
  /** Parts of the context that replace those of the test. */
  readonly context?: Partial<Context>;
}

export interface RunningCommand extends Omit<Running, 'pid'> {
  /** Both outputs in the order in which they were written. */
  readonly screen: string;
}

/** Does with a command line what `start` of src/cli/start.ts does. */
async function call(args: readonly string[], context: Context): Promise<number> {
  if (!isForCompletion(args)) return await main(args, context);
  await (await import('../../src/cli/completion-answer.ts')).answer(args, context);
  return 0;
}

/** Runs a command line in this process to its end. */
export async function hooktrail(args: readonly string[], options: CommandOptions): Promise<Result> {
  return await startHooktrail(args, options).finished;
}

/** Starts a command line in this process and leaves it running. */
export function startHooktrail(
  args: readonly string[],
  {
    env,
    stdin = '',
    cwd = env['HOME'],
    paused = false,
    executable,
    terminal,
    tty = {},
    context,
  }: CommandOptions,
): RunningCommand {
  if (executable) throw new Error('another program cannot run in this process');
  if (cwd) process.chdir(cwd);
  const abort = new AbortController();
  const onFailure = (failure: HooktrailError) => abort.abort(failure);
  const printed = new PrintedText(['stdout', 'stderr', 'screen']);
  const texts = printed.of;
  const told = (name: 'stdout' | 'stderr') => {
    const decoder = new StringDecoder();
    return (bytes: Buffer) => printed.add(decoder.write(bytes), name, 'screen');
  };
  const isTerminal = (stream: keyof typeof tty) => terminal !== undefined && tty[stream] !== false;
  const stdout = memoryStream(told('stdout'), isTerminal('stdout') ? terminal : undefined, paused);
  const stderr = memoryStream(told('stderr'), isTerminal('stderr') ? terminal : undefined);
  const input = Object.assign(new PassThrough(), {
    isTTY: isTerminal('stdin'),
    setRawMode: () => input,
  });
  if (stdin !== null) input.end(stdin);
  const kindOf = (stream: keyof typeof tty) => (isTerminal(stream) ? 'terminal' : 'pipe');
  const works = new Set<() => void>();
  const whole: Context = {
    memory: emptyMemory(),
    stdin: inputOf(() => input),
    stdout: outputOf(-1, kindOf('stdout'), () => stdout.stream, onFailure),
    stderr: outputOf(
      -1,
      kindOf('stderr'),
      () => stderr.stream,
      () => undefined,
    ),
    environment: readEnvironment(terminal === undefined ? env : { TERM: 'xterm-256color', ...env }),
    clock,
    machine: {
      ...thisMachine(),
      userHome: env['HOOKTRAIL_TEST_HOME'] ?? thisMachine().userHome,
      sharedFolder: env['HOOKTRAIL_TEST_SHARED'] ?? thisMachine().sharedFolder,
    },
    browser: {
      open: async (url, command) => {
        if (command)
          return await (await import('../../src/child-programs.ts')).openBrowser(
            url,
            command,
            process.env,
            process,
          );
        visit(url).catch((error) => {
          // The clock of tests skips the listener's farewell: it may close while its page is on the way.
          if (!/ECONNRESET|UND_ERR_SOCKET/.test(error?.cause?.code)) abort.abort(error);
        });
      },
    },
    runProgram: async ([file]) => {
      throw new Error(`the test does not say how ${file} runs`);
    },
    startProgram: async ([file]) => {
      throw new Error(`the test does not say how ${file} runs`);
    },
    loadKeychain: async () => keychainOf(env),
    signal: abort.signal,
    atExit: (work) => {
      works.add(work);
      return () => void works.delete(work);
    },
    ...context,
  };
  const finished = call(args, whole).then((code) => {
    for (const work of works) work();
    const result = { code, stdout: texts.stdout, stderr: texts.stderr };
    printed.end(result);
    return result;
  });
  noteRunning(finished, () => abort.abort(new InterruptedError('SIGTERM')));
  return {
    stdin: input,
    finished,
    get stdout() {
      return texts.stdout;
    },
    get stderr() {
      return texts.stderr;
    },
    get screen() {
      return texts.screen;
    },
    printed: (stream, pattern) => printed.matches(stream, pattern),
    kill: (signal) => {
      if (signal !== 'SIGINT' && signal !== 'SIGTERM') throw new Error(`${signal} needs a process`);
      abort.abort(new InterruptedError(signal));
    },
    closeStdout: stdout.close,
    resume: stdout.resume,
  };
}

const keychains = new Map<string | undefined, MemoryKeychain>();

/** Returns the keychain of an environment's home: the same for all commands there. */
export function keychainOf(env: Options['env']): MemoryKeychain {
  const home = env['HOME'];
  const keychain = keychains.get(home) ?? memoryKeychain();
  keychains.set(home, keychain);
  return keychain;
}
