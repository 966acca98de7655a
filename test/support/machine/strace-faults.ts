import { mkdtemp, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from 'vitest';
import { type Result, type Running, startProcess } from '../process.ts';
import { faultRounds, noteFaults, randomOf } from '../seed.ts';

/*
 * Faults of the file system, injected below Node by strace: whatever function the program calls, what fails is the
 * system call. One run is traced; each operation on a file that it shows can then fail in another run. The thread pool
 * of libuv has one thread, and temporary files have fixed names, so that the runs are alike.
 */

/** A system call on a file: the `nth` of its name on that path by that thread. */
export interface FileOperation {
  readonly call: string;
  readonly path: string;
  readonly nth: number;
  /** The calls of each kind that the thread had made on all of the files before this one. */
  readonly before: ReadonlyMap<string, number>;
}

export interface TracedRun {
  readonly result: Result;
  readonly operations: readonly FileOperation[];
}

/** The fault at the operation: an error once, a disk that is full from then on (`FULL`), or a signal (`SIGKILL`). */
export type FaultCode = string;

export const DISK_ERRORS = ['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'EACCES', 'EROFS'];
export const READ_ERRORS = ['EIO', 'EMFILE'];
export const FULL = ['FULL'];
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'];

const WRITES = ['write', 'writev', 'pwrite64', 'fsync', 'fdatasync', 'mkdir', 'link', 'ftruncate'];
const CALLS = [
  ...WRITES,
  ...[
    'openat',
    'read',
    'pread64',
    'rename',
    'unlink',
    'rmdir',
    'stat',
    'lstat',
    'fstat',
    'statx',
    'newfstatat',
  ],
  ...['access', 'readlink', 'getdents64', 'chmod', 'fchmod', 'close'],
];
const preload = path.join(import.meta.dirname, 'fixed-random.cjs');

function straceArgs(log: string, ...more: string[]): string[] {
  // With -D the program is the child, and strace its grandchild: signals and the exit code are the program's own.
  return [
    ...'-D -f -q -y -s 4096 --seccomp-bpf -o'.split(' '),
    log,
    ...more,
    process.execPath,
    inject('program'),
  ];
}

function start(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  strace: string[],
): Running {
  const options = {
    ...env,
    UV_THREADPOOL_SIZE: '1',
    NODE_OPTIONS: `${env['NODE_OPTIONS']} --require="${preload}"`,
  };
  return startProcess([...strace, ...args], { env: options, executable: 'strace' });
}

async function newLog(): Promise<string> {
  return path.join(await mkdtemp(path.join(os.tmpdir(), 'strace-')), 'log');
}

/** Starts the program; its operations on the files that `isOurs` accepts are known when it has ended. */
export async function startTraced(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  isOurs: (file: string) => boolean,
): Promise<{ program: Running; operations: () => Promise<FileOperation[]> }> {
  const { program, log } = await startStraced(env, args, '-e', `trace=${CALLS.join(',')}`);
  return { program, operations: async () => operationsIn(await log(), isOurs) };
}

/** Starts the program under strace with these options. `log` resolves to what strace wrote, once the program has ended. */
export async function startStraced(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  ...options: string[]
): Promise<{ program: Running; log: () => Promise<string> }> {
  const file = await newLog();
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

/** Starts the program with a fault at an operation that a traced run had. */
export async function startFaulty(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  { call, path: file, nth, before }: FileOperation,
  code: FaultCode,
  operations: readonly FileOperation[],
): Promise<Running> {
  const log = await newLog();
  if (code !== 'FULL') {
    const fault = code.startsWith('SIG') ? `signal=${code}` : `error=${code}`;
    return start(
      env,
      args,
      straceArgs(log, '-P', file, '-e', `trace=${call}`, '-e', `inject=${call}:${fault}:when=${nth}`),
    );
  }
  const files = [...new Set(operations.map((operation) => operation.path))].flatMap((one) => ['-P', one]);
  const full = WRITES.flatMap((write) => [
    '-e',
    `inject=${write}:error=ENOSPC:when=${(before.get(write) ?? 0) + 1}+`,
  ]);
  return start(env, args, straceArgs(log, ...files, '-e', `trace=${WRITES.join(',')}`, ...full));
}

/** True for success or an ordinary error: a fault of the file system must not look like a defect of the program. */
export function isTold({ code, stderr }: Result): boolean {
  return !/unexpected|defect/.test(stderr) && (code === 0 || /^error: .+$/m.test(stderr));
}

/**
 * Tries a fault at some of the operations, or with `npm run faults` at each. `broken` resolves to what did not hold, if
 * anything; the results are returned. Under `npm run faults` the number of tries is printed.
 */
export async function eachOperation(
  kind: string,
  operations: readonly FileOperation[],
  codes: readonly FaultCode[],
  broken: (operation: FileOperation, code: FaultCode) => Promise<unknown>,
  few = 12,
): Promise<unknown[]> {
  const random = randomOf(kind);
  const rounds = faultRounds(few, operations.length);
  const found: unknown[] = [];
  for (let round = 0; round < rounds; round++) {
    const number = rounds === operations.length ? round : random.below(operations.length);
    const operation = operations[number] as FileOperation;
    const code = codes[random.below(codes.length)] as string;
    const one = await broken(operation, code);
    if (one !== undefined) found.push({ operation: { ...operation, before: undefined }, code, one });
  }
  noteFaults(kind, rounds, rounds - found.length);
  return found;
}
