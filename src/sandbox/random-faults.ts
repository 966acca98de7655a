import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Random } from './random.ts';

const statuses = [500, 502, 503, 504];

/**
 * Makes a share of the requests fail at random: with a status, a connection that breaks before the answer, or one that breaks
 * in its middle. Returns false for a request that must not be carried out.
 */
export function failAtRandom(
  random: Random,
  rate: number,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (rate <= 0 || random.float() >= rate) return true;
  const draw = random.below(statuses.length + 2);
  const status = statuses[draw];
  if (status !== undefined) {
    request.resume();
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ code: 'service.unavailable', message: 'a random fault' }));
    return false;
  }
  if (draw === statuses.length) {
    request.socket.resetAndDestroy();
    return false;
  }
  response.end = ((body: string | Buffer) => {
    // Announces the whole length and sends less, as a service does that fails in the middle.
    const bytes = Buffer.from(body as Buffer);
    response.setHeader('Content-Length', bytes.length);
    response.flushHeaders();
    response.write(bytes.subarray(0, bytes.length >> 1), () =>
      setTimeout(() => request.socket.resetAndDestroy(), 20),
    );
    return response;
  }) as typeof response.end;
  return true;
}
