import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type SigningIn, useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

const secretsFile = async (env: SigningIn['env']) => {
  const { stdout } = await at.run(['status', '--json'], { env });
  return await readFile(JSON.parse(stdout).place, 'latin1');
};

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
    stderr: `wrote a new key to ${file}; use it with HOOKTRAIL_PASSPHRASE_FILE\n`,
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
  expect(await secretsFile(typed)).toMatch(/^hooktrail-secrets-1\n/);
  const file = path.join(at.home.folder, 'key');
  await at.run(['keygen', file]);
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: undefined, HOOKTRAIL_PASSPHRASE_FILE: file };
  const place = JSON.parse((await at.run(['status', '--json'], { env: typed })).stdout).place;
  expect(await at.run(['token'], { env })).toEqual({
    code: 2,
    stdout: '',
    stderr:
      `error: ${place} is sealed with a passphrase, and a key was given\n` +
      'next: give the passphrase, or run `hooktrail login`, which seals the file with what is given then\n',
  });
  expect(await at.run(['login'], { env })).toMatchObject({ code: 0 });
  expect(await readFile(place, 'latin1')).toMatch(/^hooktrail-secrets-2\n/);
  expect(await at.run(['token'], { env })).toMatchObject({ code: 0, stderr: '' });
  expect((await at.run(['token'], { env: typed })).code).toBe(2);
  expect(await at.run(['login'], { env: typed })).toMatchObject({ code: 0 });
  expect(await secretsFile(typed)).toMatch(/^hooktrail-secrets-1\n/);
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
