import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

test('keygen prints another key each time, and nothing else', async () => {
  const [one, other] = [await at.run(['keygen']), await at.run(['keygen'])];
  expect(one).toEqual({ code: 0, stdout: expect.stringMatching(/^htk1-[A-Za-z0-9_-]{43}\n$/), stderr: '' });
  expect(other.stdout).not.toBe(one.stdout);
});

test('keygen writes a new file that only the user can read, and never overwrites one', async () => {
  const file = path.join(at.home.folder, 'key');
  expect(await at.run(['keygen', file])).toEqual({
    code: 0,
    stdout: '',
    stderr: `wrote a new key to ${file}; use it with HOOKTRAIL_PASSPHRASE_FILE, or save it with \`hooktrail config set passphrase-file ${file}\`\n`,
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const key = await readFile(file, 'utf8');
  expect(key).toMatch(/^htk1-[A-Za-z0-9_-]{43}\n$/);
  expect(await at.run(['keygen', file])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      `error: ${file} exists already, and is left as it is\n` +
      'next: name a new file, or remove that one if nothing is sealed with its key\n',
  });
  expect(await readFile(file, 'utf8')).toBe(key);
});

test('login changes a profile from a passphrase to a key and back, and needs the client secret for that', async () => {
  const typed = { ...at.env, HOOKTRAIL_PASSPHRASE: 'correct horse battery staple' };
  expect(await at.run(['login'], { env: typed })).toMatchObject({ code: 0 });
  const place = JSON.parse((await at.run(['status', '--json'], { env: typed })).stdout).place;
  expect(await readFile(place, 'latin1')).toMatch(/^hooktrail-secrets-1\n/);
  const file = path.join(at.home.folder, 'key');
  await at.run(['keygen', file]);
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: undefined, HOOKTRAIL_PASSPHRASE_FILE: file };
  expect(await at.run(['token'], { env })).toEqual({
    code: 2,
    stdout: '',
    stderr:
      `error: ${place} is sealed with a passphrase, and a key was given\n` +
      'next: give the passphrase, or run `hooktrail login`, which seals the file with the secret given then\n',
  });
  expect(await at.run(['login'], { env })).toMatchObject({ code: 0 });
  expect(await readFile(place, 'latin1')).toMatch(/^hooktrail-secrets-2\n/);
  expect(await at.run(['token'], { env })).toMatchObject({ code: 0, stderr: '' });
  expect((await at.run(['token'], { env: typed })).code).toBe(2);
  expect(await at.run(['login'], { env: typed })).toMatchObject({ code: 0 });
  expect(await readFile(place, 'latin1')).toMatch(/^hooktrail-secrets-1\n/);
});

test('a sign-in with a key from a command, and a client secret from a file', async () => {
  const secret = path.join(at.home.folder, 'client-secret');
  await writeFile(secret, `${at.sandbox.settings.clientSecret}\n`, { mode: 0o600 });
  const key = path.join(at.home.folder, 'key');
  await at.run(['keygen', key]);
  const env = {
    ...at.env,
    HOOKTRAIL_PASSPHRASE: undefined,
    HOOKTRAIL_PASSPHRASE_COMMAND: `cat '${key}'`,
    HOOKTRAIL_CLIENT_SECRET: undefined,
    HOOKTRAIL_CLIENT_SECRET_FILE: secret,
  };
  expect(await at.run(['login'], { env })).toMatchObject({ code: 0 });
  expect(await at.run(['token'], { env })).toMatchObject({ code: 0, stderr: '' });
});

describe('a passphrase file that the profile saves', () => {
  const env = () => ({ ...at.env, HOOKTRAIL_PASSPHRASE: undefined });
  const file = () => path.join(at.home.folder, 'key of prod');

  test('is read by all commands, from any folder', async () => {
    await at.run(['keygen', file()]);
    const relative = { env: env(), cwd: at.home.folder };
    expect(await at.run(['config', 'set', 'passphrase-file', 'key of prod'], relative)).toEqual({
      code: 0,
      stdout: '',
      stderr: "saved passphrase-file in profile 'default'\n",
    });
    const get = await at.run(['config', 'get', 'passphrase-file'], { env: env() });
    expect(get.stdout).toBe(`${file()}\n`);
    expect(await at.run(['login'], { env: env() })).toMatchObject({ code: 0 });
    for (const command of [['token'], ['status'], ['events', 'count', '--since', '1h'], ['logout']])
      expect(await at.run(command, { env: env() })).toMatchObject({
        code: 0,
        stderr: expect.not.stringMatching(/passphrase/),
      });
  });

  test('has to be as safe as that of HOOKTRAIL_PASSPHRASE_FILE', async () => {
    await at.run(['keygen', file()]);
    await chmod(file(), 0o602);
    const refused = {
      code: 2,
      stdout: '',
      stderr: `error: passphrase-file: others can write ${file()}\nnext: run \`chmod 600\` on it\n`,
    };
    expect(await at.run(['config', 'set', 'passphrase-file', file()], { env: env() })).toEqual(refused);
    await chmod(file(), 0o600);
    await at.run(['config', 'set', 'passphrase-file', file()], { env: env() });
    await at.run(['login'], { env: env() });
    await chmod(file(), 0o602);
    expect(await at.run(['token'], { env: env() })).toEqual(refused);
  });

  test('is named in the error if it is gone or empty', async () => {
    await at.run(['keygen', file()]);
    await at.run(['config', 'set', 'passphrase-file', file()], { env: env() });
    await writeFile(file(), '\n');
    expect(await at.run(['login'], { env: env() })).toMatchObject({
      code: 2,
      stderr: `error: passphrase-file: ${file()} gives no secret: its first line is empty\nnext: put the secret on the first line\n`,
    });
    await rm(file());
    expect(await at.run(['login'], { env: env() })).toMatchObject({
      code: 2,
      stderr: `error: passphrase-file: ${file()} cannot be read: no such file or directory (ENOENT)\nnext: name a file with the secret on its first line\n`,
    });
  });

  test('gives way to the variable', async () => {
    await at.signIn();
    await at.run(['keygen', file()]);
    await at.run(['config', 'set', 'passphrase-file', file()]);
    expect(await at.run(['token'])).toMatchObject({ code: 0 });
    expect(await at.run(['token'], { env: env() })).toMatchObject({ code: 2 });
  });

  test('is made by login on a terminal, for whoever types no passphrase', async () => {
    const login = at.start(['login', '--store', 'file'], {
      env: { ...env(), TERM: 'dumb' },
      stdin: null,
      terminal: 200,
    });
    await login.printed('stderr', /New passphrase for the encrypted file: /);
    login.stdin.write('\r');
    const { code, stderr } = await login.finished;
    const key = path.join(at.env['HOME'] as string, '.hooktrail.key');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(
        `Without a passphrase (just press Enter) a key is made in ${key},\nand commands do not ask for it.\n`,
      ),
    });
    expect((await stat(key)).mode & 0o777).toBe(0o600);
    expect(await at.run(['token'], { env: env() })).toMatchObject({ code: 0, stderr: '' });
  });

  test('is not made where another file is, which is left as it is', async () => {
    const key = path.join(at.env['HOME'] as string, '.hooktrail.key');
    await writeFile(key, 'something else\n', { mode: 0o600 });
    const login = at.start(['login', '--store', 'file'], {
      env: { ...env(), TERM: 'dumb' },
      stdin: null,
      terminal: 200,
    });
    await login.printed('stderr', /New passphrase for the encrypted file: /);
    login.stdin.write('\r');
    expect(await login.finished).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`error: ${key} holds no key of \`hooktrail keygen\`\n`),
    });
    expect(await readFile(key, 'utf8')).toBe('something else\n');
  });
});
