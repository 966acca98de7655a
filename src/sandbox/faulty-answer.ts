import type { IncomingMessage, ServerResponse } from 'node:http';
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
    default:
      interceptEnd(response, (body, end) => spoil(fault, request, response, body, end));
      return true;
  }
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
  fault: Exclude<Fault, { kind: 'pass' | 'run' | 'reset' | 'status' }>,
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
