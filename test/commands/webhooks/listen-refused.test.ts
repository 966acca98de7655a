import { describe, expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { startHandler } from '../../support/handler.ts';
import { API_TOKEN, accepted, startListening } from '../../support/listening.ts';

describe('requests that are refused and never reach the handler', () => {
  const deep = `{"eventId":"a","d":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  const refusals: [string, string | Buffer, Record<string, string | undefined>, number, string][] = [
    ['a missing token', '{"eventId":"a"}', { 'api-token': undefined }, 401, 'api_token.invalid'],
    ['a wrong token', '{"eventId":"a"}', { 'api-token': `${API_TOKEN}x` }, 401, 'api_token.invalid'],
    ['a token twice', '{"eventId":"a"}', { 'api-token': `${API_TOKEN}, x` }, 401, 'api_token.invalid'],
    ['an empty body', '', {}, 400, 'body.invalid'],
    ['no JSON', '{"eventId":"a"', {}, 400, 'body.invalid'],
    ['something behind the JSON', '{"eventId":"a"} x', {}, 400, 'body.invalid'],
    ['no object', '[{"eventId":"a"}]', {}, 400, 'body.invalid'],
    ['no eventId', '{"event":{"eventId":"a"}}', {}, 400, 'body.invalid'],
    ['an eventId that is a number', '{"eventId":7}', {}, 400, 'body.invalid'],
    ['an eventId that is null', '{"eventId":null}', {}, 400, 'body.invalid'],
    ['an eventId that is an object', '{"eventId":{"eventId":"a"}}', {}, 400, 'body.invalid'],
    ['an empty eventId', '{"eventId":""}', {}, 400, 'body.invalid'],
    [
      'bytes that are not UTF-8',
      Buffer.from([...Buffer.from('{"eventId":"a'), 0xc3, 0x28, 0x22, 0x7d]),
      {},
      400,
      'body.invalid',
    ],
    ['half of a deep JSON', deep.slice(0, 150_000), {}, 400, 'body.invalid'],
    ['a compressed body', '{"eventId":"a"}', { 'content-encoding': 'gzip' }, 415, 'body.encoded'],
  ];
  test.each(refusals)('%s', async (_name, body, headers, status, code) => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    const answer = await listening.send(body, headers);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body).code).toBe(code);
    expect(await listening.send(deep)).toMatchObject(accepted);
    expect(handler.received).toHaveLength(1);
    await listening.program.printed('stdout', /\n/);
  });

  test('another path is 404, another method 405, with the requested path', async () => {
    await using listening = await startListening('--path', '/events');
    expect((await listening.send('{"eventId":"a"}')).status).toBe(404);
    const get = await listening.send('', {}, { method: 'GET', path: '/events' });
    expect(get).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    const right = await listening.send('{"eventId":"a"}', {}, { path: '/events?x=1' });
    expect(right).toMatchObject(accepted);
  });

  test('too large a body is 413, with and without an announced length', async () => {
    await using listening = await startListening('--max-body', '100kb');
    const pad = (size: number) => {
      const head = '{"eventId":"a","pad":"';
      return `${head}${'x'.repeat(size - head.length - 2)}"}`;
    };
    const chunked = { 'transfer-encoding': 'chunked' };
    for (const headers of [{}, chunked]) {
      expect((await listening.send(pad(100 * 1024 + 1), headers)).status).toBe(413);
      expect((await listening.send(pad(20 * 1024 * 1024), headers)).status).toBe(413);
    }
    expect(await listening.send(pad(100 * 1024))).toMatchObject(accepted);
  });

  test('the token is checked before the body is read', async () => {
    await using listening = await startListening();
    const answer = await listening.send(Buffer.alloc(30 * 1024 * 1024), { 'api-token': 'wrong' });
    expect(answer.status).toBe(401);
  });

  test('are reported on standard error, with one warning per second', async () => {
    clock.skips = 0;
    await using listening = await startListening();
    for (let count = 0; count < 3; count++) await listening.send('{}', { 'api-token': 'wrong' });
    await listening.send('{}', {}, { path: '/favicon.ico' });
    await listening.send('{}');
    const text =
      'warning: refused with 401: the Api-Token header is missing or is not the expected one\n' +
      "warning: refused with 400: the body has no 'eventId' (and 2 more since the last warning)\n";
    await clock.asleep(1000);
    clock.advance(1000);
    await listening.program.printed('stderr', /more since/);
    expect(listening.program.stderr.split('\n').slice(1).join('\n')).toBe(text);
  });
});
