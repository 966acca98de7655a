import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** A fault in the answer to one request. Lengths are in bytes of the body, times in milliseconds. */
export type Fault =
  /** Answers normally, so that a later request gets the next fault. */
  | { readonly kind: 'pass' }
  /** Does something first, then answers normally. */
  | { readonly kind: 'run'; readonly run: (request: IncomingMessage) => unknown }
  /** Answers with this instead; the request is not carried out. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /**
   * Writes text to the connection as it is, then `again` every `everyMs` until the client closes the connection. The request is not carried out.
   */
  | { readonly kind: 'raw'; readonly text: string; readonly again?: string; readonly everyMs?: number }
  /**
   * Answers with an empty search answer that contains this many bytes of white space (absent: without end);
   * `compressed` sends a thousandth of them, as gzip. The request is not carried out.
   */
  | { readonly kind: 'flood'; readonly bytes?: number; readonly compressed?: boolean }
  /** Breaks the connection; the request is not carried out. */
  | { readonly kind: 'reset' }
  /** Carries the request out and breaks the connection instead of answering. */
  | { readonly kind: 'answer-lost' }
  /** Breaks the connection after half of the body. */
  | { readonly kind: 'reset-mid-body' }
  /** As `reset-mid-body`, but closes the connection in an orderly way. */
  | { readonly kind: 'close-mid-body' }
  /** Sends half of the body as if it were the whole. */
  | { readonly kind: 'truncate' }
  /** Stops forever after half of the body. */
  | { readonly kind: 'stall' }
  /** Never answers. */
  | { readonly kind: 'silent' }
  /** Answers later. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Sends the body in small pieces. */
  | { readonly kind: 'trickle'; readonly bytes: number; readonly everyMs: number }
  /** Carries the request out, but answers with this. */
  | { readonly kind: 'edit'; readonly edit: (answer: Answer) => Answer };

/** Carries the request out, but answers with the changed JSON. */
// biome-ignore lint/suspicious/noExplicitAny: the test knows what the service sends.
export function editJson(change: (body: any) => unknown): Fault {
  const edit = (answer: Answer): Answer => {
    const body = Buffer.from(JSON.stringify(change(JSON.parse(answer.body.toString()))));
    return { ...answer, body };
  };
  return { kind: 'edit', edit };
}

/** The same fault several times. */
export const times = (count: number, fault: Fault): Fault[] => Array(count).fill(fault);

/** An answer that switches to another protocol, although the client did not ask for that. */
export const switchingProtocols: Fault = {
  kind: 'raw',
  text: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
};

/** Interim answers (RFC 9110 section 15.2) that are never followed by a final one. */
export const interimForEver: Fault = {
  kind: 'raw',
  text: '',
  again: 'HTTP/1.1 102 Processing\r\n\r\n',
  everyMs: 10,
};

type End = (body: Buffer) => void;

/**
 * Makes the answer to a request go wrong: at once for a request that must not be carried out, otherwise when the handler
 * ends the response. Returns true if the handler must still run.
 */
export async function applyFault(
  fault: Fault,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  switch (fault.kind) {
    case 'pass':
      return true;
    case 'run':
      await fault.run(request);
      return true;
    case 'reset':
      request.socket.resetAndDestroy();
      return false;
    case 'status': {
      request.resume();
      const type = { 'Content-Type': 'text/plain; charset=utf-8' };
      response.writeHead(fault.status, { ...type, ...fault.headers });
      response.end(fault.body ?? '');
      return false;
    }
    case 'raw':
      writeRaw(fault, request.socket);
      return false;
    case 'flood':
      await flood(fault, response);
      return false;
    default:
      interceptEnd(response, (body, end) => spoil(fault, request, response, body, end));
      return true;
  }
}

function writeRaw(fault: Extract<Fault, { kind: 'raw' }>, socket: Socket): void {
  socket.write(fault.text);
  const { again, everyMs = 1000 } = fault;
  if (again === undefined) return;
  const timer = setInterval(() => socket.write(again), everyMs);
  socket.once('close', () => clearInterval(timer));
}

async function flood(fault: Extract<Fault, { kind: 'flood' }>, response: ServerResponse): Promise<void> {
  // Several gzip files in a row are one gzip file (RFC 1952 section 2.2), so the piece is compressed only once.
  const encoded = (text: string) => (fault.compressed ? gzipSync(text) : Buffer.from(text));
  const size = 1024 * 1024;
  const space = encoded(' '.repeat(size));
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (fault.compressed) response.setHeader('Content-Encoding', 'gzip');
  response.write(encoded('{"items":['));
  const bytes = fault.bytes ?? Number.POSITIVE_INFINITY;
  for (let sent = 0; sent < bytes; sent += size) {
    const piece = bytes - sent < size ? encoded(' '.repeat(bytes - sent)) : space;
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    if (response.destroyed) return;
  }
  response.end(encoded(']}'));
}

function interceptEnd(response: ServerResponse, spoiled: (body: Buffer, end: End) => void): void {
  const end = response.end.bind(response);
  response.end = ((chunk?: string | Uint8Array) => {
    response.end = end as typeof response.end;
    spoiled(chunk === undefined || chunk === null ? Buffer.alloc(0) : Buffer.from(chunk as Buffer), end);
    return response;
  }) as typeof response.end;
}

function spoil(
  fault: Exclude<Fault, { kind: 'pass' | 'run' | 'reset' | 'status' | 'raw' | 'flood' }>,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  end: End,
): void {
  const { socket } = request;
  const half = body.subarray(0, body.length >> 1);
  // Announces the whole length, whatever is sent, as a service does that fails in the middle.
  const announce = () => response.setHeader('Content-Length', body.length).flushHeaders();
  switch (fault.kind) {
    case 'answer-lost':
      socket.resetAndDestroy();
      return;
    case 'reset-mid-body':
      announce();
      response.write(half, () => setTimeout(() => socket.resetAndDestroy(), 20));
      return;
    case 'close-mid-body':
      announce();
      response.write(half, () => socket.destroySoon());
      return;
    case 'truncate':
      response.setHeader('Content-Length', half.length);
      end(half);
      return;
    case 'stall':
      announce();
      response.write(half);
      return;
    case 'silent':
      return;
    case 'slow': {
      const timer = setTimeout(() => end(body), fault.ms);
      response.once('close', () => clearTimeout(timer));
      return;
    }
    case 'trickle': {
      announce();
      let sent = 0;
      const timer = setInterval(() => {
        response.write(body.subarray(sent, sent + fault.bytes));
        sent += fault.bytes;
        if (sent >= body.length) {
          clearInterval(timer);
          end(Buffer.alloc(0));
        }
      }, fault.everyMs);
      response.once('close', () => clearInterval(timer));
      return;
    }
    case 'edit':
      changeAnswer(response, body, end, fault.edit);
  }
}

function changeAnswer(response: ServerResponse, body: Buffer, end: End, edit: (answer: Answer) => Answer) {
  const headers = Object.fromEntries(
    Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]),
  );
  const answer = edit({ status: response.statusCode, headers, body });
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  response.setHeader('Content-Length', answer.body.length);
  end(answer.body);
}

/** Changes the answer when the handler ends it. */
export function editAnswer(response: ServerResponse, edit: (answer: Answer) => Answer): void {
  interceptEnd(response, (body, end) => changeAnswer(response, body, end, edit));
}
