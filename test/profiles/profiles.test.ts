import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createHome, type Home } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { startRefreshing, startSigningIn } from '../support/signing-in.ts';

const profiles = {
  production: {
    'base-url': 'https://events.eu-central-1.services.example.com/production/v1',
    'auth-url': 'https://events.eu-central-1.services.example.com/production/identity',
    'client-id': 'acme',
  },
  staging: { 'base-url': 'https://events.example.com/v1' },
};

async function save(home: Home): Promise<void> {
  const folder = home.env['HOOKTRAIL_CONFIG_DIR'] as string;
  await mkdir(folder);
  const config = { version: 1, profile: 'production', profiles };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(config));
}

test('addresses that do not fit the terminal side by side are printed whole, one below the other', async () => {
  await using home = await createHome();
  await save(home);
  expect(await hooktrail(['profiles'], { env: home.env, terminal: 80 })).toEqual({
    code: 0,
    stdout: `* production
    signed in          no
    event service      https://events.eu-central-1.services.example.com/production/v1
    identity provider  https://events.eu-central-1.services.example.com/production/identity
    client id          acme
  staging
    signed in          no
    event service      https://events.example.com/v1
    identity provider  -
    client id          -
`,
    stderr: '',
  });
  const wide = await hooktrail(['profiles'], { env: { ...home.env, NO_COLOR: '1' }, terminal: 200 });
  expect(wide.stdout.split('\n').map((line) => line.slice(0, 21))).toEqual([
    '   profile     signed',
    '*  production  no    ',
    '   staging     no    ',
    '',
  ]);
});

test('status names the exported variables that override a profile given by name', async () => {
  await using home = await createHome();
  await save(home);
  const env = {
    ...home.env,
    HOOKTRAIL_BASE_URL: 'https://other.example.com/v1',
    HOOKTRAIL_CLIENT_ID: 'acme',
    HOOKTRAIL_VENDOR: 'acme',
  };
  const { stderr } = await hooktrail(['status', '--profile', 'production'], { env });
  expect(stderr).toBe(
    "warning: HOOKTRAIL_BASE_URL overrides what the profile 'production' saves\nnext: run `hooktrail login --profile production`\n",
  );
  expect((await hooktrail(['status'], { env })).stderr).toBe('next: run `hooktrail login`\n');
  expect((await hooktrail(['status', '--profile', 'prodction'], { env })).stderr).toBe(
    "warning: there is no profile 'prodction'\nnext: run `hooktrail login --profile prodction`\n",
  );
});

test('control characters in saved settings are inert in text for people', async () => {
  await using home = await createHome();
  const folder = home.env['HOOKTRAIL_CONFIG_DIR'] as string;
  await mkdir(folder);
  const hostile = { default: { vendor: 'a\u001b[31m\nb', 'base-url': 'c\u009b' } };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify({ version: 1, profiles: hostile }));
  const { env } = home;
  expect((await hooktrail(['config'], { env })).stdout).toBe(
    'vendor=a\\u001b[31m\\u000ab\nbase-url=c\\u009b\n',
  );
  expect((await hooktrail(['config', 'get', 'vendor'], { env, terminal: 80 })).stdout).toBe(
    'a\\u001b[31m\\u000ab\n',
  );
  expect((await hooktrail(['config', 'get', 'vendor'], { env })).stdout).toBe('a\u001b[31m\nb\n');
  for (const options of [{ env }, { env: { ...env, NO_COLOR: '1' }, terminal: 20 }, { env, terminal: 200 }])
    expect((await hooktrail(['profiles'], options)).stdout).toContain('c\\u009b');
});

test('profiles use and profiles delete ignore the case of the name', async () => {
  await using home = await createHome();
  await save(home);
  const { env } = home;
  expect((await hooktrail(['profiles', 'use', 'Staging'], { env })).stderr).toBe(
    "switched to profile 'staging'\n",
  );
  expect((await hooktrail(['profiles', 'delete', 'PRODUCTION'], { env })).stderr).toBe(
    "deleted profile 'production' and what was stored for it on this machine\n",
  );
  expect((await hooktrail(['profiles', 'list', '--json'], { env })).stdout).toMatch(
    /^\[\{"name":"staging","active":true,[^{]*\]\n$/,
  );
});

test('a deleted profile that commands used is replaced by the one of the next sign-in, or by a command that is named', async () => {
  await using at = await startSigningIn();
  const login = (name: string) => at.run(['login', '--profile', name]);
  for (const name of ['p1', 'p2']) expect(await login(name)).toMatchObject({ code: 0 });
  expect((await at.run(['profiles', 'delete', 'p2'])).stderr).not.toContain('next:');
  await login('p2');
  expect((await at.run(['profiles', 'delete', 'p1'])).stderr).toContain(
    'next: commands had used it; `hooktrail profiles use p2` chooses another\n',
  );
  const alone = { ...at.env, HOOKTRAIL_BASE_URL: '', HOOKTRAIL_AUTH_URL: '', HOOKTRAIL_CLIENT_ID: '' };
  expect((await hooktrail(['events', 'count'], { env: alone })).stderr).toMatch(
    /^error: settings are missing\n[\s\S]*\nnext: give them as flags or variables, or run `hooktrail profiles use p2`\n$/,
  );
  await login('p3');
  expect(JSON.parse((await at.run(['profiles', '--json'])).stdout)).toMatchObject([
    { name: 'p2', active: false },
    { name: 'p3', active: true },
  ]);
});

test('profiles says which are signed in', async () => {
  await using at = await startSigningIn();
  await at.signIn();
  expect(await at.run(['login', '--profile', 'staging'])).toMatchObject({ code: 0 });
  await at.run(['logout', '--profile', 'staging']);
  const { stdout } = await at.run(['profiles', '--json']);
  expect(JSON.parse(stdout)).toMatchObject([
    { name: 'default', signedIn: true },
    { name: 'staging', signedIn: false },
  ]);
  expect((await at.run(['profiles'])).stdout).toMatch(
    /^ +profile +signed in .*\n\* +default +yes .*\n +staging +no /,
  );
});

test('profiles says no for a sign-in that the provider refused to renew, and yes after the next one', async () => {
  await using due = await startRefreshing();
  const isSignedIn = async () => JSON.parse((await due.run(['profiles', '--json'])).stdout)[0].signedIn;
  due.sandbox.control.revokeGrants();
  expect(await isSignedIn()).toBe(true);
  await due.run(['token']);
  expect(await isSignedIn()).toBe(false);
  await due.signIn();
  expect(await isSignedIn()).toBe(true);
});

test('deleting a profile leaves no secret of it', async () => {
  await using at = await startSigningIn();
  await at.signIn();
  expect(await at.run(['profiles', 'delete', 'default'])).toEqual({
    code: 0,
    stdout: '',
    stderr: "deleted profile 'default' and what was stored for it on this machine\n",
  });
  const left = await readdir(path.join(at.home.folder, 'config'), { recursive: true });
  // The program's compiled code, unless Node keeps it elsewhere, and locks, which hold no secret.
  const kept = left.filter((name) => !/^(cache|locks)/.test(name));
  expect(kept.sort()).toEqual(['config.json', 'secrets']);
});
