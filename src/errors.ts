import { constants } from 'node:os';

/** The exit codes of the program, as its command-line contract lists them. */
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

export interface ErrorParts {
  /** Lines printed indented under the message. */
  readonly details?: readonly string[];
  /** The user's next step, printed as `next: …`. */
  readonly next?: string | undefined;
  readonly cause?: unknown;
}

/** A failure that is explained to the user. Any other exception is a defect of the program. */
export abstract class HooktrailError extends Error {
  abstract readonly exitCode: ExitCode;
  readonly details: readonly string[];
  readonly next: string | undefined;

  constructor(message: string, parts: ErrorParts = {}) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.name = new.target.name;
    this.details = parts.details ?? [];
    this.next = parts.next;
  }
}

/** The command line, the environment or the saved configuration is wrong. */
export class UsageError extends HooktrailError {
  readonly exitCode = ExitCode.usage;
}

/** The service or the identity provider answered with an error, or a result could not be completed. */
export class ServiceError extends HooktrailError {
  readonly exitCode = ExitCode.failed;
}

/** A write to standard output failed, other than because its reader left: the output is incomplete. */
export class OutputError extends HooktrailError {
  readonly exitCode = ExitCode.failed;

  constructor(cause: NodeJS.ErrnoException) {
    const next = isDiskFull(cause) ? 'make room where the output goes, and run the command again' : undefined;
    super(`the output cannot be written: ${faultText(cause)}`, { cause, next });
  }
}

/** Node does not know EDQUOT, and reports an exceeded quota as `Unknown system error -122`. */
function isQuotaExceeded({ code, errno }: NodeJS.ErrnoException): boolean {
  return code === 'EDQUOT' || (constants.errno.EDQUOT !== undefined && errno === -constants.errno.EDQUOT);
}

/** Returns true if a write failed because the disk is full or the user's quota is exceeded. */
export function isDiskFull(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOSPC' || isQuotaExceeded(error);
}

/** Returns the message of a failed system call; names the errors that Node has no message for. */
export function faultText(error: NodeJS.ErrnoException): string {
  if (!isQuotaExceeded(error)) return error.message;
  return `EDQUOT: disk quota exceeded${error.syscall ? `, ${error.syscall}` : ''}`;
}

/** No usable sign-in, or the sign-in was refused. */
export class NotSignedInError extends HooktrailError {
  readonly exitCode = ExitCode.notSignedIn;
}

/** DNS, refused connection, TLS or time-out, after every retry. */
export class UnreachableError extends HooktrailError {
  readonly exitCode = ExitCode.unreachable;
}

/** The reason of the context's abort signal after SIGINT or SIGTERM. */
export class InterruptedError extends HooktrailError {
  readonly exitCode: ExitCode;

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super('interrupted');
    this.exitCode = signal === 'SIGINT' ? ExitCode.interrupted : ExitCode.terminated;
  }
}

/** The reader of standard output left (`| head`). This counts as success. */
export class ClosedPipeError extends HooktrailError {
  readonly exitCode = ExitCode.done;

  constructor() {
    super('standard output was closed');
  }
}
