import os from 'node:os';
import { PassThrough } from 'node:stream';
import type { Context, Keychain, Machine } from '../../src/context.ts';
import { clock } from './clock.ts';

export interface MemoryKeychain extends Keychain {
  readonly entries: Map<string, string>;
}

/** A keychain in memory; `limit` is the maximum size of an entry in bytes. */
export function memoryKeychain(limit = Number.POSITIVE_INFINITY): MemoryKeychain {
  const entries = new Map<string, string>();
  return {
    entries,
    get: async (account) => entries.get(account) ?? null,
    set: async (account, secret) => {
      if (Buffer.byteLength(secret) > limit) throw new Error('the entry is too long');
      entries.set(account, secret);
    },
    delete: async (account) => entries.delete(account),
    accounts: async () => [...entries.keys()],
  };
}

function existsProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** This machine, with the home folder of the test run. */
export function thisMachine(): Machine {
  const { uid, homedir } = os.userInfo();
  return {
    platform: process.platform,
    pid: process.pid,
    runtime: `${process.version}-${process.arch}`,
    hostname: os.hostname(),
    timezone: 'UTC',
    userId: uid,
    userHome: homedir,
    sharedFolder: os.tmpdir(),
    isContainer: false,
    hasProcess: existsProcess,
  };
}

/** This machine without its terminal, environment and keychain, unless `parts` replaces them. */
export function createContext(parts: Partial<Context> = {}): Context {
  const output = () => ({
    isTerminal: false,
    columns: 80,
    rows: 24,
    colorDepth: 1,
    stream: () => new PassThrough(),
    write: async () => undefined,
  });
  return {
    stdin: {
      isTerminal: false,
      stream: () => new PassThrough(),
      lines: async function* () {},
      bytes: async () => Buffer.alloc(0),
    },
    stdout: output(),
    stderr: output(),
    environment: {},
    clock,
    machine: thisMachine(),
    browser: { open: async () => undefined },
    runProgram: async ([file]) => {
      throw new Error(`no test in process runs ${file}`);
    },
    loadKeychain: async () => memoryKeychain(),
    signal: new AbortController().signal,
    ...parts,
  };
}
