import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Oddity, writeOddly } from './odd-answers.ts';
import { onLoopback } from './server.ts';

export interface Handed {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const THANKS = Buffer.from('thanks');

/** An application that receives events and answers with `answer`. */
export async function startHandler(port = 0) {
  /** All requests, in order of arrival. */
  const received: Handed[] = [];
  /** The number of 2xx answers for each event. */
  const taken = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const handed = { method, url, headers, body: await buffer(request) };
    received.push(handed);
    const status = await handler.answer(handed);
    if (status >= 200 && status < 300) {
      const { eventId } = JSON.parse(new TextDecoder().decode(handed.body));
      taken.set(eventId, (taken.get(eventId) ?? 0) + 1);
    }
    if (handler.odd) writeOddly(request.socket, handler.odd({ status, headers: {}, body: THANKS }));
    else response.writeHead(status).end(THANKS);
  });
  const loopback = await onLoopback(server, port);
  const url = `${loopback.origin}/hooks?tenant=1`;
  /** The status of the next answers, or a promise of it. */
  const answer = (_: Handed): number | Promise<number> => 200;
  /** From now on a delivery waits, until the returned function answers the last one. */
  const hold = () => {
    let release = (_status: number) => {};
    handler.answer = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    return (status: number) => release(status);
  };
  const odd = undefined as Oddity | undefined;
  /** `odd`: the bytes of its answers from now on. */
  const handler = { ...loopback, odd, url, received, taken, answer, hold };
  return handler;
}

export type HandlerServer = Awaited<ReturnType<typeof startHandler>>;
