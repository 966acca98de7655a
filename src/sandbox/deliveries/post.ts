import http from 'node:http';
import https from 'node:https';

/** Posts to one endpoint over kept-alive connections. */
export interface Endpoint {
  /** The status of the answer; undefined where the connection failed or the time was over. */
  post(body: string): Promise<number | undefined>;
  close(): void;
}

const CONNECTIONS = 32;

export function createEndpoint(url: URL, apiToken: string, timeoutMs: number): Endpoint {
  const { request, Agent } = url.protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return {
    post: (body) =>
      new Promise((resolve) => {
        const headers = {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': Buffer.byteLength(body),
          'Api-Token': apiToken,
        };
        const sent = request(url, { method: 'POST', agent, headers }, (response) => {
          response.resume();
          response.once('close', () => resolve(response.complete ? response.statusCode : undefined));
        });
        sent.setTimeout(timeoutMs, () => sent.destroy(new Error('no answer in time')));
        sent.once('error', () => resolve(undefined));
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}
