import { readFile, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, startListening } from '../../support/listening.ts';
import { run, start } from '../../support/program.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const accepted = { status: 200, body: '{"outcome":"accepted"}' };
const duplicate = { status: 200, body: '{"outcome":"duplicate"}' };

describe('a delivery', () => {
  test('is handed on byte for byte, with its content type and token, and printed as one line', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    const body = Buffer.from(
      `\ufeff{ "eventId" : "${ID}",\n\t"n": 1.10, "big": 9007199254740993, "s": "a \\" b\\u00e9é", "n": 2 }\r\n`,
    );
    const type = 'application/cloudevents+json; charset=utf-8';
    expect(await listening.send(body, { 'content-type': type })).toMatchObject(accepted);
    expect(handler.received).toHaveLength(1);
    const [handed] = handler.received;
    expect(handed?.body.equals(body)).toBe(true);
    expect(handed).toMatchObject({ method: 'POST', url: '/hooks?tenant=1' });
    expect(handed?.headers).toMatchObject({
      'content-type': type,
      'api-token': API_TOKEN,
      'content-length': String(body.length),
    });
    await listening.program.printed('stdout', /\n/);
    expect(listening.program.stdout).toBe(
      `{"eventId":"${ID}","n":1.10,"big":9007199254740993,"s":"a \\" b\\u00e9é","n":2}\n`,
    );
  });

  test('without a handler is accepted by printing it', async () => {
    await using listening = await startListening();
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    expect(listening.program.stdout).toBe('{"eventId":"a"}\n');
  });

  test('that was accepted before is acknowledged and not handed on, also after a restart and a crash', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    expect(await listening.send(`{"eventId":"${ID}"}`)).toMatchObject(accepted);
    expect(await listening.send(`{"eventId":"${ID.toUpperCase()}","copy":true}`)).toMatchObject(duplicate);
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGINT'] as const) {
      await listening.restart(signal);
      expect(await listening.send(`{"eventId":"${ID}"}`)).toMatchObject(duplicate);
    }
    expect(handler.received).toHaveLength(1);
  });

  test('whose copy is under way waits for its outcome', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    let answer: (status: number) => void = () => {};
    const answers = () =>
      new Promise<number>((resolve) => {
        answer = resolve;
      });
    for (const status of [500, 200]) {
      handler.answer = answers;
      const before = handler.received.length;
      const copies = [1, 2, 3].map(() => listening.send('{"eventId":"twin"}'));
      await expect.poll(() => handler.received.length).toBe(before + 1);
      const early = Promise.race([...copies, setTimeout(150, 'nobody')]);
      expect(await early).toBe('nobody');
      answer(status);
      const outcomes = (await Promise.all(copies)).map(({ status, body }) => `${status} ${body}`).sort();
      expect(handler.received).toHaveLength(before + 1);
      if (status === 200) {
        expect(outcomes).toEqual([`200 ${accepted.body}`, `200 ${duplicate.body}`, `200 ${duplicate.body}`]);
      } else {
        expect(outcomes).toEqual(
          Array(3).fill('502 {"code":"handler.failed","message":"the handler did not take the delivery"}'),
        );
      }
    }
  });

  test.each([500, 404, 302, 401])(
    'that the handler answers %i is a 502, and can come again',
    async (status) => {
      await using handler = await startHandler();
      await using listening = await startListening('--forward-to', handler.url);
      handler.answer = () => status;
      expect((await listening.send('{"eventId":"a"}')).status).toBe(502);
      await listening.program.printed('stderr', new RegExp(`warning: a: the handler answered ${status}\n`));
      handler.answer = () => 204;
      expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
      expect(handler.received).toHaveLength(2);
    },
  );

  test('that no handler is there for, or that it does not answer in time, is a 502', async () => {
    const handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url, '--forward-timeout', '1');
    handler.answer = () => new Promise(() => undefined);
    expect((await listening.send('{"eventId":"a"}')).status).toBe(502);
    await handler[Symbol.asyncDispose]();
    expect((await listening.send('{"eventId":"b"}')).status).toBe(502);
    await listening.program.printed('stderr', /warning: a: the handler did not answer: .* stopped answering/);
  });

  test('is journaled only when the handler took it', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    const before = (await stat(listening.journal)).size;
    handler.answer = () => 503;
    await listening.send('{"eventId":"a"}');
    expect((await stat(listening.journal)).size).toBe(before);
    handler.answer = () => 200;
    await listening.send('{"eventId":"a"}');
    expect((await stat(listening.journal)).size).toBe(before + 25);
  });
});

describe('what is refused, and never reaches the handler', () => {
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

  test('another path is 404, another method 405, with the path that was asked for', async () => {
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
});

describe('stopping', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('on %s what is under way is finished and journaled', async (signal, code) => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    let answer: (status: number) => void = () => {};
    handler.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const sent = listening.send('{"eventId":"last"}');
    await expect.poll(() => handler.received.length).toBe(1);
    listening.program.kill(signal);
    await setTimeout(300);
    await expect(listening.send('{"eventId":"late"}')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    answer(200);
    expect(await sent).toMatchObject(accepted);
    const result = await listening.program.finished;
    expect(result.code).toBe(code);
    expect(result.stdout).toBe('{"eventId":"last"}\n');
    handler.answer = () => 200;
    await listening.restart('SIGKILL');
    expect(await listening.send('{"eventId":"last"}')).toMatchObject(duplicate);
  });

  test('when nobody reads the lines any more, it ends well and acknowledges nothing', async () => {
    await using listening = await startListening();
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    listening.program.closeStdout();
    const answer = await listening.send('{"eventId":"b"}').catch(() => ({ status: 0 }));
    expect([0, 502]).toContain(answer.status);
    expect((await listening.program.finished).code).toBe(0);
  });
});

describe('the command line', () => {
  const usage: [string, string[], string][] = [
    ['--port', ['--port', '70000'], "--port: '70000' is not accepted: a whole number from 0 to 65535"],
    [
      '--path',
      ['--path', 'events?x'],
      "--path: 'events?x' is not accepted: a path such as /events, without a query",
    ],
    [
      '--forward-to',
      ['--forward-to', 'http://example.com/'],
      "--forward-to: 'http://example.com/' is not accepted: an https: URL (http: for loopback hosts alone)",
    ],
    [
      '--forward-to with a password',
      ['--forward-to', 'https://a:b@example.com/'],
      "--forward-to: 'https://a:b@example.com/' is not accepted: a URL without user name and password",
    ],
    [
      '--max-body',
      ['--max-body', '10 megs'],
      "--max-body: '10 megs' is not accepted: a size such as 512kb or 10mb, up to 1gb",
    ],
    ['--keep', ['--keep', '30'], "--keep: '30' is not accepted: a length of time such as 90s, 12h or 30d"],
    [
      '--forward-timeout',
      ['--forward-timeout', '0'],
      "--forward-timeout: '0' is not accepted: a whole number from 1 to 3600",
    ],
    [
      '--request-timeout',
      ['--request-timeout', 'x'],
      "--request-timeout: 'x' is not accepted: a whole number from 1 to 3600",
    ],
    ['--host', ['--host', '203.0.113.77'], "--host: '203.0.113.77' is no address of this machine"],
  ];
  test.each(usage)('a bad %s is named', async (_name, flags, message) => {
    await using home = await createHome();
    const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
    const { code, stderr, stdout } = await run(['webhooks', 'listen', '--port', '0', ...flags], { env });
    expect(stderr.split('\n')[0]).toBe(`error: ${message}`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('a port that is taken is named', async () => {
    await using listening = await startListening();
    const { env, home } = listening;
    const { code, stderr } = await run(
      ['webhooks', 'listen', '--port', `${listening.port}`, '--journal', `${home.folder}/other.journal`],
      { env },
    );
    expect(stderr).toBe(`error: --port: ${listening.port} is taken\nnext: choose another port\n`);
    expect(code).toBe(2);
  });

  test('without a token it says where one can come from; a token is never an argument', async () => {
    await using home = await createHome();
    const missing = await run(['webhooks', 'listen', '--port', '0'], { env: home.env });
    expect(missing.stderr).toBe(
      'error: the Api-Token that deliveries must carry is not known\n' +
        'next: set HOOKTRAIL_API_TOKEN, or run the command once on a terminal with --save-token\n',
    );
    expect(missing.code).toBe(2);
    const given = await run(['webhooks', 'listen', '--api-token', 'x'], { env: home.env });
    expect(given.stderr).toMatch(/^error: unknown option '--api-token'\n/);
  });

  test('--save-token keeps the token, encrypted, for the next time', async () => {
    await using listening = await startListening('--save-token');
    const file = `${listening.home.folder}/config/webhooks/default.api-token`;
    expect(listening.program.stderr).toContain(`the Api-Token is saved in ${file}\n`);
    expect((await readFile(file)).includes(API_TOKEN)).toBe(false);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const { HOOKTRAIL_API_TOKEN: _, ...env } = listening.env;
    const other = start(['webhooks', 'listen', '--port', '0'], { env });
    try {
      const [, port] = await other.printed('stderr', /listening on http:\/\/127.0.0.1:(\d+)\//);
      const { post } = await import('../../support/listening.ts');
      expect((await post(Number(port), '{"eventId":"a"}')).status).toBe(200);
      expect((await post(Number(port), '{"eventId":"b"}', { 'api-token': 'x' })).status).toBe(401);
    } finally {
      other.kill('SIGKILL');
      await other.finished;
    }
  });

  test('without --journal there is one a profile, beside the settings', async () => {
    await using home = await createHome();
    const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
    const program = start(['webhooks', 'listen', '--port', '0', '--profile', 'staging'], { env });
    await program.printed('stderr', /0 known ids in \S+config\/webhooks\/staging\.journal/);
    program.kill('SIGTERM');
    expect((await program.finished).code).toBe(143);
  });
});
