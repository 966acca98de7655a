// Limits of undici that the field runs into, each with its case.

/**
 * undici's own limits of time are off: any byte counts as progress for them, and a service that sends one a
 * second holds a command for minutes. `exchange` counts.
 */
export const NO_IDLE_LIMITS = { headersTimeout: 0, bodyTimeout: 0 } as const;

/** Fewer bytes of an answer than this within the idle limit are no progress. */
export const PROGRESS_BYTES = 1024;

const CONTINUE = 100;
const SWITCHING_PROTOCOLS = 101;
const PROCESSING = 102;
const OK = 200;

/** For the parser: the answer has no body. */
const NO_BODY = 1;

/** The members of undici's parser that are replaced; each connection has one. */
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
  // undici breaks the connection after `100 Continue`, which some servers send without being asked, and
  // passes over any other interim answer, as over all of them a client has to (RFC 9110 section 15.2).
  parser.onHeadersComplete = (status, ...rest) => {
    if (isForTunnel && status < OK && status !== SWITCHING_PROTOCOLS) return passOver(parser, status);
    return onHeadersComplete.call(parser, status === CONTINUE ? PROCESSING : status, ...rest);
  };
  // Of an answer that its parser refuses, undici reports a wrong length of the body if there is a
  // Content-Length, whatever the parser's reason was.
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
