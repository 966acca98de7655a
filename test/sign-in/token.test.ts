import { expect, test } from 'vitest';
import { useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

test('token prints a token that the service accepts, and nothing else', async () => {
  await at.signIn();
  const { code, stdout, stderr } = await at.run(['token'], { env: at.home.env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const answer = await fetch(`${at.sandbox.settings.baseUrl}/event-types`, {
    headers: { authorization: `Bearer ${stdout.trim()}`, accept: 'application/vnd.sandbox.v1+json' },
  });
  expect(answer.status).toBe(200);
});

test('HOOKTRAIL_ACCESS_TOKEN is printed unchanged, without a sign-in', async () => {
  const env = { ...at.home.env, HOOKTRAIL_ACCESS_TOKEN: 'as-it.is' };
  expect(await at.run(['token'], { env })).toEqual({ code: 0, stdout: 'as-it.is\n', stderr: '' });
});

test('token prints nothing on standard output if nobody is signed in', async () => {
  const { code, stdout, stderr } = await at.run(['token']);
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr).toContain('hooktrail login');
});

test('token --json adds the expiry, the scope and the origin of the service', async () => {
  await at.signIn();
  const { code, stdout } = await at.run(['token', '--json'], { env: at.home.env });
  expect(code).toBe(0);
  const token = (await at.run(['token'], { env: at.home.env })).stdout.trim();
  expect(stdout).toBe(
    `${JSON.stringify(
      {
        token,
        expiresAt: '2026-11-20T12:30:00.000Z',
        scope: 'event_api offline_access',
        origin: new URL(at.sandbox.settings.baseUrl).origin,
      },
      null,
      2,
    )}\n`,
  );
});

test('token --json gives null for unknown values of a token in the environment', async () => {
  const env = { ...at.home.env, HOOKTRAIL_ACCESS_TOKEN: 'as-it.is' };
  const { stdout } = await at.run(['token', '--json'], { env });
  expect(JSON.parse(stdout)).toEqual({ token: 'as-it.is', expiresAt: null, scope: null, origin: null });
});
