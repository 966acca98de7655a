import { afterEach, beforeEach, expect, test } from 'vitest';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

test('token prints a token that the service takes, and nothing else', async () => {
  await at.signIn();
  const { code, stdout, stderr } = await at.run(['token'], { env: at.home.env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const answer = await fetch(`${at.sandbox.settings.baseUrl}/event-types`, {
    headers: { authorization: `Bearer ${stdout.trim()}`, accept: 'application/vnd.sandbox.v1+json' },
  });
  expect(answer.status).toBe(200);
});

test('a token in the environment is printed as it is', async () => {
  const env = { ...at.home.env, HOOKTRAIL_ACCESS_TOKEN: 'as-it.is' };
  expect(await at.run(['token'], { env })).toEqual({ code: 0, stdout: 'as-it.is\n', stderr: '' });
});

test('token of nobody prints nothing on standard output', async () => {
  const { code, stdout, stderr } = await at.run(['token']);
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr).toContain('hooktrail login');
});
