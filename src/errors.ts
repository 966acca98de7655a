import { constants } from 'node:os';
import type { Advice } from './advice.ts';

export const ExitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notSignedIn: 4,
  unreachable: 5,
  matched: 10,
  interrupted: 130,
  terminated: 143,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

export type ErrorKind =
  | 'usage'
  | 'not-found'
  | 'sign-in'
  | 'service'
  | 'unreachable'
  | 'incomplete'
  | 'interrupted'
  | 'internal';

export interface ErrorParts {
  readonly details?: readonly string[];
  readonly next?: Advice | undefined;
  /** A typed word, and the one that was probably meant: the next step becomes the corrected line. */
  readonly correction?: {
    readonly typed: string;
    readonly meant: string;
    readonly followedBy?: readonly string[];
  };
  readonly cause?: unknown;
  readonly kind?: ErrorKind | undefined;
  readonly status?: number;
  /** True if the same command may succeed later, false if it cannot. */
  readonly retryable?: boolean;
  /** The Error object of the answer (service description, part 2). */
  readonly errorObject?: object | undefined;
}

/** The exit code of a command that ends with such an error, unless the error has its own. */
function exitCodeOf(kind: ErrorKind): ExitCode {
  switch (kind) {
    case 'usage':
      return ExitCode.usage;
    case 'sign-in':
      return ExitCode.notSignedIn;
    case 'unreachable':
      return ExitCode.unreachable;
    case 'interrupted':
      return ExitCode.interrupted;
    case 'not-found':
    case 'service':
    case 'incomplete':
    case 'internal':
      return ExitCode.failed;
  }
}

/** A failure that is explained to the user. Any other exception is a defect of the program. */
export abstract class HooktrailError extends Error {
  readonly exitCode: ExitCode;
  readonly kind: ErrorKind;
  readonly details: readonly string[] = [];
  readonly next: Advice | undefined;
  readonly correction: ErrorParts['correction'];
  readonly status: number | undefined;
  readonly retryable: boolean | undefined;
  readonly errorObject: object | undefined;

  constructor(
    message: string,
    defaultKind: ErrorKind,
    { cause, kind = defaultKind, ...parts }: ErrorParts = {},
    exitCode = exitCodeOf(kind),
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    Object.assign(this, parts);
    this.exitCode = exitCode;
    this.kind = kind;
  }
}

/** The kind of anything thrown, for a warning: `incomplete` where nothing explains it. */
export function kindOf(thrown: unknown): ErrorKind {
  return thrown instanceof HooktrailError ? thrown.kind : 'incomplete';
}

/** Returns the first lines, and the number of the rest. */
export function fewOf(lines: readonly string[], most = 5): string[] {
  const more = lines.length - most;
  return [...lines.slice(0, most), ...(more > 0 ? [`and ${more} more`] : [])];
}

export class UsageError extends HooktrailError {
  constructor(message: string, parts: ErrorParts = {}) {
    super(message, 'usage', parts);
  }
}

/**
 * The service or the identity provider answered with an error, whose status is given, or a result could not
 * be completed.
 */
export class ServiceError extends HooktrailError {
  constructor(message: string, parts: ErrorParts = {}) {
    super(message, parts.status === undefined ? 'incomplete' : 'service', parts);
  }
}

/** A write to standard output failed, other than because its reader left: the output is incomplete. */
export class OutputError extends HooktrailError {
  constructor(cause: NodeJS.ErrnoException) {
    const next = isDiskFull(cause) ? 'make room where the output goes, and run the command again' : undefined;
    super(`the output cannot be written: ${faultText(cause)}`, 'incomplete', {
      cause,
      next,
    });
  }
}

/** Node does not know EDQUOT, and reports an exceeded quota as `Unknown system error -122`. */
function isQuotaExceeded({ code, errno }: NodeJS.ErrnoException): boolean {
  return code === 'EDQUOT' || (constants.errno.EDQUOT !== undefined && errno === -constants.errno.EDQUOT);
}

/** True if a write failed because the disk is full or the user's quota is exceeded. */
export function isDiskFull(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOSPC' || isQuotaExceeded(error);
}

/** Returns the error for a named file that cannot be used: its disk is full, or the user has to do `next`. */
export function unusableFile(message: string, next: Advice, cause?: NodeJS.ErrnoException): HooktrailError {
  return cause && isDiskFull(cause)
    ? new ServiceError(message, { next: 'make room, and run the command again', cause })
    : new UsageError(message, { next, cause });
}

/**
 * Describes a failed system call, without its path, which may not be one that the user chose. Returns other
 * messages unchanged.
 */
export function faultText(error: unknown): string {
  if (isQuotaExceeded(error as NodeJS.ErrnoException)) return 'disk quota exceeded (EDQUOT)';
  return (error as Error).message.replace(/^(E[A-Z0-9]+): (.*?), \w+(?: '.*)?$/s, '$2 ($1)');
}

const UNRUNNABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program',
  EACCES: 'it is not a program, or must not be run',
};

export function unrunnableText(fault: unknown): string {
  const { code = '', message = code } = fault as Partial<NodeJS.ErrnoException>;
  return UNRUNNABLE[code] ?? message;
}

export class NotSignedInError extends HooktrailError {
  constructor(message: string, parts: ErrorParts = {}) {
    super(message, 'sign-in', parts);
  }
}

/** DNS, refused connection, TLS or time-out, after every retry. */
export class UnreachableError extends HooktrailError {
  constructor(message: string, parts: ErrorParts = {}) {
    super(message, 'unreachable', { retryable: true, ...parts });
  }
}

/** The reason of the context's abort signal after SIGINT or SIGTERM. */
export class InterruptedError extends HooktrailError {
  constructor(signal: 'SIGINT' | 'SIGTERM') {
    const exitCode = signal === 'SIGINT' ? ExitCode.interrupted : ExitCode.terminated;
    super('interrupted', 'interrupted', {}, exitCode);
  }
}

/** The reader of standard output left (`| head`). This counts as success. */
export class ClosedPipeError extends HooktrailError {
  constructor() {
    super('standard output was closed', 'interrupted', {}, ExitCode.done);
  }
}

export const SHORTAGE_STEPS: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space, and run the command again',
  EDQUOT: 'free some space, and run the command again',
  EMFILE: 'allow more open files (`ulimit -n`), and run the command again',
  ENFILE: 'close other programs, and run the command again',
};

/** The next step if WebAssembly cannot start, which reserves many times the addresses that it uses. */
export const VIRTUAL_MEMORY_STEP =
  'raise the limit, as with `ulimit -v unlimited`: WebAssembly reserves some 10 GiB of addresses, and uses few of them';

export function lacksWebAssembly(error: unknown): boolean {
  return error instanceof Error && /\bWebAssembly\b.*\bmemory\b/is.test(error.message);
}

const FAULT_STEPS: Readonly<Record<string, string>> = {
  ...SHORTAGE_STEPS,
  EACCES: 'let this user write there, or name another place',
  EPERM: 'let this user write there, or name another place',
  EROFS: 'name a place that can be written',
  ENOENT: 'check the path: a part of it is missing',
  ENOTDIR: 'check the path: a part of it is not a folder',
};

/**
 * Explains anything thrown: a failed system call that no command explains is the machine's fault, any other
 * exception is a defect of the program.
 */
export function explainedFault(thrown: unknown): HooktrailError {
  if (thrown instanceof HooktrailError) return thrown;
  const { code, syscall, path, message } = thrown as NodeJS.ErrnoException;
  if (!(thrown instanceof Error) || code === undefined || syscall === undefined)
    return new ServiceError(`unexpected: ${thrown instanceof Error ? message : String(thrown)}`, {
      kind: 'internal',
      next: 'this is a defect of hooktrail: run it again with --debug and report what it prints',
      cause: thrown,
    });
  const call = path === undefined ? syscall : `${syscall} '${path}'`;
  return new ServiceError(`${call}: ${faultText(thrown)}`, { next: FAULT_STEPS[code], cause: thrown });
}
