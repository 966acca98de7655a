import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { API_TOKEN, startListening, underWay } from '../../support/listening.ts';

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Returns everything that the peer sends until it closes the connection. */
async function heard(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

const head = `POST / HTTP/1.1\r\nHost: x\r\nApi-Token: ${API_TOKEN}\r\nContent-Length: 40\r\n\r\n`;

describe('a sender that stops sending', () => {
  test.each([
    ['in mid-body', `${head}{"eventId":"half"`],
    ['in mid-header', 'POST / HTTP/1.1\r\nHost: x\r\nApi-To'],
    ['before it began', ''],
  ])('%s is disconnected in time, and nothing is forwarded', async (_name, text) => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url, '--request-timeout', '1');
    const socket = await open(listening.port);
    const answer = heard(socket);
    socket.write(text);
    // On a machine under load this request may be too late itself, and is then sent again, as the service
    // would.
    const other = async () => (await listening.send('{"eventId":"other"}')).status;
    await expect.poll(other).toBe(200);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(handler.received).toHaveLength(1);
  });

  test('and disconnects is forgotten', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url, '--health', '/health');
    for (const end of ['destroy', 'resetAndDestroy', 'end'] as const) {
      const socket = await open(listening.port);
      socket.write(`${head}{"eventId":"half"`);
      // When the request is under way, half of it has arrived.
      await expect.poll(() => underWay(listening)).toBe(1);
      socket[end]();
      await expect.poll(() => underWay(listening)).toBe(0);
    }
    expect((await listening.send('{"eventId":"other"}')).status).toBe(200);
    expect(handler.received).toHaveLength(1);
  });

  test('after the whole body and disconnects: the event is still forwarded', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    const answer = handler.hold();
    const socket = await open(listening.port);
    socket.write(`${head}${'{"eventId":"gone"}'.padEnd(40)}`);
    await expect.poll(() => handler.received.length).toBe(1);
    socket.destroy();
    answer(200);
    await listening.program.printed('stdout', /"gone"/);
    handler.answer = () => 200;
    expect((await listening.send('{"eventId":"gone"}')).body).toBe('{"outcome":"duplicate"}');
  });
});

test('a request that is not HTTP is answered 400', async () => {
  await using listening = await startListening();
  const socket = await open(listening.port);
  socket.write('hello\r\n\r\n');
  expect(await heard(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect((await listening.send('{"eventId":"a"}')).status).toBe(200);
});

test('1,000 idle connections delay nobody', async () => {
  await using handler = await startHandler();
  await using listening = await startListening('--forward-to', handler.url);
  const idle = await Promise.all(Array.from({ length: 1_000 }, () => open(listening.port)));
  try {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => listening.send(`{"eventId":"${index}"}`)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
  } finally {
    for (const socket of idle) socket.destroy();
  }
  expect((await listening.send('{"eventId":"after"}')).status).toBe(200);
});

test('a body in chunks of one byte is accepted', async () => {
  await using listening = await startListening();
  const body = `{"eventId":"a","pad":"${'x'.repeat(100_000)}"}`;
  const socket = await open(listening.port);
  const answer = heard(socket);
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nApi-Token: ${API_TOKEN}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`,
  );
  socket.write(`${Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`);
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
});

test('a request target may be a whole URL (RFC 9112, section 3.2.2)', async () => {
  await using listening = await startListening('--path', '/events');
  const whole = `http://hooks.example.com/events?x=1`;
  expect((await listening.send('{"eventId":"a"}', {}, { path: whole })).status).toBe(200);
  expect((await listening.send('{"eventId":"b"}', {}, { path: 'http://hooks.example.com' })).status).toBe(
    404,
  );
});
