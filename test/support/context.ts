import os from 'node:os';
import { PassThrough } from 'node:stream';
import type { Context, Keychain } from '../../src/context.ts';
import { clock } from './clock.ts';

export interface MemoryKeychain extends Keychain {
  readonly entries: Map<string, string>;
}

/** A keychain in memory; `limit` is the number of bytes that an entry holds. */
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

/** This machine without its terminal, environment and keychain, as far as `parts` give nothing else. */
export function createContext(parts: Partial<Context> = {}): Context {
  const output = () => ({
    isTerminal: false,
    columns: 80,
    rows: 24,
    colorDepth: 1,
    stream: () => new PassThrough(),
    write: async () => undefined,
  });
  const user = os.userInfo();
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
    machine: {
      platform: process.platform,
      pid: process.pid,
      runtime: process.version,
      hostname: os.hostname(),
      userId: user.uid,
      userHome: user.homedir,
      hasProcess: (pid) => existsProcess(pid),
    },
    browser: { open: async () => undefined },
    loadKeychain: async () => memoryKeychain(),
    signal: new AbortController().signal,
    ...parts,
  };
}
