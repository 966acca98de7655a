import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { run } from '../support/command.ts';
import { createHome } from '../support/home.ts';
import { startNodeOAuthProvider } from '../support/node-oauth-provider.ts';
import { freePort } from '../support/ports.ts';

test('a provider made elsewhere: sign in, 40 commands on an expired token, refresh, log out', async () => {
  const redirectUri = `http://127.0.0.1:${await freePort()}/callback`;
  await using provider = await startNodeOAuthProvider(redirectUri);
  await using home = await createHome();
  const env = { ...home.env, ...provider.env };
  const ok = 'authorization_code: ok';

  // It names no issuer (RFC 9207), which has to be said once.
  expect(await run(['login'], { env })).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('next: if your provider names none, run `hooktrail login --issuer none`'),
  });
  expect(provider.grants).toEqual([]);
  expect(await run(['login', '--issuer', 'none'], { env })).toMatchObject({ code: 0, stdout: '' });
  expect(provider.grants).toEqual([ok]);
  expect(provider.challenges).toEqual([expect.stringMatching(/^[\w-]{43}$/)]);

  // The client secret is stored, and the profile names the rest.
  const later = home.env;
  const first = await run(['token'], { env: later });
  expect(first).toEqual({ code: 0, stdout: expect.stringMatching(/^\w{40,}\n$/), stderr: '' });

  clock.advance(1_801_000);
  const results = await Promise.all(Array.from({ length: 40 }, () => run(['token'], { env: later })));
  expect(new Set(results.map(({ code, stderr }) => `${code} ${stderr}`))).toEqual(new Set(['0 ']));
  expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
  expect(results[0]?.stdout).not.toBe(first.stdout);
  expect(provider.grants).toEqual([ok, 'refresh_token: ok']);

  clock.advance(1_801_000);
  expect((await run(['token'], { env: later })).code).toBe(0);
  expect(provider.grants).toEqual([ok, 'refresh_token: ok', 'refresh_token: ok']);

  expect(await run(['logout'], { env: later })).toEqual({
    code: 0,
    stdout: '',
    stderr:
      "signed out of the profile 'default' on this machine; the identity provider offers no way to revoke tokens\n",
  });
  expect(await run(['token'], { env: later })).toMatchObject({ code: 4, stdout: '' });
});
