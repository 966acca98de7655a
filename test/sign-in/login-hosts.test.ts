import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import os from 'node:os';
import { expect, test } from 'vitest';
import { ask, redirectOf } from '../support/browser.ts';
import { startSigningIn } from '../support/signing-in.ts';

const hasIpv6 = Object.values(os.networkInterfaces())
  .flat()
  .some((address) => address?.address === '::1');

async function occupy(port: number, host: string): Promise<Server> {
  const server = createServer().listen({ port, host, ipv6Only: true });
  await once(server, 'listening');
  return server;
}

/** The same redirect, sent to an address instead of to the name. */
function through(address: string, redirect: URL): [URL, { host: string }] {
  const url = new URL(redirect);
  url.hostname = address;
  return [url, { host: redirect.host }];
}

test.each(['127.0.0.1', '[::1]'])('a redirect URI on localhost is answered on %s', async (address) => {
  if (address === '[::1]' && !hasIpv6) return;
  await using at = await startSigningIn({}, 'localhost');
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  expect((await ask(...through(address, redirect))).status).toBe(200);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('a program on the other address family of localhost counts as a taken port', async ({ skip }) => {
  skip(!hasIpv6, 'this machine has no IPv6');
  await using at = await startSigningIn({}, 'localhost');
  const port = Number(new URL(at.redirectUri).port);
  const neighbour = await occupy(port, '::1');
  const { code, stderr } = await at.run(['login', '--no-browser']);
  neighbour.close();
  expect(code).toBe(2);
  expect(stderr).toContain(
    `error: cannot wait for the sign-in on localhost:${port}: port ${port} of localhost is taken by another program\n`,
  );
  expect(stderr).toContain('--redirect-uri');
});

test('a taken port is an error that names --redirect-uri', async () => {
  await using at = await startSigningIn();
  const port = Number(new URL(at.redirectUri).port);
  const neighbour = await occupy(port, '127.0.0.1');
  const result = await at.run(['login', '--no-browser']);
  neighbour.close();
  expect(result).toEqual({
    code: 2,
    stdout: '',
    stderr:
      `error: cannot wait for the sign-in on 127.0.0.1:${port}: port ${port} of 127.0.0.1 is taken by another program\n` +
      'next: give another address with --redirect-uri (it has to be registered for the client), or use --paste\n',
  });
});

test('the listener is not reached from outside loopback', async ({ skip }) => {
  const outside = Object.values(os.networkInterfaces())
    .flat()
    .find((address) => address && !address.internal && address.family === 'IPv4')?.address;
  skip(!outside, 'this machine has no address but loopback');
  await using at = await startSigningIn();
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  await expect(ask(...through(outside as string, redirect))).rejects.toThrow('ECONNREFUSED');
  program.kill('SIGTERM');
  await program.finished;
});

test('port 0 of the redirect URI becomes a free port', async () => {
  await using at = await startSigningIn();
  const { program, authorizeUrl } = await at.login(['--redirect-uri', 'http://127.0.0.1:0/callback']);
  const redirect = await redirectOf(authorizeUrl);
  expect(Number(redirect.port)).toBeGreaterThan(0);
  expect((await ask(redirect)).status).toBe(200);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test.each([
  'http://127.0.0.1:8976',
  'http://LOCALHOST:8976/x',
  'http://127.0.0.1:80/callback',
  'https://app.example.com',
])('the redirect URI %s is sent as it was typed', async (redirectUri) => {
  await using at = await startSigningIn();
  const { searchParams } = await at.authorizeUrl(['--paste', '--redirect-uri', redirectUri]);
  expect(searchParams.get('redirect_uri')).toBe(redirectUri);
});

test('a redirect URI that does not lead back here needs --paste', async () => {
  await using at = await startSigningIn();
  expect(await at.run(['login', '--redirect-uri', 'https://app.example/callback'])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: --redirect-uri: https://app.example/callback does not lead back to this machine\n' +
      'next: use --paste, and paste the URL that the browser ends up at\n',
  });
});
