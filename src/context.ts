import type { Readable, Writable } from 'node:stream';

/** Everything that differs between the real program and a test. Functions take only the parts they use. */
export interface Context {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly machine: Machine;
  readonly browser: Browser;
  /**
   * Runs a program on this process's streams until it ends, and passes our signals on to it. Returns its exit
   * code.
   */
  readonly runProgram: (words: readonly string[], environment: Environment) => Promise<number>;
  readonly startProgram: StartProgram;
  readonly openPager?: (command: string) => Promise<Pager>;
  /** Stops the program as Ctrl-Z does, until its shell continues it. Undefined without job control. */
  readonly suspend?: () => Promise<void>;
  /** `apart`: runs each call in a separate process. */
  readonly loadKeychain: (apart?: 'apart') => Promise<Keychain>;
  /**
   * Aborts with an `InterruptedError` on the first SIGINT or SIGTERM, with a `ClosedPipeError` when stdout's
   * reader leaves.
   */
  readonly signal: AbortSignal;
  /** Keeps a second signal from ending the process at once, until the returned function is called. */
  readonly holdOff?: () => () => void;
  readonly resolveHost?: (host: string) => Promise<readonly string[]>;
  readonly requestLimits?: Partial<RequestLimits>;
  /** Overrides the rhythm of a lock holder's signs of life. */
  readonly lockRhythm?: LockRhythm;
  /**
   * Calls `work`, which must be synchronous, when the process ends other than by SIGKILL. The returned
   * function cancels that.
   */
  readonly atExit?: (work: () => void) => () => void;
  readonly memory: RunMemory;
}

/** State shared between parts of a run, empty at its start. */
export interface RunMemory {
  /** The open question: messages are written above it. */
  question?: OpenQuestion | undefined;
  /** The progress line on the terminal, which would erase a question. */
  progressLine?: { hide(): void; showLater(): void };
  /** Prints a warning according to the flags; undefined until they are read. */
  warn?: (text: string) => void;
  /** Given secrets: each file is read, and each command runs, only once. */
  readonly secrets: Map<string, Promise<string | undefined>>;
  /** Opens tunnels with the proxy's user name and password, which are tried once. */
  proxySignIn?: { open<Tunnel>(openTunnel: () => Promise<Tunnel>): Promise<Tunnel> };
  /** The typed passphrase: a command that opens several files asks once. */
  passphrase?: Promise<string> | undefined;
  keyFile?: string | undefined;
  jq?: Promise<JqProgram>;
}

export interface JqProgram {
  /**
   * Runs the program on each JSON value of the input. Rejects with the signal's reason when the run is
   * aborted.
   */
  run(input: string, flags: readonly string[]): Promise<JqRun>;
  end(): Promise<void>;
}

export interface JqRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export interface OpenQuestion {
  /** Erases the question, or ends its line. */
  readonly clear: string;
  readonly show: () => void;
}

export function emptyMemory(): RunMemory {
  return { secrets: new Map() };
}

export const SECRET_VARIABLES = [
  'HOOKTRAIL_PASSPHRASE',
  'HOOKTRAIL_CLIENT_SECRET',
  'HOOKTRAIL_CLIENT_KEY',
  'HOOKTRAIL_CLIENT_ASSERTION',
  'HOOKTRAIL_API_TOKEN',
  'HOOKTRAIL_ACCESS_TOKEN',
] as const;
export type SecretVariable = (typeof SECRET_VARIABLES)[number];

/**
 * Starts a program, without a shell, in its own process group. `input`: its whole standard input, which it
 * may leave unread; its outputs are this process's own.
 */
export type StartProgram = (
  words: readonly string[],
  environment: Environment,
  input: Buffer,
) => Promise<StartedProgram>;

export interface StartedProgram {
  /** The exit code as a shell counts it. Rejects if the program could not be started. */
  readonly ended: Promise<number>;
  /** Sends the signal to the program and its process group. */
  kill(signal: NodeJS.Signals): void;
}

export interface Pager {
  /** Rejects with `ClosedPipeError` when the user has left the pager. */
  write(chunk: string | Uint8Array): Promise<void>;
  end(): Promise<void>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Strips surrounding white space and line ends, and the quotes left by an environment file. */
export function trimValue(text: string): string {
  const pair = /^(?:"([^"]*)"|'([^']*)'|“([^”]*)”|‘([^’]*)’)$/;
  return text.trim().replace(pair, '$1$2$3$4').trim();
}

/** Returns the environment with all our variables trimmed by `trimValue`. */
export function readEnvironment(environment: Environment): Record<string, string | undefined> {
  const read = { ...environment };
  for (const [name, text] of Object.entries(environment)) {
    if (text === undefined || !name.startsWith('HOOKTRAIL_')) continue;
    // The shell reads the quotes of a command line.
    read[name] = name.endsWith('_COMMAND') ? text.trim() : trimValue(text);
  }
  return read;
}

/** In milliseconds. All processes that share a lock must use the same rhythm. */
export interface LockRhythm {
  /** Time between two signs of life of a holder. */
  readonly beat: number;
  /** Time without a sign of life after which an invisible holder counts as gone. */
  readonly silence: number;
}

export interface RequestLimits {
  /** Milliseconds for each step on the way to the peer: name and TCP, a proxy's tunnel, TLS. */
  readonly connect: number;
  /** Milliseconds without any progress. */
  readonly idle: number;
  /**
   * Milliseconds without progress for a body that is only shown, since the status decides; 3 s by default.
   */
  readonly idleWhenDecided?: number;
  /** Milliseconds for the whole exchange, from the request to the last byte of the answer. */
  readonly total: number;
  /** Most bytes of an answer's body, both as sent and decompressed. */
  readonly bytes: number;
}

export interface Output {
  readonly isTerminal: boolean;
  readonly isPipe?: boolean;
  /** Aborts when a pager takes over the terminal. */
  readonly pagerOpened?: AbortSignal;
  /** Width; 80 if unknown. */
  readonly columns: number;
  /** Height; 24 if unknown. */
  readonly rows: number;
  /** Bits per colour, as in `tty.WriteStream.getColorDepth()`; 1 without colour. */
  readonly colorDepth: number;
  /** The raw stream, for a prompt that draws on the terminal. */
  stream(): Writable;
  /**
   * Resolves when the stream takes more. Rejects with `ClosedPipeError` when its reader has left.
   * `allOrNothing`: a chunk that does not fit into a file leaves no part in it, to which the next run would
   * append.
   */
  write(chunk: string | Uint8Array, allOrNothing?: boolean): Promise<void>;
  /** Syncs a file to the disk; undefined for other streams. Rejects as `write` does. */
  sync?(): Promise<void>;
}

export interface Input {
  readonly isTerminal: boolean;
  /** The raw stream, for a prompt that reads single keys. */
  stream(): Readable;
  /**
   * Yields lines without their ends, including an unterminated last one. Can be iterated once. `ending` ends
   * the iteration, even during a wait, and an open pipe then no longer keeps the process alive.
   */
  lines(ending?: AbortSignal): AsyncGenerator<string>;
  bytes(): Promise<Buffer>;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment. Unlike `now` it never jumps, so differences are durations. */
  elapsed(): number;
  /** Returns a random share from 0 to 1, to spread simultaneous waits. */
  jitter(): number;
  /**
   * Calls `work` after so many milliseconds, unless the returned function is called before. Does not keep the
   * process running.
   */
  startTimer(milliseconds: number, work: () => void): () => void;
  /** Rejects with the signal's reason when it aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** According to the operating system, regardless of the environment. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  readonly runtime: string;
  readonly hostname: string;
  /** The name of its zone in the IANA database, if the platform knows it. */
  readonly timezone: string;
  readonly userId: number;
  /** From the user database, not from `$HOME`. */
  readonly userHome: string;
  /** A folder where every user may create folders; not `$TMPDIR`, which differs between processes. */
  readonly sharedFolder: string;
  readonly isContainer: boolean;
  /** True if a process has that number on this machine; undefined if unknown. */
  hasProcess(pid: number): boolean | undefined;
}

export interface Browser {
  /** Opens the URL with the user's browser, or with `command` if given. Rejects when it cannot be started. */
  open(url: URL, command: string | undefined): Promise<void>;
}

export interface Keychain {
  get(account: string): Promise<string | null>;
  set(account: string, secret: string): Promise<void>;
  delete(account: string): Promise<boolean>;
  accounts(): Promise<string[]>;
}
