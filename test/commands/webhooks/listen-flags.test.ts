import { expect, test } from 'vitest';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, startListening } from '../../support/listening.ts';
import { hooktrail, startHooktrail } from '../../support/program.ts';

const usage: [string, string[], string][] = [
  ['--port', ['--port', '70000'], "--port: invalid value '70000': must be a whole number from 0 to 65535"],
  [
    '--path',
    ['--path', 'events?x'],
    "--path: invalid value 'events?x': must be a path such as /events, without a query",
  ],
  [
    '--forward-to',
    ['--forward-to', 'http://example.com/'],
    "--forward-to: invalid value 'http://example.com/': must be an https: URL (http: only for loopback hosts)",
  ],
  [
    '--forward-to with a password',
    ['--forward-to', 'https://a:b@example.com/'],
    "--forward-to: invalid value 'https://[redacted]@example.com/': must be a URL without user name and password",
  ],
  [
    '--max-body',
    ['--max-body', '10 megs'],
    "--max-body: invalid value '10 megs': must be a size such as 512kb or 10mb, up to 1gb",
  ],
  [
    '--keep',
    ['--keep', '30'],
    "--keep: invalid value '30': must be a length of time such as 15s, 2m or 1h, at least 1s",
  ],
  [
    '--forward-timeout',
    ['--forward-timeout', '0'],
    "--forward-timeout: invalid value '0': must be a length of time such as 15s, 2m or 1h, from 1s to 1h",
  ],
  [
    '--request-timeout',
    ['--request-timeout', 'x'],
    "--request-timeout: invalid value 'x': must be a length of time such as 15s, 2m or 1h, from 1s to 1h",
  ],
  [
    '--host',
    ['--host', ''],
    "--host: invalid value '': must be a name or an address of this machine, such as 127.0.0.1",
  ],
  ['--journal', ['--journal', ''], "--journal: invalid value '': must be the name of a file"],
  ['--host', ['--host', '203.0.113.77'], "--host: '203.0.113.77' is not an address of this machine"],
];
test.each(usage)('a bad %s is named', async (_name, flags, message) => {
  await using home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const { code, stderr, stdout } = await hooktrail(['webhooks', 'listen', '--port', '0', ...flags], { env });
  expect(stderr.split('\n')[0]).toBe(`error: ${message}`);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});

test('a port in use is named', async () => {
  await using listening = await startListening();
  const { env, home } = listening;
  const { code, stderr } = await hooktrail(
    ['webhooks', 'listen', '--port', `${listening.port}`, '--journal', `${home.folder}/other.journal`],
    { env },
  );
  expect(stderr).toBe(`error: --port: ${listening.port} is taken\nnext: choose another port\n`);
  expect(code).toBe(2);
});

test('without --journal there is one per profile, beside the settings', async () => {
  await using home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const program = startHooktrail(['webhooks', 'listen', '--port', '0', '--profile', 'staging'], { env });
  await program.printed('stderr', /0 known ids in \S+config\/webhooks\/staging\.journal/);
  program.kill('SIGTERM');
  expect((await program.finished).code).toBe(143);
});

test('an IPv6 address may be in brackets, as in a URL', async () => {
  await using listening = await startListening('--host', '[::1]');
  expect(listening.program.stderr).toContain(`listening on http://[::1]:${listening.port}/`);
});
