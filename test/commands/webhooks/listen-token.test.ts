import { readFile, stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, post, startListening } from '../../support/listening.ts';
import { run, start } from '../../support/program.ts';

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
    expect((await post(Number(port), '{"eventId":"a"}')).status).toBe(200);
    expect((await post(Number(port), '{"eventId":"b"}', { 'api-token': 'x' })).status).toBe(401);
  } finally {
    other.kill('SIGKILL');
    await other.finished;
  }
});
