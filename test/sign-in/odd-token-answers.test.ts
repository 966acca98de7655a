import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { HARMLESS, inBytes, REFUSED } from '../support/odd-answers.ts';
import { startSigningIn } from '../support/signing-in.ts';

const at = forEachTest(() => startSigningIn());

test.each(Object.entries(HARMLESS))('a sign-in passes over %s', async (_, odd) => {
  at.control.fault('token', inBytes(odd));
  await at.signIn();
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
});

test.each(Object.entries(REFUSED))('%s of the token endpoint is named at once', async (_, [odd, reason]) => {
  at.control.fault('token', inBytes(odd));
  const { host } = new URL(at.sandbox.settings.authUrl);
  const { code, stderr } = await at.run(['login']);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`error: ${host} does not answer with valid HTTP (${reason})\n`),
  ]);
  expect(at.exchanges()).toBe(1);
});
