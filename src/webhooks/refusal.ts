import type { IncomingMessage, ServerResponse } from 'node:http';

/** An answer to a sender, in the shape of the service's own Error object (service description, part 2). */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const refusals = {
  notFound: { status: 404, code: 'path.not_found', message: 'there is nothing at this path' },
  method: {
    status: 405,
    code: 'method.not_allowed',
    message: 'deliveries are sent with POST',
    headers: { Allow: 'POST' },
  },
  token: {
    status: 401,
    code: 'api_token.invalid',
    message: 'the Api-Token header is missing or is not the expected one',
  },
  encoding: { status: 415, code: 'body.encoded', message: 'compressed bodies are not accepted' },
  tooLarge: { status: 413, code: 'body.too_large', message: 'the body is larger than this receiver accepts' },
  stopping: { status: 503, code: 'receiver.stopping', message: 'the receiver is being stopped' },
} satisfies Record<string, Refusal>;

/**
 * Limits for reading a refused body, in milliseconds and bytes: a sender that is still writing would lose the answer if
 * the connection were reset.
 */
const LINGER = 2_000;
const LINGER_BYTES = 64 * 1024 * 1024;

export function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const text = refusalText(refusal);
  response.writeHead(refusal.status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
    ...refusal.headers,
  });
  response.write(text);
  let read = 0;
  const finish = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(finish, LINGER);
  timer.unref();
  request.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read > LINGER_BYTES) finish();
  });
  request.once('end', finish).once('close', finish);
  if (request.complete) finish();
}

export function refusalText({ code, message }: Refusal): string {
  return JSON.stringify({ code, message });
}
