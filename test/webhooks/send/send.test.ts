import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { forEachTest } from '../../support/each-test.ts';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, startListening } from '../../support/listening.ts';
import { hooktrail, startHooktrail } from '../../support/program.ts';

async function startSending() {
  const home = await createHome();
  const handler = await startHandler();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  return {
    home,
    handler,
    send: (flags: readonly string[], stdin = '') =>
      hooktrail(['webhooks', 'send', '--forward-to', handler.url, ...flags], { env, stdin }),
    async [Symbol.asyncDispose]() {
      await handler[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const at = forEachTest(startSending);

test('delivers a new event with the Api-Token, and prints its id', async () => {
  const { code, stdout, stderr } = await at.send(['--type', 'order.created']);
  expect([code, stderr.replace(/\d+ ms/, 'N ms')]).toEqual([0, 'the handler answered 200 in N ms\n']);
  const eventId = stdout.trim();
  expect(eventId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const [handed] = at.handler.received;
  expect(handed?.headers).toMatchObject({ 'content-type': 'application/json', 'api-token': API_TOKEN });
  expect(handed?.body.toString()).toBe(
    `{"eventId":"${eventId}","eventType":"order.created","createdOn":"2026-11-20T12:00:00.000Z"}`,
  );
  expect((await at.send(['--type', 'order.created'])).stdout.trim()).not.toBe(eventId);
});

test('--duplicate delivers the event twice', async () => {
  const { code, stdout, stderr } = await at.send(['--type', 'a', '--duplicate']);
  expect([code, stderr.replaceAll(/\d+ ms/g, 'N ms')]).toEqual([
    0,
    'the handler answered 200 in N ms\nthe duplicate: the handler answered 200 in N ms\n',
  ]);
  expect([...at.handler.taken]).toEqual([[stdout.trim(), 2]]);
});

test.each([
  [
    '{ "n" : 1.10, "eventId": "old", "big": 9007199254740993 }',
    [],
    '{"n":1.10,"eventId":"ID","big":9007199254740993}',
  ],
  [
    '{"eventType":"a","x":[{"eventId":"in"}]}',
    ['--type', 'b"c'],
    '{"eventId":"ID","eventType":"b\\"c","x":[{"eventId":"in"}]}',
  ],
  ['{"eventId":1,"\\u0065ventId":null}', [], '{"eventId":1,"\\u0065ventId":"ID"}'],
  ['{"n":1}', ['--type', 'b'], '{"eventId":"ID","eventType":"b","n":1}'],
  ['{}', [], '{"eventId":"ID"}'],
] as const)('--body %s is delivered with a new id, all else as it is', async (body, flags, delivered) => {
  const file = path.join(at.home.folder, 'event.json');
  await writeFile(file, body);
  for (const [source, stdin] of [
    [file, ''],
    ['-', body],
  ] as const) {
    const { code, stdout, stderr } = await at.send(['--body', source, ...flags], stdin);
    expect([code, stderr.replace(/\d+ ms/, 'N ms')]).toEqual([0, 'the handler answered 200 in N ms\n']);
    expect(at.handler.received.at(-1)?.body.toString()).toBe(delivered.replaceAll('ID', stdout.trim()));
  }
});

test('a refusal of the handler is an error', async () => {
  at.handler.answer = () => 500;
  expect(await at.send(['--type', 'a', '--duplicate'])).toMatchObject({
    code: 1,
    stderr: 'error: the handler answered 500: thanks\n',
  });
  expect(at.handler.received).toHaveLength(1);
});

test('the answer is told with its milliseconds, those of the duplicate apart', async () => {
  let took = 7;
  at.handler.answer = () => {
    clock.advance(took);
    took += 1_000;
    return 204;
  };
  expect((await at.send(['--type', 'a', '--duplicate'])).stderr).toBe(
    'the handler answered 204 in 7 ms\nthe duplicate: the handler answered 204 in 1007 ms\n',
  );
});

test('a refusal of the duplicate is an error that says so, and the id is printed', async () => {
  at.handler.answer = () => (at.handler.received.length === 1 ? 200 : 409);
  const { code, stdout, stderr } = await at.send(['--type', 'a', '--duplicate']);
  expect([code, stdout.trim()]).toEqual([1, [...at.handler.taken.keys()][0]]);
  expect(stderr.replace(/\d+ ms/, 'N ms')).toBe(
    'the handler answered 200 in N ms\nerror: the duplicate: the handler answered 409: thanks\n',
  );
});

test.each([
  [404, 'next: check the path /hooks of --forward-to\n'],
  [405, 'next: check the path /hooks of --forward-to\n'],
  [401, ''],
  [500, ''],
])('a handler that answers %i has a next step only if it may be at another path', async (status, next) => {
  at.handler.answer = () => status;
  expect((await at.send(['--type', 'a'])).stderr).toBe(
    `error: the handler answered ${status}: thanks\n${next}`,
  );
});

test('a handler that is not there has to be started, or is another', async () => {
  const { host } = new URL(at.handler.url);
  await at.handler[Symbol.asyncDispose]();
  const { code, stdout, stderr } = await at.send(['--type', 'a']);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^[0-9a-f-]{36}\n$/)]);
  expect(stderr).toMatch(/^error: the handler did not answer: .*ECONNREFUSED.*\n/);
  expect(stderr.split('\n').slice(1)).toEqual([
    `next: start the handler at ${host}, or name another with --forward-to`,
    '',
  ]);
});

test('a body that cannot be delivered is an error, and nothing is sent', async () => {
  const file = path.join(at.home.folder, 'event.json');
  for (const [text, why] of [
    ['[]', 'the body is not a JSON object'],
    ['{"a":', 'the body is not JSON'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'the body is not UTF-8'],
  ] as const) {
    await writeFile(file, text);
    expect(await at.send(['--body', file])).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: --body: ${why}\n`,
    });
  }
  expect((await at.send(['--body', `${file}.none`])).stderr).toBe(
    `error: --body: ${file}.none cannot be read: no such file or directory (ENOENT)\n`,
  );
  expect(at.handler.received).toEqual([]);
});

test('an interruption while the body is read is no fault of the body', async () => {
  const args = ['webhooks', 'send', '--forward-to', at.handler.url, '--body', '-'];
  const program = startHooktrail(args, { env: at.home.env, stdin: null });
  program.stdin.write('{');
  program.kill('SIGINT');
  program.stdin.end();
  expect(await program.finished).toEqual({ code: 130, stdout: '', stderr: '' });
});

test('the handler may be `webhooks listen` itself', async () => {
  await using listening = await startListening();
  const args = ['webhooks', 'send', '--type', 'a', '--duplicate', '--forward-to', `${listening.port}`];
  const { code, stdout } = await hooktrail(args, { env: listening.env });
  expect(code).toBe(0);
  expect(JSON.parse(listening.program.stdout)).toMatchObject({ eventId: stdout.trim(), eventType: 'a' });
});

test('a missing token is a warning', async () => {
  const args = ['webhooks', 'send', '--type', 'a', '--forward-to', at.handler.url];
  const { code, stderr } = await hooktrail(args, { env: at.home.env });
  expect(code).toBe(0);
  expect(stderr).toMatch(/^warning: without HOOKTRAIL_API_TOKEN the handler gets no Api-Token\n/);
  expect(at.handler.received[0]?.headers['api-token']).toBeUndefined();
});
