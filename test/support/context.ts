import os from 'node:os';
import { PassThrough, Readable } from 'node:stream';
import { type Context, emptyMemory, type Keychain, type Machine, type Output } from '../../src/context.ts';
import { clock } from './clock.ts';
import { memoryStream } from './running.ts';

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

export interface FakeOutput extends Output {
  /** Everything written so far. */
  readonly text: string;
  readonly writes: number;
}

/** An output that keeps what is written to it: a terminal with that many columns, or a pipe. */
export function fakeOutput(columns?: number): FakeOutput {
  const chunks: Buffer[] = [];
  const write = async (chunk: string | Uint8Array) => {
    // This copies the bytes: the writer may reuse its memory.
    chunks.push(Buffer.from(chunk as string));
  };
  return {
    isTerminal: columns !== undefined,
    isPipe: columns === undefined,
    columns: columns ?? 80,
    rows: 24,
    colorDepth: columns === undefined ? 1 : 8,
    get text() {
      return Buffer.concat(chunks).toString();
    },
    get writes() {
      return chunks.length;
    },
    write,
    stream: () => memoryStream((bytes) => void chunks.push(bytes), columns).stream,
  };
}

/** Standard input that has this text, or is this stream, and no terminal. */
export function inputOf(text: string | Readable): Context['stdin'] {
  const stream = typeof text === 'string' ? Readable.from([Buffer.from(text)]) : text;
  return { ...createContext().stdin, stream: () => stream };
}

/** This machine without its terminal, environment and keychain, unless `parts` replaces them. */
export function createContext(parts: Partial<Context> = {}): Context {
  return {
    stdin: {
      isTerminal: false,
      stream: () => new PassThrough(),
      lines: async function* () {},
      bytes: async () => Buffer.alloc(0),
    },
    stdout: fakeOutput(),
    stderr: fakeOutput(),
    environment: {},
    clock,
    machine: thisMachine(),
    browser: { open: async () => undefined },
    runProgram: async ([file]) => {
      throw new Error(`no test in process runs ${file}`);
    },
    startProgram: async ([file]) => {
      throw new Error(`no test in process runs ${file}`);
    },
    loadKeychain: async () => memoryKeychain(),
    signal: new AbortController().signal,
    memory: emptyMemory(),
    ...parts,
  };
}
