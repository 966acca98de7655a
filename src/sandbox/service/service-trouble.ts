import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { Behaviour } from '../sandbox-options.ts';
import type { Issue, ServiceShape } from '../shapes/service-shape.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

export function withTrouble(
  service: Handler,
  shape: Pick<ServiceShape, 'errorBody'>,
  behaviour: Readonly<Behaviour>,
  clock: () => number,
  random: Random,
): Handler {
  let second = 0;
  let requests = 0;

  function refuse(response: ServerResponse, status: number, issue: Issue): void {
    response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(shape.errorBody([issue])));
  }

  return async (request, response) => {
    if (behaviour.latencyMs > 0) await sleep(behaviour.latencyMs);
    if (clock() - second >= 1000) {
      second = clock();
      requests = 0;
    }
    if (++requests > behaviour.rateLimit && behaviour.rateLimit > 0) {
      response.setHeader('Retry-After', 1);
      return refuse(response, 429, { code: 'request.rate_limited', message: 'too many requests per second' });
    }
    if (behaviour.faultRate <= 0 || random.float() >= behaviour.faultRate) return service(request, response);
    const draw = random.below(STATUSES.length + 2);
    const status = STATUSES[draw];
    if (status !== undefined)
      return refuse(response, status, { code: 'service.unavailable', message: 'a random fault' });
    if (draw === STATUSES.length) return void request.socket.resetAndDestroy();
    breakInTheMiddle(request, response);
    return service(request, response);
  };
}

const STATUSES = [500, 502, 503, 504];

/** Announces the whole length and sends less, like a service that fails while answering. */
function breakInTheMiddle(request: IncomingMessage, response: ServerResponse): void {
  response.end = ((body: string | Buffer = '') => {
    const bytes = Buffer.from(body);
    response.write(bytes.subarray(0, bytes.length >> 1), () =>
      setTimeout(() => request.socket.resetAndDestroy(), 20),
    );
    return response;
  }) as typeof response.end;
}
