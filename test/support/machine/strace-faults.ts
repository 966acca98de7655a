import { mkdtempSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, inject } from 'vitest';
import { type Result, type Running, startProcess } from '../process.ts';
import { faultRounds, noteFaults, randomOf } from '../seed.ts';
import { available } from './requirement.ts';

/*
 * Faults of the file system, injected below Node by strace: whatever function the program calls, what fails
 * is the system call. One run is traced; each operation on a file that it shows can then fail in another run.
 * The thread pool of libuv has one thread, and temporary files have fixed names, so that the runs are alike.
 */

/** A system call on a file: the `nth` of its name on that path by that thread. */
export interface FileOperation {
  readonly call: string;
  readonly path: string;
  readonly nth: number;
  /** The calls of each kind that the thread had made on all of the files before this one. */
  readonly before: ReadonlyMap<string, number>;
}

/** A command, and what it did to files in one run. */
export interface TracedCommand {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly args: readonly string[];
  readonly operations: readonly FileOperation[];
}

/** Describes what a loss at any moment must not break, where a process may trace another. */
export function describeFaults(title: string, tests: () => void): void {
  const isLeftOut = !available('the right to trace a process (strace)');
  describe.skipIf(isLeftOut)(title, { timeout: 600_000 }, tests);
}

/**
 * The fault at the operation: an error once, a disk that is full from then on (`FULL`), or a signal
 * (`SIGKILL`).
 */
export type FaultCode = string;

export const DISK_ERRORS = ['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'EACCES', 'EROFS'];
export const READ_ERRORS = ['EIO', 'EMFILE'];
export const FULL = ['FULL'];
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'];
export const KINDS = [
  ['one error', DISK_ERRORS],
  ['a disk that is full from then on', FULL],
  ['a signal', SIGNALS],
] as const;

const WRITES = ['write', 'writev', 'pwrite64', 'fsync', 'fdatasync', 'mkdir', 'link', 'ftruncate'];
const CALLS = [
  ...WRITES,
  ...['openat', 'read', 'pread64', 'rename', 'unlink', 'rmdir', 'readlink', 'getdents64', 'close'],
  ...['stat', 'lstat', 'fstat', 'statx', 'newfstatat', 'access', 'chmod', 'fchmod'],
];
/** The program stops at the calls that are traced alone. */
const FAST = '--seccomp-bpf';
const preload = path.join(import.meta.dirname, 'fixed-random.cjs');

function straceArgs(log: string, ...more: string[]): string[] {
  // With -D the program is the child, and strace its grandchild: signals and the exit code are the program's
  // own.
  return [...'-D -f -q -y -s 4096 -o'.split(' '), log, ...more, process.execPath, inject('program')];
}

function start(env: TracedCommand['env'], args: readonly string[], strace: string[]): Running {
  const options = {
    ...env,
    UV_THREADPOOL_SIZE: '1',
    NODE_OPTIONS: `${env['NODE_OPTIONS']} --require="${preload}"`,
  };
  const { STRACE_STDOUT: redirect } = env;
  if (redirect === undefined)
    return startProcess([...strace, ...args], { env: options, executable: 'strace' });
  const line = ['-c', 'exec strace "$@" >> "$STRACE_STDOUT"', 'sh'];
  return startProcess([...line, ...strace, ...args], { env: options, executable: 'sh' });
}

const newLog = () => path.join(mkdtempSync(path.join(os.tmpdir(), 'strace-')), 'log');

/**
 * Runs a command, and returns its operations on the files that `isOurs` accepts. It has to succeed, unless
 * `use` looks after its end.
 */
export async function traceCommand(
  env: TracedCommand['env'],
  args: readonly string[],
  isOurs: (file: string) => boolean,
  use = async ({ finished }: Running): Promise<unknown> => expect((await finished).code).toBe(0),
): Promise<TracedCommand> {
  const { program, log } = startStraced(env, args, FAST, '-e', `trace=${CALLS.join(',')}`);
  await use(program);
  return { env, args, operations: operationsIn(await log(), isOurs) };
}

/**
 * Starts the program under strace with these options. `log` resolves to what strace wrote, once the program
 * has ended.
 */
export function startStraced(
  env: TracedCommand['env'],
  args: readonly string[],
  ...options: string[]
): { program: Running; log: () => Promise<string> } {
  const file = newLog();
  const program = start(env, args, straceArgs(file, ...options));
  const log = async () => {
    await program.finished;
    return await wholeLog(file, program.pid);
  };
  return { program, log };
}

/** The text of a log, once strace has seen the end of the program. */
async function wholeLog(log: string, pid: number): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    const text = await readFile(log, 'utf8').catch(() => '');
    if (new RegExp(`^${pid} +\\+\\+\\+ `, 'm').test(text)) return text;
    await delay(20);
  }
  throw new Error(`strace did not finish ${log}`);
}

function operationsIn(log: string, isOurs: (file: string) => boolean): FileOperation[] {
  const counts = new Map<string, number>();
  const made = new Map<string, Map<string, number>>();
  const operations: FileOperation[] = [];
  for (const line of log.split('\n')) {
    const [, thread = '', call = '', rest = ''] = /^(\d+) +(\w+)\((.*)$/.exec(line) ?? [];
    // A descriptor is followed by its path; other paths are quoted. The last one is what a rename replaces.
    const files = [...rest.matchAll(/^\d+<([^>]+)>|"((?:[^"\\]|\\.)*)"/g)].map(
      ([, open, named]) => open ?? named ?? '',
    );
    const file = call === 'write' || call === 'read' ? files[0] : files.at(-1);
    if (!file || !isOurs(file)) continue;
    const before = made.get(thread) ?? new Map<string, number>();
    const key = `${thread} ${call} ${file}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    operations.push({ call, path: file, nth, before: new Map(before) });
    before.set(call, (before.get(call) ?? 0) + 1);
    made.set(thread, before);
  }
  return operations;
}

/**
 * Starts the command with a fault at an operation of its traced run. `log` is the file of strace's lines.
 */
function startFaulty(
  { env, args, operations }: TracedCommand,
  { call, path: file, nth, before }: FileOperation,
  code: FaultCode,
  log: string,
): Running {
  if (code !== 'FULL') {
    const isSignal = code.startsWith('SIG');
    const fault = isSignal ? `signal=${code}` : `error=${code}`;
    // Where the kernel selects the calls, strace sends no signal.
    const selection = isSignal ? [] : [FAST];
    const only = ['-P', file, '-e', `trace=${call}`, '-e', `inject=${call}:${fault}:when=${nth}`];
    return start(env, args, straceArgs(log, ...selection, ...only));
  }
  const files = [...new Set(operations.map((operation) => operation.path))].flatMap((one) => ['-P', one]);
  const full = WRITES.flatMap((write) => [
    '-e',
    `inject=${write}:error=ENOSPC:when=${(before.get(write) ?? 0) + 1}+`,
  ]);
  return start(env, args, straceArgs(log, FAST, ...files, '-e', `trace=${WRITES.join(',')}`, ...full));
}

/**
 * True for success or an ordinary error: a fault of the file system must not look like a defect of the
 * program.
 */
export function hasOutcomes({ code, stderr }: Result): boolean {
  return !/unexpected|defect/.test(stderr) && (code === 0 || /^error: .+$/m.test(stderr));
}

/**
 * True if strace's lines say that the fault happened: a run that never came to the operation shows nothing.
 */
async function hasHappened(log: string, pid: number): Promise<boolean> {
  return /\(INJECTED|--- SIG(INT|TERM)|killed by SIGKILL/.test(await wholeLog(log, pid));
}

/** Runs may differ from the traced one, so that a fault may not happen. In this many rounds one has to. */
const TELLING_ROUNDS = 6;

/**
 * Expects that nothing breaks by a fault at some of the operations, or with `npm run faults` at each, and
 * that at least one fault happened. `broken` starts the faulty command, and resolves to what did not hold, if
 * anything. Under `npm run faults` the number of tries is printed.
 */
export async function expectNoHarm(
  kind: string,
  command: TracedCommand,
  codes: readonly FaultCode[],
  broken: (start: () => Running) => Promise<unknown>,
  few = 3,
): Promise<void> {
  const random = randomOf(kind);
  const { operations } = command;
  const rounds = faultRounds(few, operations.length);
  const found: unknown[] = [];
  let happened = 0;
  let round = 0;
  for (; round < rounds || (happened === 0 && round < TELLING_ROUNDS); round++) {
    const isEach = rounds >= operations.length;
    const number = isEach ? round % operations.length : random.below(operations.length);
    const operation = operations[number] as FileOperation;
    const code = codes[random.below(codes.length)] as string;
    const log = newLog();
    let pid = 0;
    const one = await broken(() => {
      const program = startFaulty(command, operation, code, log);
      pid = program.pid;
      return program;
    });
    if (await hasHappened(log, pid)) happened += 1;
    if (one !== undefined) found.push({ operation: { ...operation, before: undefined }, code, one });
  }
  noteFaults(kind, round, round - found.length);
  expect(found).toEqual([]);
  expect(happened).toBeGreaterThan(0);
}
