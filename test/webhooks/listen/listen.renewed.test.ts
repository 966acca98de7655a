import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ID, startChanging } from '../../subscriptions/changing-service.ts';
import { thisMachine } from '../../support/context.ts';
import { forEachTest } from '../../support/each-test.ts';
import { startHandler } from '../../support/handler.ts';
import { hooktrail, keychainOf, startHooktrail } from '../../support/program.ts';
import { sampleSize } from '../../support/seed.ts';
import { ask } from '../../support/server.ts';

const at = forEachTest(startChanging);
const OTHER = '22222222-2222-4222-8222-222222222222';
let sent = 0;

async function startListener(more: readonly string[] = [], options: object = {}) {
  const flags = ['--port', '0', '--subscription', ID, ...more];
  const program = startHooktrail(['webhooks', 'listen', ...flags], { env: at.env, ...options });
  const [line] = await program.printed('stderr', /listening on http:\/\/\S+/);
  const url = line.replace('listening on ', '').replace(';', '');
  return {
    program,
    /** The status of a delivery with that token. */
    deliver: async (token: string) => {
      const body = `{"eventId":"0f8fad5b-d9cb-469f-a165-${String(sent++).padStart(12, '0')}"}`;
      const headers = { 'content-type': 'application/json', 'api-token': token };
      return (await ask(url, { method: 'POST', body, headers })).status;
    },
    stop: async () => {
      program.kill('SIGTERM');
      return await program.finished;
    },
  };
}

test('the saved token of the subscription is expected, and a renewed one is taken over while it runs', async () => {
  await at.run(['renew', ID, '--yes']);
  const { deliver, program, stop } = await startListener();
  expect([await deliver('token-2'), await deliver('token-3')]).toEqual([200, 401]);
  await at.run(['renew', ID, '--yes']);
  await program.printed('stderr', /another Api-Token was saved; it is expected from now on/);
  expect([await deliver('token-2'), await deliver('token-3')]).toEqual([401, 200]);
  await stop();
});

test('once renew has printed its line, the new token is taken and the old one refused, whoever else sends', async () => {
  await at.run(['renew', ID, '--yes']);
  const { deliver, stop } = await startListener();
  let isOver = false;
  const strangers = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) expect(await deliver('of-a-stranger')).toBe(401);
    }),
  );
  for (let renewal = 3; renewal <= 2 + sampleSize(3, 20); renewal++) {
    await at.run(['renew', ID, '--yes']);
    const tokens = [`token-${renewal - 1}`, ...Array<string>(8).fill(`token-${renewal}`)];
    expect(await Promise.all(tokens.map(deliver))).toEqual([401, ...Array<number>(8).fill(200)]);
    expect(await deliver(`token-${renewal - 1}`)).toBe(401);
  }
  isOver = true;
  await strangers;
  await stop();
});

test('the profile has no token for a subscription, and one of another subscription changes nothing', async () => {
  const env = { ...at.env, HOOKTRAIL_API_TOKEN: 'of-the-profile' };
  const saving = startHooktrail(['webhooks', 'listen', '--port', '0', '--save-token'], { env });
  await saving.printed('stderr', /listening on/);
  saving.kill('SIGTERM');
  await saving.finished;
  const none = await hooktrail(['webhooks', 'listen', '--port', '0', '--subscription', ID], { env: at.env });
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('the Api-Token that deliveries')]);
  expect(none.stderr).toContain(`hooktrail subscriptions renew ${ID}`);
});

test('--save-token with --subscription saves for that subscription alone', async () => {
  const env = { ...at.env, HOOKTRAIL_API_TOKEN: 'given-1' };
  const { deliver, stop } = await startListener(['--save-token'], { env });
  expect(await deliver('given-1')).toBe(200);
  await stop();
  expect((await at.run(['token', ID])).stdout).toBe('given-1\n');
  expect((await at.run(['token', OTHER])).code).toBe(2);
});

test('the command that sends a refused event again names the subscription, for its token', async () => {
  await at.run(['renew', ID, '--yes']);
  await using handler = await startHandler();
  handler.answer = () => 422;
  const { deliver, program, stop } = await startListener(['--forward-to', handler.url]);
  expect(await deliver('token-2')).toBe(502);
  await program.printed('stderr', /sends it again\n/);
  expect(program.stderr).toMatch(new RegExp(` --forward-to \\S+ --subscription ${ID}\` sends it again\n`));
  await stop();
});

test('HOOKTRAIL_API_TOKEN is never replaced', async () => {
  const { deliver, stop } = await startListener([], {
    env: { ...at.env, HOOKTRAIL_API_TOKEN: 'given-1' },
  });
  await at.run(['renew', ID, '--yes']);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect([await deliver('given-1'), await deliver('token-2')]).toEqual([200, 401]);
  await stop();
});

test('a wrong token makes the listener ask no keychain', async () => {
  const env = { ...at.env, HOOKTRAIL_STORE: 'keychain' };
  const context = { machine: { ...thisMachine(), platform: 'darwin' as const } };
  await at.run(['renew', ID, '--yes'], { env, context });
  const keychain = keychainOf(env);
  let reads = 0;
  const counting = {
    ...keychain,
    get: async (account: string) => {
      reads++;
      return await keychain.get(account);
    },
  };
  const { deliver, program, stop } = await startListener([], {
    env,
    context: { ...context, loadKeychain: async () => counting },
  });
  const before = reads;
  for (let count = 0; count < 20; count++) expect(await deliver(`wrong-${count}`)).toBe(401);
  expect(reads).toBe(before);
  // What opens the files is held, so that a new token raises no question either.
  await at.run(['renew', ID, '--yes'], { env, context });
  await program.printed('stderr', /another Api-Token was saved/);
  expect([await deliver('token-3'), reads]).toEqual([200, before]);
  await stop();
});

test('the token of the profile is taken over too', async () => {
  const save = async (token: string) => {
    const env = { ...at.env, HOOKTRAIL_API_TOKEN: token };
    const program = startHooktrail(['webhooks', 'listen', '--port', '0', '--save-token'], { env });
    await program.printed('stderr', /is saved in|listening on/);
    program.kill('SIGTERM');
    await program.finished;
  };
  await save('first-1');
  const journal = `${at.home.folder}/another.journal`;
  const running = startHooktrail(['webhooks', 'listen', '--port', '0', '--journal', journal], {
    env: at.env,
  });
  await running.printed('stderr', /listening on/);
  await save('second-2');
  await running.printed('stderr', /another Api-Token was saved; it is expected from now on/);
  running.kill('SIGTERM');
  await running.finished;
  expect(existsSync(journal)).toBe(true);
});

test('a renewal whose end is not known is said at the start', async () => {
  await at.run(['renew', ID, '--yes']);
  at.next('POST', (response) => void response.destroy());
  await at.run(['renew', ID, '--yes']);
  const { program, stop } = await startListener();
  expect(program.stderr).toContain('the saved Api-Token may be invalid');
  await stop();
});
