import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { startSearching } from '../support/searching.ts';

const searching = forEachTest(() => startSearching({ events: 3 }));

describe('hooktrail api: a request to any path', () => {
  test('prints the body unchanged, whatever it is', async () => {
    const body = '{"a": 9007199254740993,\r\n"a":"\u001b[31m"} ';
    searching.sandbox.control.fault('service', { kind: 'status', status: 201, body });
    const result = await searching.run(['api', '/event-types']);
    expect(result).toEqual({ code: 0, stdout: body, stderr: '' });
  });

  test.each<[string, string, string, Record<string, string>]>([
    [
      'JSON is indented, its numbers unchanged, and control characters escaped',
      '{"a": 9007199254740993,\r\n"b":["\\u001b]0;\u009b\u202e",{}]} ',
      '{\n  "a": 9007199254740993,\n  "b": [\n    "\\u001b]0;\\u009b\\u202e",\n    {}\n  ]\n}\n',
      { NO_COLOR: '1' },
    ],
    ['JSON has colours', '{"a":1}', '{\n  \u001b[36m"a"\u001b[39m: \u001b[35m1\u001b[39m\n}\n', {}],
    ['other bodies are printed as text with a line end', '{"a":\u001b[31m', '{"a":\\u001b[31m\n', {}],
  ])('on a terminal %s', async (_, body, stdout, variables) => {
    searching.sandbox.control.fault('service', { kind: 'status', status: 200, body });
    const env = { ...searching.env, ...variables };
    expect(await searching.run(['api', '/event-types'], { env, terminal: 80 })).toEqual({
      code: 0,
      stdout,
      stderr: '',
    });
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    '%s is sent once, whatever is answered: a second one could do it twice',
    async (method) => {
      for (const status of [429, 503]) {
        searching.control.fault('service', { kind: 'status', status, body: 'busy\n' });
        const before = searching.sandbox.log.length;
        const result = await searching.run(['api', '/event-types', '--method', method]);
        expect([result.code, result.stdout]).toEqual([1, 'busy\n']);
        expect(searching.sandbox.log.slice(before).map((sent) => sent.method)).toEqual([method]);
      }
    },
  );

  test('--include prints the status line and the headers first', async () => {
    searching.sandbox.control.fault('service', { kind: 'status', status: 201, body: '{}' });
    const { code, stdout } = await searching.run(['api', '/event-types', '--include']);
    const [head = '', ...body] = stdout.split('\r\n\r\n');
    expect([code, body]).toEqual([0, ['{}']]);
    expect(head.split('\r\n')).toEqual(
      expect.arrayContaining(['HTTP/1.1 201 Created', 'content-type: text/plain; charset=utf-8']),
    );
  });

  test('--jq runs a program only over the JSON of a successful answer', async () => {
    const api = (...args: string[]) => searching.run(['api', '/event-types', ...args]);
    searching.control.fault('service', { kind: 'status', status: 200, body: '{"a": ["x", "y"]}' });
    expect(await api('--jq', '.a[]')).toEqual({ code: 0, stdout: 'x\ny\n', stderr: '' });
    searching.control.fault('service', { kind: 'status', status: 200, body: 'a page' });
    expect(await api('-q', '.a')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: --jq: the answer is not JSON\n',
    });
    searching.control.fault('service', { kind: 'status', status: 400, body: '{"a":["x"]}' });
    expect(await api('--jq', '.a[]')).toMatchObject({ code: 1, stdout: '{"a":["x"]}\n' });
    const before = searching.sandbox.log.length;
    expect(await api('--jq', '.[')).toMatchObject({ code: 2, stdout: '' });
    expect(searching.sandbox.log.length).toBe(before);
  });

  test.each([
    ['flat', (text: string) => `{"code":"path.not_found","message":"${text}"}`, 'message'],
    [
      'published',
      (text: string) =>
        `{"errors":[{"code":"path.not_found","description":"${text}","property":null,"properties":{}}]}`,
      'description',
    ],
  ] as const)(
    'of nothing (%s): its body ends its line, and the next step is about the path',
    async (shape, body, name) => {
      await using other = await startSearching({ shape, events: 1 });
      const { baseUrl } = other.sandbox.settings;
      const nothing = `there is nothing at ${new URL(baseUrl).pathname}/nothing`;
      expect(await other.run(['api', '/nothing'])).toEqual({
        code: 1,
        stdout: `${body(nothing)}\n`,
        stderr:
          `error: GET ${new URL(baseUrl).pathname}/nothing: the service answered 404 Not Found\n` +
          `  code: path.not_found\n  ${name}: ${nothing}\n` +
          `next: check the path: the service has nothing at ${baseUrl}/nothing\n`,
      });
    },
  );

  test('sends method, headers and body', async () => {
    const seen: unknown[] = [];
    const see = {
      kind: 'run',
      run: (request: IncomingMessage) => seen.push(request.method, request.headers),
    } as const;
    searching.sandbox.control.fault('service', see, { kind: 'status', status: 204 });
    const file = path.join(searching.env['HOME'] as string, 'body.json');
    await writeFile(file, '{"a":1}');
    const result = await searching.run([
      'api',
      'event-types?x=1',
      '-X',
      'put',
      '--input',
      file,
      '-H',
      'X-A: b',
    ]);
    expect(seen).toMatchObject([
      'PUT',
      { 'x-a': 'b', 'content-type': 'application/vnd.sandbox.v1+json', 'content-length': '7' },
    ]);
    expect(result.stderr).toMatch(/^error: PUT /);
  });

  test('sends a body from a pipe, as a shell gives for <(command)', async () => {
    const lengths: unknown[] = [];
    const see = {
      kind: 'run',
      run: (request: IncomingMessage) => lengths.push(request.headers['content-length']),
    } as const;
    searching.sandbox.control.fault('service', see, { kind: 'status', status: 204 });
    const pipe = path.join(searching.env['HOME'] as string, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const sent = searching.run(['api', 'event-types', '--input', pipe]);
    await writeFile(pipe, '{"a":1}');
    await sent;
    expect(lengths).toEqual(['7']);
  });
});
