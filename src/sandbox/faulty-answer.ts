import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Answer, Fault } from './faults.ts';

type End = (body: Buffer) => void;

/**
 * Makes the answer to a request go wrong: at once where the request must not be carried out, else when its handler
 * ends the response. Returns whether the handler shall still run.
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
  // Gzip files one behind the other are one gzip file (RFC 1952 section 2.2), so that each piece is compressed only once.
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
  const part = () => body.subarray(0, ('after' in fault ? fault.after : undefined) ?? body.length >> 1);
  // A length that was announced and not kept, as from a service that broke in the middle.
  const announce = () => response.setHeader('Content-Length', body.length);
  switch (fault.kind) {
    case 'answer-lost':
      socket.resetAndDestroy();
      return;
    case 'reset-mid-body':
      announce();
      response.flushHeaders();
      response.write(part(), () => setTimeout(() => socket.resetAndDestroy(), 20));
      return;
    case 'close-mid-body':
      announce();
      response.flushHeaders();
      response.write(part(), () => socket.destroySoon());
      return;
    case 'truncate':
      response.setHeader('Content-Length', part().length);
      end(part());
      return;
    case 'stall': {
      if (fault.after !== -1) {
        announce();
        response.flushHeaders();
        response.write(part());
      }
      const rest = fault.after === -1 ? body : body.subarray(part().length);
      if (fault.ms !== undefined) later(response, fault.ms, () => end(rest));
      return;
    }
    case 'slow':
      later(response, fault.ms, () => end(body));
      return;
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
    case 'edit': {
      const headers = Object.fromEntries(
        Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]),
      );
      const answer: Answer = fault.edit({ status: response.statusCode, headers, body });
      for (const name of response.getHeaderNames()) response.removeHeader(name);
      response.statusCode = answer.status;
      for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
      response.setHeader('Content-Length', answer.body.length);
      end(answer.body);
    }
  }
}

function later(response: ServerResponse, milliseconds: number, act: () => void): void {
  const timer = setTimeout(act, milliseconds);
  response.once('close', () => clearTimeout(timer));
}
