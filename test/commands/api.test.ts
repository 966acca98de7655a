import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';
import { hasTerminal, startOnTerminal } from '../support/terminal.ts';

describe('a request to any path', () => {
  test('prints the body as it came, whatever it is', async () => {
    await using searching = await startSearching({ events: 3 });
    const body = '{"a": 9007199254740993,\r\n"a":"\u001b[31m"} ';
    searching.sandbox.control.fault('service', { kind: 'status', status: 201, body });
    const result = await run(['api', '/event-types'], { env: searching.env });
    expect(result).toEqual({ code: 0, stdout: body, stderr: '' });
  });

  test.skipIf(!hasTerminal)('shows what acts on a terminal as escapes', async () => {
    await using searching = await startSearching({ events: 3 });
    const body = '{"a":"\u001b]0;title\u0007\u009b\u202e"}\n';
    searching.sandbox.control.fault('service', { kind: 'status', status: 200, body });
    const terminal = startOnTerminal(['api', '/event-types'], { env: searching.env, columns: 80 });
    expect(await terminal.finished).toBe(0);
    expect(terminal.screen.replaceAll('\r\n', '\n')).toBe('{"a":"\\u001b]0;title\\u0007\\u009b\\u202e"}\n');
  });

  test('sends method, headers and body', async () => {
    await using searching = await startSearching({ events: 3 });
    const seen: unknown[] = [];
    const see = {
      kind: 'run',
      run: (request: IncomingMessage) => seen.push(request.method, request.headers),
    } as const;
    searching.sandbox.control.fault('service', see, { kind: 'status', status: 204 });
    const file = path.join(searching.env['HOME'] as string, 'body.json');
    await writeFile(file, '{"a":1}');
    const result = await run(['api', 'event-types?x=1', '-X', 'put', '--input', file, '-H', 'X-A: b'], {
      env: searching.env,
    });
    expect(seen).toMatchObject([
      'PUT',
      { 'x-a': 'b', 'content-type': 'application/json', 'content-length': '7' },
    ]);
    expect(result.stderr).toMatch(/^error: PUT /);
  });

  test.each([
    [
      ['--method', 'gett'],
      "--method: invalid value 'gett': must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
      'GET',
    ],
    [
      ['-X', 'PSOT'],
      "--method: invalid value 'PSOT': must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
      'POST',
    ],
  ])('suggests the method that %j meant', async (flags, message, meant) => {
    await using searching = await startSearching({ events: 1 });
    const result = await run(['api', '/event-types', ...flags], { env: searching.env });
    expect(result).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${message}\nnext: did you mean ${meant}?\n`,
    });
  });
});
