import { once } from 'node:events';
import { appendFile, readFile, stat } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { requireCondition } from '../../support/conditions.ts';
import { forEachTest } from '../../support/each-test.ts';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import {
  API_TOKEN,
  accepted,
  duplicate,
  portOf,
  post,
  startListening,
  underWay,
} from '../../support/listening.ts';
import { startHooktrail } from '../../support/program.ts';
import { onLoopback } from '../../support/server.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const handler = forEachTest(startHandler);

describe('a delivery', () => {
  test('is forwarded byte for byte, with its content type and token, and printed as one line', async () => {
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

  test('without a handler is accepted once it is printed', async () => {
    await using listening = await startListening();
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    expect(listening.program.stdout).toBe('{"eventId":"a"}\n');
  });

  test('whose copy is in progress waits for its outcome', async () => {
    await using listening = await startListening('--forward-to', handler.url, '--health', '/health');
    for (const status of [500, 200]) {
      const answer = handler.hold();
      const before = handler.received.length;
      const copies = [1, 2, 3].map(() => listening.send('{"eventId":"twin"}'));
      await expect.poll(() => handler.received.length).toBe(before + 1);
      // All three wait for an answer.
      await expect.poll(() => underWay(listening)).toBe(3);
      answer(status);
      const outcomes = (await Promise.all(copies)).map(({ status, body }) => `${status} ${body}`).sort();
      expect(handler.received).toHaveLength(before + 1);
      if (status === 200) {
        expect(outcomes).toEqual([`200 ${accepted.body}`, `200 ${duplicate.body}`, `200 ${duplicate.body}`]);
      } else {
        expect(outcomes).toEqual(
          Array(3).fill('502 {"code":"handler.failed","message":"the handler did not accept the delivery"}'),
        );
      }
    }
  });

  test.each([500, 404, 302, 401])(
    'that the handler answers %i is a 502, and can come again',
    async (status) => {
      await using listening = await startListening('--forward-to', handler.url);
      handler.answer = () => status;
      expect((await listening.send('{"eventId":"a"}')).status).toBe(502);
      await listening.program.printed(
        'stderr',
        new RegExp(`warning: a: the handler answered ${status}: thanks\n`),
      );
      handler.answer = () => 204;
      expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
      expect(handler.received).toHaveLength(2);
    },
  );

  test('that the handler refuses is shown with 2 KB of the answer, inert, and the command that sends it again', async () => {
    await using server = await startServer((response) => {
      response.writeHead(422, { 'content-type': 'text/plain' });
      response.end(`no such\norder \u001b[31m ${API_TOKEN} \u202e ${'x'.repeat(5_000)}`);
    });
    await using listening = await startListening('--forward-to', `${server.origin}/`);
    await listening.send(`{"eventId":"${ID}"}`);
    await listening.program.printed('stderr', /sends it again\n/);
    const text = `no such order \\u001b[31m [redacted] \\u202e `;
    const rest = 'x'.repeat(2_048 - Buffer.byteLength(`no such\norder \u001b[31m ${API_TOKEN} \u202e `));
    expect(listening.program.stderr.split('\n').slice(1)).toEqual([
      `warning: ${ID}: the handler answered 422: ${text}${rest}…`,
      `next: \`hooktrail webhooks replay --id ${ID} --forward-to ${server.origin}/\` sends it again`,
      '',
    ]);
    expect(await readFile(listening.journal, 'utf8')).not.toContain(ID.replaceAll('-', ''));
  });

  test('is a 502 if the handler is not there, or does not answer in time', async () => {
    const handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url, '--forward-timeout', '1');
    handler.answer = () => new Promise(() => undefined);
    expect((await listening.send('{"eventId":"a"}')).status).toBe(502);
    await handler[Symbol.asyncDispose]();
    expect((await listening.send('{"eventId":"b"}')).status).toBe(502);
    await listening.program.printed(
      'stderr',
      /warning: a: the handler did not answer: \S+ took more than 1 s/,
    );
  });

  test('is journaled only if the handler accepted it', async () => {
    await using listening = await startListening('--forward-to', handler.url);
    const before = (await stat(listening.journal)).size;
    handler.answer = () => 503;
    await listening.send('{"eventId":"a"}');
    expect((await stat(listening.journal)).size).toBe(before);
    handler.answer = () => 200;
    await listening.send('{"eventId":"a"}');
    expect((await stat(listening.journal)).size).toBe(before + 44);
  });
});

test('an eventId is distinguished from every other one, whatever text it is', async () => {
  await using listening = await startListening('--forward-to', handler.url);
  const ids = ['\\ud800', '\\ud801', '\\ufffd', '\\u0000', ' ', '__proto__', 'x'.repeat(100_000)];
  for (const id of ids) expect(await listening.send(`{"eventId":"${id}"}`)).toMatchObject(accepted);
  for (const id of ids) expect(await listening.send(`{"eventId":"${id}"}`)).toMatchObject(duplicate);
  expect(handler.received).toHaveLength(ids.length);
});

test('an eventId is found however its name is escaped; the last of several counts', async () => {
  await using listening = await startListening('--forward-to', handler.url);
  expect(await listening.send('{"\\u0065vent\\u0049d":"a"}')).toMatchObject(accepted);
  expect(await listening.send('{"eventId":"a"}')).toMatchObject(duplicate);
  expect(await listening.send('{"eventId":"a","event\\u0049d":"b"}')).toMatchObject(accepted);
  expect(await listening.send('{"eventId":"c","eventId":"b"}')).toMatchObject(duplicate);
  expect((await listening.send('{"event\\\\u0049d":"d","eventI\\u0064s":"e"}')).status).toBe(400);
  expect(handler.received).toHaveLength(2);
});

test('an eventId cannot forge log lines', async () => {
  await using listening = await startListening('--forward-to', handler.url);
  handler.answer = () => 500;
  await listening.send(`{"eventId":"a\\nwarning: b\\u001b[31m ${'x'.repeat(5000)}"}`);
  await listening.program.printed('stderr', /the handler answered 500: thanks\n/);
  expect(listening.program.stderr.split('\n')[1]).toBe(
    `warning: a\\u000awarning: b\\u001b[31m ${'x'.repeat(82)}… (5,018 characters): the handler answered 500: thanks`,
  );
});

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
    ['no eventId', '{"event":{"body":{"eventId":"a"}}}', {}, 400, 'body.invalid'],
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
    expect((await listening.send('{"eventId":"a"}', { 'api-token': 'wrong' })).status).toBe(404);
    const get = await listening.send('', {}, { method: 'GET', path: '/events' });
    expect(get).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    const right = await listening.send('{"eventId":"a"}', {}, { path: '/events?x=1' });
    expect(right).toMatchObject(accepted);
  });

  test('a delivery with the right token to another path is 404, counted and reported', async () => {
    await using listening = await startListening('--path', '/in', '--health', '/health');
    for (const path of ['/in/?key=hidden', '/elsewhere'])
      expect((await listening.send('{"eventId":"a"}', {}, { path })).status).toBe(404);
    const health = await listening.send('', {}, { method: 'GET', path: '/health' });
    expect(JSON.parse(health.body)).toMatchObject({ accepted: 0, rejected: 2 });
    expect(listening.program.stderr.split('\n').slice(1, 2)).toEqual([
      'warning: refused with 404: a delivery with the right Api-Token came to /in/, and is expected at /in (--path)',
    ]);
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
    await listening.send('{}', { 'api-token': undefined }, { path: '/favicon.ico' });
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

test('of events that the handler refuses twenty are warned of in a second, then the latest with the number of the others', async () => {
  clock.skips = 0;
  await using listening = await startListening('--forward-to', handler.url);
  handler.answer = () => 500;
  for (let count = 1; count <= 23; count++) await listening.send(`{"eventId":"e${count}"}`);
  const warnings = () => listening.program.stderr.split('\n').slice(1, -1);
  const refused = (count: number) => `warning: e${count}: the handler answered 500: thanks`;
  const first = Array.from({ length: 20 }, (_, index) => refused(index + 1));
  await listening.program.printed('stderr', /e20: /);
  expect(warnings()).toEqual(first);
  await clock.asleep(1000);
  clock.advance(1000);
  await listening.program.printed('stderr', /e23: /);
  const second = [...first, `${refused(23)} (and 2 more since the last warning)`];
  expect(warnings()).toEqual(second);
  // That one was the first of another twenty. What waits when the listener ends is printed then.
  for (let count = 24; count <= 43; count++) await listening.send(`{"eventId":"e${count}"}`);
  listening.program.kill('SIGTERM');
  await listening.program.finished;
  const third = Array.from({ length: 20 }, (_, index) => refused(index + 24));
  expect(warnings()).toEqual([...second, ...third]);
});

test('with --debug each answer is a line', async () => {
  await using listening = await startListening('--debug', '--path', '/in', '--health', '/health');
  await listening.send('{"eventId":"a"}', {}, { path: '/in?x=1' });
  await listening.send('', {}, { method: 'GET', path: '/health' });
  await listening.program.printed('stderr', /GET \/health/);
  expect(listening.program.stderr.replaceAll(/ \d+$/gm, ' N')).toContain('POST /in?x=1 200 N');
});

/** A listener on a terminal of that many columns. */
async function startOnTerminal(columns: number, ...flags: string[]) {
  const home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const args = ['webhooks', 'listen', '--port', '0', '--no-color', ...flags];
  const program = startHooktrail(args, { env, terminal: columns });
  const port = await portOf(program);
  const stop = async () => {
    program.kill('SIGINT');
    return await program.finished;
  };
  const send = (body: object | string) => post(port, typeof body === 'string' ? body : JSON.stringify(body));
  return { send, stop, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

test('on a terminal each delivery is a line, with a summary at the end', async () => {
  // The time stands still, even while the listener waits before its next warning.
  clock.skips = 0;
  const handler = await startHandler();
  await using terminal = await startOnTerminal(100, '--forward-to', handler.url);
  for (const _ of [1, 2]) await terminal.send({ eventId: ID, eventType: 'order.created' });
  handler.answer = () => 500;
  await terminal.send({ eventId: 'b\u001b[31m' });
  await terminal.send('x');
  await handler[Symbol.asyncDispose]();
  await terminal.send({ eventId: 'c' });
  const { code, stdout, stderr } = await terminal.stop();
  expect(code).toBe(130);
  const line = (type: string, id: string, said: string) =>
    `12:00:00  ${type.padEnd(31)}  ${id.padEnd(36)}  ${said} N ms\n`;
  expect(stdout.replaceAll(/ +\d+ ms/g, ' N ms')).toBe(
    line('order.created', ID, '200') +
      line('order.created', ID, 'duplicate') +
      line('-', 'b\\u001b[31m', '500') +
      line('-', 'c', 'no answer'),
  );
  expect(stderr.split('\n').at(-2)).toMatch(/1 accepted, 1 duplicate, 2 failed tries, 1 rejected$/);
});

test.each([
  [48, `12:00:00  recipient.auth…  0f8fad5…  accepted`],
  [79, `12:00:00  recipient.authenticated.by.sms.…  0f8fad5…  accepted`],
  [80, `12:00:00  recipient.authenti…  ${ID}  accepted`],
  [99, `12:00:00  recipient.authenticated.by.sms.…  ${ID}  accepted`],
  [100, `12:00:00  recipient.authenticated.by.sms…  ${ID}  accepted       N ms`],
  [200, `12:00:00  recipient.authenticated.by.sms.…  ${ID}  accepted       N ms`],
])('a line on a terminal of %i columns', async (columns, line) => {
  await using terminal = await startOnTerminal(columns);
  await terminal.send({ eventId: ID, eventType: 'recipient.authenticated.by.sms.22' });
  const { stdout } = await terminal.stop();
  const took = (text: string) => `${' '.repeat(text.length - 5)}N ms\n`;
  expect(stdout.replace(/ +\d+ ms\n/, took)).toBe(`${line}\n`);
});

test('a type that fills its column is whole', async () => {
  await using terminal = await startOnTerminal(99);
  const eventType = 'recipient.authenticated.by.sms.2';
  await terminal.send({ eventId: ID, eventType });
  expect((await terminal.stop()).stdout).toBe(`12:00:00  ${eventType}  ${ID}  accepted\n`);
});

test('the lines on a terminal have the time of --timezone', async () => {
  await using terminal = await startOnTerminal(100, '--timezone', 'Asia/Kolkata');
  await terminal.send({ eventId: 'a', eventType: 'order.created' });
  expect((await terminal.stop()).stdout).toMatch(
    /^17:30:00\+05:30 {2}order\.created {14}a {37}accepted {3} +\d+ ms\n$/,
  );
});

test('--health answers GET with counts as JSON, and accepts no deliveries', async () => {
  await using listening = await startListening('--forward-to', handler.url, '--health', '/health');
  await listening.send('{"eventId":"a"}');
  await listening.send('{"eventId":"a"}');
  await listening.send('x');
  handler.answer = () => 503;
  await listening.send('{"eventId":"b"}');
  const health = await listening.send('', { 'api-token': undefined }, { method: 'GET', path: '/health?x' });
  expect(health.status).toBe(200);
  expect(health.headers['content-type']).toBe('application/json');
  expect(JSON.parse(health.body)).toEqual({
    since: expect.stringMatching(/^2026-11-20T12:00:0\d\.\d{3}Z$/),
    accepted: 1,
    duplicates: 1,
    failed: 1,
    rejected: 1,
    recovered: 0,
    underWay: 0,
    known: 1,
  });
  expect((await listening.send('{"eventId":"c"}', {}, { path: '/health' })).status).toBe(404);
  const head = await listening.send('', { 'api-token': undefined }, { method: 'HEAD', path: '/health' });
  expect([head.status, head.body]).toEqual([200, '']);
  const elsewhere = await listening.send('', { 'api-token': undefined }, { method: 'GET', path: '/' });
  expect(elsewhere.status).toBe(405);
});

test('what the journal holds at the start is said, and how many of its lines cannot be read', async () => {
  await using listening = await startListening();
  const first = () => listening.program.stderr.replaceAll(String(listening.port), 'PORT');
  const listens = (known: string) =>
    `listening on http://127.0.0.1:PORT/; ${known} in ${listening.journal}; stop with Ctrl-C\n`;
  expect(first()).toBe(listens('0 known ids'));
  const skipped = (lines: string) =>
    `warning: skipped ${lines} of ${listening.journal} that cannot be read\n`;
  const damages = [
    ['', '', '1 known id'],
    ['one\n', skipped('1 line'), '2 known ids'],
    ['two\n', skipped('2 lines'), '3 known ids'],
  ] as const;
  for (const [damage, warning, known] of damages) {
    await listening.send(`{"eventId":"${known}"}`);
    await appendFile(listening.journal, damage);
    await listening.restart('SIGTERM');
    expect(first()).toBe(warning + listens(known));
  }
});

describe('stopping', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('on %s deliveries in progress are finished and journaled', async (signal, code) => {
    await using listening = await startListening('--forward-to', handler.url);
    const answer = handler.hold();
    const sent = listening.send('{"eventId":"last"}');
    await expect.poll(() => handler.received.length).toBe(1);
    listening.program.kill(signal);
    const late = () =>
      new Promise((resolve) => {
        const socket = connect(listening.port, '127.0.0.1', () => resolve(socket.destroy() && 'connected'));
        socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
      });
    await expect.poll(late).toBe('ECONNREFUSED');
    answer(200);
    expect(await sent).toMatchObject(accepted);
    const result = await listening.program.finished;
    expect(result.code).toBe(code);
    expect(result.stdout).toBe('{"eventId":"last"}\n');
    handler.answer = () => 200;
    await listening.restart('SIGTERM');
    expect(await listening.send('{"eventId":"last"}')).toMatchObject(duplicate);
  });

  test('when nobody reads the lines any more, it exits successfully and acknowledges nothing', async () => {
    await using listening = await startListening();
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    listening.program.closeStdout();
    const answer = await listening.send('{"eventId":"b"}').catch(() => ({ status: 0 }));
    expect([0, 502]).toContain(answer.status);
    expect((await listening.program.finished).code).toBe(0);
  });

  test('takes at most ten seconds if the handler never answers', async () => {
    await using listening = await startListening('--forward-to', handler.url, '--forward-timeout', '3600');
    handler.answer = () => new Promise(() => undefined);
    const sent = listening.send('{"eventId":"a"}');
    await expect.poll(() => handler.received.length).toBe(1);
    listening.program.kill('SIGINT');
    await listening.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
    await clock.asleep(10_000);
    // A second passes before it says that it is waiting.
    clock.advance(9_000);
    expect((await sent).status).toBe(502);
    expect((await listening.program.finished).code).toBe(130);
  });

  test('of several deliveries in progress their number is said after a second', async () => {
    await using listening = await startListening('--forward-to', handler.url, '--forward-timeout', '3600');
    handler.answer = () => new Promise(() => undefined);
    const sent = ['a', 'b'].map((id) => listening.send(`{"eventId":"${id}"}`));
    await expect.poll(() => handler.received.length).toBe(2);
    listening.program.kill('SIGINT');
    await listening.program.printed('stderr', /waiting/);
    await clock.asleep(10_000);
    clock.advance(9_000);
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([502, 502]);
    await listening.program.finished;
    expect(listening.program.stderr).toContain('\nwaiting up to 10 s for 2 deliveries in progress\n');
  });

  test.each([
    ['sends nothing', '', ''],
    ['has sent half of its headers', 'POST / HTTP/1.1\r\nHost: x\r\n', ''],
    [
      'has sent half of a body',
      `POST / HTTP/1.1\r\nHost: x\r\nApi-Token: ${API_TOKEN}\r\nContent-Length: 40\r\n\r\n{"eventId":`,
      'waiting up to 10 s for 1 delivery in progress\n',
    ],
  ])('does not wait for a sender that %s', async (_name, text, said) => {
    await using listening = await startListening();
    const socket = connect(listening.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => undefined).write(text);
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    const { stderr } = listening.program;
    listening.program.kill('SIGTERM');
    expect(await listening.program.finished).toMatchObject({ code: 143, stderr: stderr + said });
  });

  test('a second listener on one journal waits, and a signal ends the wait', async () => {
    await using listening = await startListening();
    const { env, journal } = listening;
    const args = ['webhooks', 'listen', '--port', '0', '--journal', journal];
    const other = startHooktrail(args, { env });
    const waiting =
      /waiting for another hooktrail process \(\d+\) that has the journal \S+; another --journal needs no wait\n/;
    await other.printed('stderr', waiting);
    other.kill('SIGTERM');
    expect((await other.finished).code).toBe(143);
    const next = startHooktrail(args, { env });
    await next.printed('stderr', /waiting for/);
    listening.program.kill('SIGTERM');
    await next.printed('stderr', /listening on/);
    next.kill('SIGTERM');
    expect((await next.finished).code).toBe(143);
  });
});

test('without --journal there is one per profile, beside the settings', async () => {
  await using home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const program = startHooktrail(['webhooks', 'listen', '--port', '0', '--profile', 'staging'], { env });
  await program.printed('stderr', /0 known ids in \S+config\/webhooks\/staging\.journal/);
  program.kill('SIGTERM');
  expect((await program.finished).code).toBe(143);
});

test('an IPv6 address may be in brackets, as in a URL', async (context) => {
  await requireCondition(context, 'IPv6');
  await using listening = await startListening('--host', '[::1]');
  expect(listening.program.stderr).toContain(`listening on http://[::1]:${listening.port}/`);
});

/** A handler whose answers `answer` writes. */
async function startServer(answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume().once('end', () => answer(response));
  });
  return await onLoopback(server);
}
