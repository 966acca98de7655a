import type { Socket } from 'node:net';
import type { Answer, Fault } from './faults.ts';

// The wire's oddities: the same answer in the bytes that services, gateways and proxies really send. A test
// gives them to the sandbox as a fault, to `startByteServer` or to `startHandler`.

/** The bytes of an answer, and whether the connection ends after them. */
export interface OddAnswer {
  readonly bytes: Buffer;
  readonly ends?: boolean;
}

export type Oddity = (answer: Answer) => OddAnswer;

interface Parts {
  readonly before?: string;
  readonly status?: number;
  readonly headers?: readonly string[];
  readonly lineEnd?: string;
  /** The announced length of the body. */
  readonly length?: number | undefined;
  readonly ends?: boolean;
}

function written({ status, headers, body }: Answer, parts: Parts): OddAnswer {
  const { before = '', lineEnd = '\r\n', length = body.length, ends = false } = parts;
  const names = Object.entries(headers).filter(([name]) => !/^(content-length|connection)$/i.test(name));
  const lines = [
    `HTTP/1.1 ${parts.status ?? status} Status`,
    ...names.map(([name, value]) => `${name}: ${value}`),
    ...(parts.headers ?? []),
    `Content-Length: ${length}`,
  ];
  const head = `${before}${lines.join(lineEnd)}${lineEnd}${lineEnd}`;
  return { bytes: Buffer.concat([Buffer.from(head), body]), ends };
}

const oddity =
  (parts: Parts): Oddity =>
  (answer) =>
    written(answer, parts);

/** Heads that a client passes over, or takes as they are. */
export const HARMLESS = {
  'a 100 Continue that nobody asked for': oddity({ before: 'HTTP/1.1 100 Continue\r\n\r\n' }),
  'several interim answers': oddity({
    before:
      'HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
  }),
} satisfies Record<string, Oddity>;

/** Heads that the parser refuses, since they can smuggle a second answer, and the reason that is given. */
export const REFUSED = {
  'Content-Length twice': [oddity({ headers: ['Content-Length: 5'] }), 'Duplicate Content-Length'],
  'bare line feeds': [oddity({ lineEnd: '\n' }), 'Missing expected CR after response line'],
  'a folded header': [oddity({ headers: ['X-Folded: a\r\n b'] }), 'Unexpected whitespace after header value'],
} satisfies Record<string, readonly [Oddity, reason: string]>;

/** Bodies that are not as the head announces them. */
export const WRONG_BODIES = {
  '204 with a Content-Length': (answer) =>
    written({ ...answer, body: Buffer.alloc(0) }, { status: 204, length: 6 }),
  'a Content-Length that is too large': (answer) => written(answer, { length: answer.body.length + 50 }),
  'a body that is cut off': (answer) => written(answer, { length: answer.body.length + 50, ends: true }),
} satisfies Record<string, Oddity>;

/** A body in a coding that nobody asked for, and which is none. */
export const IN_UTF8 = oddity({ headers: ['Content-Encoding: utf-8'] });

/** Writes an answer past the server, which then knows of none: the connection has no further one. */
export function writeOddly(socket: Socket, { bytes, ends = false }: OddAnswer): void {
  socket.write(bytes);
  if (ends) socket.end();
}

/** The sandbox carries the request out, and answers in these bytes. */
export const inBytes = (odd: Oddity): Fault => ({ kind: 'bytes', odd });
