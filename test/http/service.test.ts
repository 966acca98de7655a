import { describe, expect, test } from 'vitest';
import { createService, type TokenSource } from '../../src/http/service.ts';
import type { HttpRequest, Transport } from '../../src/http/transport.ts';

const BASE_URL = new URL('https://events.example.com/v1');

/** A service whose answers come in turn, and what was sent to it. */
function startService(...statuses: number[]) {
  const sent: HttpRequest[] = [];
  let asked = 0;
  const tokens: TokenSource = {
    accessToken: async () => `token-${++asked}`,
    replace: async () => undefined,
  };
  const transport: Transport = {
    close: async () => undefined,
    async send(request) {
      sent.push(request);
      return { status: statuses[sent.length - 1] ?? 200, headers: {}, body: Buffer.alloc(0) };
    },
  };
  const clock = { now: () => 0, sleep: async () => undefined };
  const signal = new AbortController().signal;
  const settings = { baseUrl: BASE_URL, vendor: 'x' } as never;
  const service = createService(settings, tokens, transport, { clock, signal });
  return { service, sent, asked: () => asked };
}

describe('a token', () => {
  test.each([
    'https://other.example.com/v1/events',
    'http://events.example.com/v1/events',
    'https://events.example.com:8443/v1/events',
    'https://events.example.com.other.example/v1/events',
    'https://events.example.com@other.example/v1/events',
  ])('is not sent to %s, nor asked for', async (address) => {
    const { service, sent, asked } = startService();
    const { origin } = new URL(address);
    await expect(service.send({ url: new URL(address) })).rejects.toThrow(
      `refusing to send a token to ${origin}`,
    );
    expect([sent, asked()]).toEqual([[], 0]);
  });

  test('is sent to any path of the origin', async () => {
    const { service, sent } = startService();
    await service.send({ url: new URL('https://events.example.com/elsewhere') });
    expect(sent[0]?.headers).toEqual({
      accept: 'application/vnd.x.v1+json',
      authorization: 'Bearer token-1',
    });
  });

  test('stands above a header of the caller, who may choose the media type', async () => {
    const { service, sent } = startService();
    const headers = { authorization: 'Bearer other', accept: 'text/plain' };
    await service.send({ url: new URL('https://events.example.com/v1/events'), headers });
    expect(sent[0]?.headers).toEqual({ accept: 'text/plain', authorization: 'Bearer token-1' });
  });
});

describe('a temporary fault', () => {
  test.each([
    [undefined, 5],
    ['GET', 5],
    ['HEAD', 5],
    ['POST', 1],
    ['PUT', 1],
    ['PATCH', 1],
    ['DELETE', 1],
  ])('of %s is tried %i times', async (method, times) => {
    const { service, sent } = startService(...Array(9).fill(503));
    const url = new URL('https://events.example.com/v1/events');
    expect((await service.send({ url, ...(method ? { method } : {}) })).status).toBe(503);
    expect(sent).toHaveLength(times);
  });
});
