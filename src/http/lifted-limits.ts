// Limits of undici that cause trouble in practice, each with its case.

/**
 * undici's own time limits are off: any byte counts as progress for them, and a service that sends one a
 * second holds a command for minutes. `exchange` limits the time instead.
 */
export const NO_IDLE_LIMITS = { headersTimeout: 0, bodyTimeout: 0 } as const;

/** Bytes of an answer within the idle limit that count as progress. */
export const PROGRESS_BYTES = 1024;

const CONTINUE = 100;
const SWITCHING_PROTOCOLS = 101;
const PROCESSING = 102;
const OK = 200;

/** The parser's return value for an answer without a body. */
const NO_BODY = 1;

export interface AnswerParser {
  onHeadersComplete(status: number, isUpgrade: boolean, keepsAlive: boolean): number;
  createError(code: number, data: Buffer): Error;
  contentLength: string;
  statusCode: number;
  headers: Buffer[];
  headersSize: number;
}

/** Changes how the answers on one connection are read; `isForTunnel`: the answers to `CONNECT`. */
export function liftParserLimits(parser: AnswerParser, isForTunnel: boolean): void {
  const { onHeadersComplete, createError } = parser;
  // undici breaks the connection after `100 Continue`, which some servers send without being asked. It skips
  // all other interim answers, as a client has to do for every one (RFC 9110 section 15.2).
  parser.onHeadersComplete = (status, ...rest) => {
    if (isForTunnel && status < OK && status !== SWITCHING_PROTOCOLS) return passOver(parser, status);
    return onHeadersComplete.call(parser, status === CONTINUE ? PROCESSING : status, ...rest);
  };
  // For an answer refused by its parser, undici reports a wrong body length if there is a Content-Length,
  // whatever the actual reason.
  parser.createError = (...parts) => {
    parser.contentLength = '';
    return createError.apply(parser, parts);
  };
}

/** undici takes the first answer to `CONNECT` for the final one, whatever its status. */
function passOver(parser: AnswerParser, status: number): number {
  parser.statusCode = status;
  parser.headers = [];
  parser.headersSize = 0;
  return NO_BODY;
}
