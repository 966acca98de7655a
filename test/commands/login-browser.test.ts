import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { browserCommand, visit } from '../support/browser.ts';
import { run, start } from '../support/program.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

test('HOOKTRAIL_BROWSER is run with the URL, and --quiet prints that URL alone', async () => {
  const env = { ...at.env, HOOKTRAIL_BROWSER: browserCommand };
  const { code, stdout, stderr } = await at.run(['login', '--quiet'], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/identity\/connect\/authorize\?\S+\n$/);
});

test.runIf(process.platform !== 'win32')('a browser is given no secret in its environment', async () => {
  const [browser, seen] = ['browser', 'seen'].map((name) => path.join(at.home.folder, name)) as [
    string,
    string,
  ];
  const script = `#!/usr/bin/env node
require('node:fs').writeFileSync(${JSON.stringify(seen)}, JSON.stringify(process.env));
fetch(process.argv[2]);
`;
  await writeFile(browser, script, { mode: 0o755 });
  const env = {
    ...at.env,
    HOOKTRAIL_BROWSER: browser,
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
    HOOKTRAIL_API_TOKEN: 'api',
  };
  // A process, since the secrets leave its own environment.
  expect((await run(['login'], { env })).code).toBe(0);
  const given = JSON.parse(await readFile(seen, 'utf8'));
  expect(given['HOOKTRAIL_AUTH_URL']).toBe(at.sandbox.settings.authUrl);
  for (const name of ['CLIENT_SECRET', 'PASSPHRASE', 'ACCESS_TOKEN', 'API_TOKEN']) {
    expect(given).not.toHaveProperty(`HOOKTRAIL_${name}`);
  }
});

test('a browser that cannot be started is a warning, and the wait goes on', async () => {
  const env = { ...at.env, HOOKTRAIL_BROWSER: '/nowhere/browser' };
  const program = start(['login'], { env });
  await program.printed('stderr', /^warning: the browser could not be started: .*ENOENT/m);
  const [url] = await program.printed('stderr', /^http\S+$/m);
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('nobody who signs in ends the wait with 4', async () => {
  expect(await at.run(['login', '--no-browser', '--timeout', '1'])).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('error: nobody signed in within 1 s\nnext: '),
  });
});

test('an SSH session opens no browser and tells how to forward the port', async () => {
  const env = { ...at.env, SSH_CONNECTION: '192.0.2.1 50000 192.0.2.2 22' };
  const program = start(['login'], { env });
  const [url] = await program.printed('stderr', /^http\S+$/m);
  const { port } = new URL(at.redirectUri);
  expect(program.stderr).toContain(`  ssh -N -L ${port}:127.0.0.1:${port} `);
  expect(program.stderr).toContain('hooktrail login --paste');
  expect(program.stderr).toContain('Sign in in a browser at\n');
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('WSL is told about localhost forwarding', async () => {
  const { program, authorizeUrl } = await at.login([], { env: { ...at.env, WSL_DISTRO_NAME: 'Debian' } });
  await program.printed('stderr', /This is WSL: .*\n.*localhostForwarding=true.*\n.*login --paste/);
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 0 });
});
