import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Oddity, writeOddly } from './odd-answers.ts';

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
  /** Breaks the connection; the request is not carried out. */
  | { readonly kind: 'reset' }
  /** Carries the request out and breaks the connection instead of answering. */
  | { readonly kind: 'answer-lost' }
  /** Breaks the connection after half of the body. */
  | { readonly kind: 'reset-mid-body' }
  /** Stops forever after half of the body. */
  | { readonly kind: 'stall' }
  /** Answers later. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Carries the request out, but answers with this. */
  | { readonly kind: 'edit'; readonly edit: (answer: Answer) => Answer }
  /** Carries the request out, but writes the answer as the oddity has it. */
  | { readonly kind: 'bytes'; readonly odd: Oddity };

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

type End = (body: Buffer) => void;

/**
 * Makes the answer to a request go wrong: at once for a request that must not be carried out, otherwise when
 * the handler ends the response. Returns true if the handler must still run.
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
    case 'stall':
      announce();
      response.write(half);
      return;
    case 'slow': {
      const timer = setTimeout(() => end(body), fault.ms);
      response.once('close', () => clearTimeout(timer));
      return;
    }
    case 'edit':
      changeAnswer(response, body, end, fault.edit);
      return;
    case 'bytes':
      writeOddly(socket, fault.odd({ ...headOf(response), body }));
  }
}

function headOf(response: ServerResponse): Omit<Answer, 'body'> {
  const headers = Object.fromEntries(
    Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]),
  );
  return { status: response.statusCode, headers };
}

function changeAnswer(response: ServerResponse, body: Buffer, end: End, edit: (answer: Answer) => Answer) {
  const answer = edit({ ...headOf(response), body });
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
