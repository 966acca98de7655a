import type { Readable, Writable } from 'node:stream';

/** Everything that differs between the real program and a test. Functions take the parts they use. */
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
  /** Starts a program that one event is handed to. */
  readonly startProgram: StartProgram;
  /** Runs a pager on the terminal. Absent if there is none. */
  readonly openPager?: (command: string) => Promise<Pager>;
  /** Stops the program as Ctrl-Z does, until its shell continues it. Absent where there is no job control. */
  readonly suspend?: () => Promise<void>;
  /** `apart`: each of its calls runs in a process of its own. */
  readonly loadKeychain: (apart?: 'apart') => Promise<Keychain>;
  /**
   * Aborts with an `InterruptedError` on the first SIGINT or SIGTERM, with a `ClosedPipeError` when stdout's
   * reader leaves.
   */
  readonly signal: AbortSignal;
  /** Keeps a second signal from ending the process at once, until the returned function is called. */
  readonly holdOff?: () => () => void;
  /** Resolves a name to its addresses, in place of the system's resolver. */
  readonly resolveHost?: (host: string) => Promise<readonly string[]>;
  /** Overrides of the request limits that `http/transport.ts` names. */
  readonly requestLimits?: Partial<RequestLimits>;
  /** Overrides of the rhythm in which the holder of a lock shows that it is alive. */
  readonly lockRhythm?: LockRhythm;
  /**
   * Calls `work`, which must be synchronous, when the process ends other than by SIGKILL. The returned
   * function cancels that.
   */
  readonly atExit?: (work: () => void) => () => void;
  readonly memory: RunMemory;
}

/** What one part of a run has to know of another. Each run begins with an empty one. */
export interface RunMemory {
  /** The question that waits for its answer: messages are written above it. */
  question?: OpenQuestion | undefined;
  /** The line of progress on the terminal: it would erase a question. */
  progressLine?: { hide(): void; showLater(): void };
  /** Prints a warning as the flags ask for it; absent until they are read. */
  warn?: (text: string) => void;
  /** Each secret that was given: its file is read, and its command runs, once. */
  readonly secrets: Map<string, Promise<string | undefined>>;
  /** Opens tunnels with the proxy's user name and password, which are tried once. */
  proxySignIn?: { open<Tunnel>(openTunnel: () => Promise<Tunnel>): Promise<Tunnel> };
  /** The passphrase that was typed: a command that opens several files asks once. */
  passphrase?: Promise<string> | undefined;
  /** The file of the key that a sign-in chose in place of a passphrase. */
  keyFile?: string | undefined;
  /** The program of `--jq`, in the thread that runs it. */
  jq?: Promise<JqProgram>;
}

/** A jq program that compiles. */
export interface JqProgram {
  /** Runs it on each JSON value of the input. Rejects with the signal's reason when the run is aborted. */
  run(input: string, flags: readonly string[]): Promise<JqRun>;
  end(): Promise<void>;
}

export interface JqRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export interface OpenQuestion {
  /** Erases it, or ends its line. */
  readonly clear: string;
  readonly show: () => void;
}

export function emptyMemory(): RunMemory {
  return { secrets: new Map() };
}

/** The secrets that the environment may provide. */
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
 * Starts a program, without a shell, in a process group of its own. `input` is the whole of its standard
 * input, which it may leave unread; its outputs are this process's own.
 */
export type StartProgram = (
  words: readonly string[],
  environment: Environment,
  input: Buffer,
) => Promise<StartedProgram>;

export interface StartedProgram {
  /** Its exit code as a shell counts it. Rejects if it could not be started. */
  readonly ended: Promise<number>;
  /** Sends the signal to the program and to those that it started in its group. */
  kill(signal: NodeJS.Signals): void;
}

/** A program such as less that shows text page by page. */
export interface Pager {
  /** Rejects with `ClosedPipeError` when its user has left it. */
  write(chunk: string | Uint8Array): Promise<void>;
  /** Resolves when its user has left it. */
  end(): Promise<void>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns a secret or a setting as it was meant: without white space and line ends around it, and without the
 * pair of quotes that an environment file leaves.
 */
export function trimValue(text: string): string {
  const pair = /^(?:"([^"]*)"|'([^']*)'|“([^”]*)”|‘([^’]*)’)$/;
  return text.trim().replace(pair, '$1$2$3$4').trim();
}

/** Returns an environment in which every variable of ours has its value as `trimValue` reads it. */
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
  /** Between two signs of life of a holder. */
  readonly beat: number;
  /** A holder that this machine cannot inspect counts as gone after this long without a sign of life. */
  readonly silence: number;
}

/** Limits of a request's time and of its answer's size. */
export interface RequestLimits {
  /** Milliseconds for each step on the way to the peer: name and TCP, a proxy's tunnel, TLS. */
  readonly connect: number;
  /** Milliseconds without any progress. */
  readonly idle: number;
  /** The same for a body that is only shown, since the status decides. Absent: 3 s. */
  readonly idleWhenDecided?: number;
  /** Milliseconds for the whole exchange, from the request to the last byte of the answer. */
  readonly total: number;
  /** Bytes of an answer's body, as it is sent and decompressed. */
  readonly bytes: number;
}

export interface Output {
  readonly isTerminal: boolean;
  /** True if another program reads it, which may itself write to the terminal. */
  readonly isPipe?: boolean;
  /** Aborts when a pager takes the terminal over. */
  readonly pagerOpened?: AbortSignal;
  /** Width in columns; 80 where unknown. */
  readonly columns: number;
  /** Height in rows; 24 where unknown. */
  readonly rows: number;
  /** Bits per colour, as `tty.WriteStream.getColorDepth()` returns them; 1 without colour. */
  readonly colorDepth: number;
  /** The stream itself, for a prompt that draws on the terminal. */
  stream(): Writable;
  /**
   * Resolves when the stream takes more. Rejects with `ClosedPipeError` when nobody reads it any more.
   * `allOrNothing`: a file keeps no part of a chunk that does not fit, to which the next run would append.
   */
  write(chunk: string | Uint8Array, allOrNothing?: boolean): Promise<void>;
  /**
   * Puts on the disk what was written, where the stream is a file; absent elsewhere. Rejects as `write` does.
   */
  sync?(): Promise<void>;
}

export interface Input {
  readonly isTerminal: boolean;
  /** The stream itself, for a prompt that reads single keys. */
  stream(): Readable;
  /**
   * Lines without their ends; a last line without an end counts. Can be iterated once. `ending` ends them,
   * even while one is waited for, and a pipe that stays open no longer keeps the process alive then.
   */
  lines(ending?: AbortSignal): AsyncGenerator<string>;
  /** Everything until the end of the stream. */
  bytes(): Promise<Buffer>;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment. Unlike `now` it never jumps: two of them are a duration apart. */
  elapsed(): number;
  /** A share from 0 to 1, drawn anew: waits that it varies do not end at one moment. */
  jitter(): number;
  /**
   * Calls `work` after so many milliseconds, unless the returned function is called before. Does not keep the
   * process running.
   */
  startTimer(milliseconds: number, work: () => void): () => void;
  /** Rejects with the signal's reason when it aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** The user and the machine according to the operating system, whatever the environment says. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  /** The Node that runs us: version and architecture. */
  readonly runtime: string;
  readonly hostname: string;
  /** The name of its zone in the IANA database, if the platform knows it. */
  readonly timezone: string;
  readonly userId: number;
  /** From the user database, not from `$HOME`. */
  readonly userHome: string;
  /** The folder in which every user may create folders; not `$TMPDIR`, which differs between processes. */
  readonly sharedFolder: string;
  /** True if the marks of Docker or Podman are there. */
  readonly isContainer: boolean;
  /** Returns whether a process has that number on this machine, or undefined if that is unknown. */
  hasProcess(pid: number): boolean | undefined;
}

export interface Browser {
  /**
   * Opens the URL with the user's browser, or with `command` when given. Rejects when it cannot be started.
   */
  open(url: URL, command: string | undefined): Promise<void>;
}

/** The operating system's store of secrets, under one service name. */
export interface Keychain {
  get(account: string): Promise<string | null>;
  set(account: string, secret: string): Promise<void>;
  delete(account: string): Promise<boolean>;
  accounts(): Promise<string[]>;
}
