import { describe, expect, test } from 'vitest';
import { NotSignedInError, ServiceError, UnreachableError } from '../../src/errors.ts';
import { apiUrl, createService, type TokenSource } from '../../src/http/service.ts';
import {
  type HttpRequest,
  type HttpResponse,
  type Transport,
  TransportError,
} from '../../src/http/transport.ts';
import { advising } from '../support/advice.ts';
import { clockWith } from '../support/clock.ts';
import { thisMachine } from '../support/context.ts';

const BASE_URL = new URL('https://events.example.com/v1');

type Answer = number | readonly [status: number, body: string | Buffer] | Error;

/** A service whose answers come in turn, and what was sent to it. */
function startService(...answers: Answer[]) {
  return startServiceWith({}, ...answers);
}

function startServiceWith(received: HttpResponse['headers'], ...answers: Answer[]) {
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
      const answer = answers[sent.length - 1] ?? 200;
      if (answer instanceof Error) throw answer;
      const [status, body] = typeof answer === 'number' ? [answer, ''] : answer;
      return { status, headers: received, body: Buffer.from(body as string) };
    },
  };
  const clock = clockWith({ sleep: async () => undefined });
  const { signal } = new AbortController();
  const settings = { baseUrl: BASE_URL, vendor: 'x' } as never;
  const around = { clock, signal, environment: {}, machine: thisMachine() };
  const service = createService(settings, tokens, transport, around);
  return { service, sent, tokens, signal, asked: () => asked };
}

const EVENTS = new URL('https://events.example.com/v1/events');

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

test("a request has the command's signal, unless the caller gives another", async () => {
  const { service, sent, signal } = startService();
  const other = new AbortController().signal;
  await service.send({ url: EVENTS });
  await service.send({ url: EVENTS, signal: other });
  expect(sent.map((request) => request.signal)).toEqual([signal, other]);
  expect([sent[0]?.signal === signal, sent[1]?.signal === other]).toEqual([true, true]);
});

describe('a token that the service repeats', () => {
  test.each([199, 300, 400, 404, 500])(
    'is replaced in the body of %i, each time, and all else stays as it is',
    async (status) => {
      const body = Buffer.concat([Buffer.from('no token-1, token-1: '), Buffer.from([0xff, 0xc3, 0xa9])]);
      // Four more answers, as a 500 is tried again.
      const { service } = startService(...Array<Answer>(5).fill([status, body]));
      const answer = await service.send({ url: EVENTS });
      const safe = Buffer.concat([
        Buffer.from('no [redacted], [redacted]: '),
        Buffer.from([0xff, 0xc3, 0xa9]),
      ]);
      expect(answer).toEqual({ status, headers: {}, body: safe });
    },
  );

  test('is replaced as are the secrets of other headers, sent and received', async () => {
    const received = { 'set-cookie': ['sid=sid-0123456789abc'] };
    const { service } = startServiceWith(received, [400, 'no key-of-caller in sid-0123456789abc']);
    const answer = await service.send({ url: EVENTS, headers: { 'x-api-key': 'key-of-caller' } });
    expect(answer.body.toString()).toBe('no [redacted] in [redacted]');
  });

  test.each([200, 299])('stays in the body of %i: it is data', async (status) => {
    const { service } = startService([status, 'my token-1']);
    expect((await service.send({ url: EVENTS })).body.toString()).toBe('my token-1');
  });

  test('leaves another body as it is', async () => {
    const { service } = startService([400, 'nothing']);
    expect((await service.send({ url: EVENTS })).body.toString()).toBe('nothing');
  });
});

describe('a token that the service rejects', () => {
  test('is replaced once, and the request is sent once more', async () => {
    const { service, sent, tokens } = startService(401, [200, 'done']);
    const rejected: string[] = [];
    tokens.replace = async (token) => {
      rejected.push(token);
      return 'another';
    };
    const answer = await service.send({ url: EVENTS, method: 'POST' });
    expect([answer.status, answer.body.toString(), rejected]).toEqual([200, 'done', ['token-1']]);
    expect(sent.map(({ method, headers }) => [method, headers?.['authorization']])).toEqual([
      ['POST', 'Bearer token-1'],
      ['POST', 'Bearer another'],
    ]);
  });

  test('and whose replacement is rejected too ends it', async () => {
    const { service, sent, tokens } = startService(401, 401);
    tokens.replace = async () => 'another';
    expect((await service.send({ url: EVENTS })).status).toBe(401);
    expect(sent).toHaveLength(2);
  });

  test('is the answer where there is no other', async () => {
    const { service, sent } = startService([401, 'spent']);
    expect((await service.send({ url: EVENTS })).body.toString()).toBe('spent');
    expect(sent).toHaveLength(1);
  });

  test('is not replaced after another status', async () => {
    const { service, tokens } = startService(403);
    tokens.replace = async () => expect.fail('a token was replaced');
    expect((await service.send({ url: EVENTS })).status).toBe(403);
  });

  test('is named as the reason where it cannot be replaced', async () => {
    const { service, tokens } = startService(401);
    const cause = new NotSignedInError('the sign-in is over', { details: ['since noon'], next: 'sign in' });
    tokens.replace = async () => {
      throw cause;
    };
    const error = await service.send({ url: EVENTS }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(NotSignedInError);
    expect(error).toMatchObject({
      message: 'the service rejected the access token (401); the sign-in is over',
      details: ['since noon'],
      next: 'sign in',
      cause,
    });
  });

  test('and whose replacement fails by a defect ends with that', async () => {
    const { service, tokens } = startService(401);
    tokens.replace = async () => {
      throw new RangeError('a defect');
    };
    await expect(service.send({ url: EVENTS })).rejects.toThrow(new RangeError('a defect'));
  });
});

describe('a failure of the connection', () => {
  const save = '; `hooktrail config set base-url URL` saves another';
  test.each([
    ['broken', 'try again later'],
    ['refused', `check the URL and that the service runs${save}`],
    ['unknown-host', `check the URL and the network; behind a proxy set HTTPS_PROXY${save}`],
    ['proxy', 'check HTTPS_PROXY: http://user:password@proxy.example.com:3128'],
  ] as const)('%s says what to do', async (kind, next) => {
    const cause = new TransportError(kind, 'why');
    const { service } = startService(...Array<Answer>(5).fill(cause));
    const error = await service.send({ url: EVENTS }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error).toMatchObject({
      message: 'the service could not be reached: why',
      next: advising(next),
    });
    expect(error.cause).toBe(cause);
  });

  test('an answer that is too large is one of the service', async () => {
    const cause = new TransportError('too-large', 'over 32 MiB');
    const error = await startService(cause)
      .service.send({ url: EVENTS })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ServiceError);
    const next = `check --base-url (HOOKTRAIL_BASE_URL)${save}`;
    expect(error).toMatchObject({ message: 'over 32 MiB', next: advising(next) });
    expect(error.cause).toBe(cause);
  });

  test('a defect stays one', async () => {
    const { service } = startService(new RangeError('a defect'));
    await expect(service.send({ url: EVENTS })).rejects.toThrow(new RangeError('a defect'));
  });
});

describe('an address under the base URL', () => {
  test.each([
    ['events', 'https://events.example.com/v1/events'],
    ['/events', 'https://events.example.com/v1/events'],
    ['/a/b', 'https://events.example.com/v1/a/b'],
    ['events?eq(eventId,a:b)#end', 'https://events.example.com/v1/events?eq(eventId,a:b)'],
    ['a/https://other.example.com', 'https://events.example.com/v1/a/https://other.example.com'],
    ['1x:y', 'https://events.example.com/v1/1x:y'],
    ['events//', 'https://events.example.com/v1/events//'],
    ['https://events.example.com/elsewhere', 'https://events.example.com/elsewhere'],
    ['HTTPS://events.example.com/elsewhere', 'https://events.example.com/elsewhere'],
    ['//events.example.com/elsewhere', 'https://events.example.com/elsewhere'],
  ])('is made of %s', (given, address) => expect(apiUrl(BASE_URL, given).href).toBe(address));

  test.each([
    'https://other.example.com/v1/events',
    'http://events.example.com/v1/events',
    'https://events.example.com@other.example/',
    'https://user@events.example.com/v1/events',
    'https://:password@events.example.com/v1/events',
    '//other.example.com/v1',
    '//',
    'https://',
    'x:y',
    'a1+.-:y',
  ])('is not made of %s', (given) => {
    expect(() => apiUrl(BASE_URL, given)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        message: `'${given}' is not under the event service's address`,
        next: 'give a path, or a URL that starts with https://events.example.com',
      }),
    );
  });
});
