import { readFile, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, post, startListening } from '../../support/listening.ts';
import { hasTerminal, startOnTerminal } from '../../support/machine/terminal.ts';
import { startProcess } from '../../support/process.ts';

test('--save-token keeps the token, encrypted, for the next time', async () => {
  await using listening = await startListening('--save-token');
  const file = `${listening.home.folder}/config/webhooks/default.api-token`;
  expect(listening.program.stderr).toContain(`the Api-Token is saved in ${file}\n`);
  expect((await readFile(file)).includes(API_TOKEN)).toBe(false);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const { HOOKTRAIL_API_TOKEN: _, ...env } = listening.env;
  const other = startProcess(['webhooks', 'listen', '--port', '0'], { env });
  try {
    const [, port] = await other.printed('stderr', /listening on http:\/\/127.0.0.1:(\d+)\//);
    expect((await post(Number(port), '{"eventId":"a"}')).status).toBe(200);
    expect((await post(Number(port), '{"eventId":"b"}', { 'api-token': 'x' })).status).toBe(401);
  } finally {
    other.kill('SIGKILL');
    await other.finished;
  }
});

test('--save-token seals the token with the passphrase of today, stretched, whatever sealed the one before', async () => {
  await using listening = await startListening('--save-token');
  const file = `${listening.home.folder}/config/webhooks/default.api-token`;
  const save = async (passphrase: string) => {
    const env = { ...listening.env, HOOKTRAIL_PASSPHRASE: passphrase };
    const program = startProcess(['webhooks', 'listen', '--port', '0', '--save-token'], { env });
    await program.printed('stderr', /listening on/);
    program.kill('SIGKILL');
    await program.finished;
    return (await readFile(file, 'latin1')).split('\n')[0];
  };
  expect(await save(`htk1-${'A'.repeat(43)}`)).toBe('hooktrail-secrets-2');
  expect(await save('correct horse')).toBe('hooktrail-secrets-1');
  const { HOOKTRAIL_API_TOKEN: _, ...others } = listening.env;
  const env = { ...others, HOOKTRAIL_PASSPHRASE: 'correct horse' };
  const other = startProcess(['webhooks', 'listen', '--port', '0'], { env });
  await other.printed('stderr', /listening on/);
  other.kill('SIGKILL');
  await other.finished;
});

describe.skipIf(!hasTerminal)('on a terminal', () => {
  const args = ['webhooks', 'listen', '--port', '0'];

  test('the token is asked for, and only marks are shown', async () => {
    await using home = await createHome();
    const terminal = startOnTerminal(args, { env: home.env, columns: 200 });
    await terminal.shows(/Api-Token of the subscription/);
    terminal.type(`${API_TOKEN}\r`);
    const [, port] = await terminal.shows(/listening on http:\/\/127\.0\.0\.1:(\d+)\//);
    expect((await post(Number(port), '{"eventId":"a"}')).status).toBe(200);
    // A line about the delivery, in colour.
    await terminal.shows(
      /m12:00:\d\d\x1b\[22m {2}- {33}a {37}\x1b\[32maccepted \x1b\[39m {2}\x1b\[2m +\d+ ms\x1b\[22m\r\n/,
    );
    terminal.type('\x03');
    await terminal.shows(/1 accepted, 0 duplicates, 0 failed tries, 0 rejected/);
    expect(await terminal.finished).toBe(130);
    expect(terminal.screen).not.toContain(API_TOKEN);
  });

  test('--save-token asks for a token even if one is saved, since it may have changed', async () => {
    await using listening = await startListening('--save-token');
    const { HOOKTRAIL_API_TOKEN: _, ...env } = listening.env;
    const terminal = startOnTerminal([...args, '--save-token'], { env, columns: 200 });
    await terminal.shows(/Api-Token of the subscription/);
    terminal.type('another-token\r');
    const [, port] = await terminal.shows(/listening on http:\/\/127\.0\.0\.1:(\d+)\//);
    expect((await post(Number(port), '{"eventId":"a"}', { 'api-token': 'another-token' })).status).toBe(200);
    terminal.type('\x03');
    expect(await terminal.finished).toBe(130);
  });

  test('Ctrl-C at the passphrase of the saved token ends the program', async () => {
    await using listening = await startListening('--save-token');
    const { HOOKTRAIL_API_TOKEN: _, HOOKTRAIL_PASSPHRASE: __, ...env } = listening.env;
    const terminal = startOnTerminal(args, { env, columns: 200 });
    await terminal.shows(/Passphrase of the encrypted file/);
    terminal.type('\x03');
    expect(await terminal.finished).toBe(130);
  });
});
