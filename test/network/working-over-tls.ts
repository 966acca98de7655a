import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { visit } from '../support/browser.ts';
// This runs processes, since Node reads NODE_EXTRA_CA_CERTS when it starts.
import { spawnHooktrail, startProcess } from '../support/process.ts';
import { startSigningIn } from '../support/signing-in.ts';
import { type Certificate, startTlsFront, startTlsServer } from '../support/tls.ts';

/** A sandbox behind a TLS front, a webhook handler with the same certificate, and a home. */
export async function startWorkingOverTls(
  certificate: Certificate,
  hosts = { login: 'localhost', events: 'localhost', hooks: 'localhost' },
) {
  const at = await startSigningIn();
  const front = await startTlsFront(at.sandbox, certificate, hosts);
  const received: string[] = [];
  const handler = await startTlsServer(certificate, async (request, response) => {
    received.push(await text(request));
    response.end();
  });
  return {
    at,
    /** The environment without a trusted authority or a proxy. */
    env: { ...at.env, ...front.env, HOOKTRAIL_API_TOKEN: 'the token of the webhook' } as Env,
    /** `host:port` of the provider and of the service. */
    provider: `${hosts.login}:${front.port}`,
    service: `${hosts.events}:${front.port}`,
    /** The handler's URL. */
    handler: `https://${hosts.hooks}:${handler.port}/in`,
    /** The bodies that the handler received. */
    received,
    async [Symbol.asyncDispose]() {
      await handler[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
      await at[Symbol.asyncDispose]();
    },
  };
}

type Env = Readonly<Record<string, string>>;
export type WorkingOverTls = Awaited<ReturnType<typeof startWorkingOverTls>>;

/** Signs in with a browser that needs neither the front nor a proxy. */
export async function signInOverTls({ at }: WorkingOverTls, env: Env) {
  const program = startProcess(['login', '--no-browser'], { env });
  const [line] = await program.printed('stderr', /^https:\S+\/connect\/authorize\?\S+$/m);
  const { pathname, search } = new URL(line);
  await visit(new URL(pathname + search, at.sandbox.settings.authUrl));
  return await program.finished;
}

/**
 * Uses each part of the program that sends requests, from sign-in to sign-out, and compares the results with
 * those over plain HTTP.
 */
export async function workOverTls(working: WorkingOverTls, env: Env) {
  const { at, handler, received } = working;
  const { behaviour } = at.sandbox.control;
  behaviour.tokenLifetimeSeconds = 30;
  expect(await signInOverTls(working, env)).toMatchObject({ code: 0, stdout: '' });
  behaviour.tokenLifetimeSeconds = 1800;

  const search = ['events', 'search', '--all', '--ndjson'];
  const found = await spawnHooktrail(search, { env });
  expect(found).toMatchObject({ code: 0, stderr: '' });
  const grants = at.sandbox.log.flatMap(({ grantType }) => (grantType ? [grantType] : []));
  expect(grants).toEqual(['authorization_code', 'refresh_token']);
  const { stdout: token } = await spawnHooktrail(['token'], { env });
  const plain = await spawnHooktrail(search, { env: { ...at.env, HOOKTRAIL_ACCESS_TOKEN: token.trim() } });
  expect(found.stdout.split('\n')).toHaveLength(11);
  expect(found).toEqual(plain);

  expect(await spawnHooktrail(['events', 'export', 'exported'], { env })).toMatchObject({ code: 0 });
  const exported = path.join(at.home.folder, 'exported');
  const { parts } = JSON.parse(await readFile(path.join(exported, 'manifest.json'), 'utf8'));
  expect(await readFile(path.join(exported, parts[0].file), 'utf8')).toBe(found.stdout);

  const replay = await spawnHooktrail(['webhooks', 'replay', '--since', '60d', '--forward-to', handler], {
    env,
  });
  expect(replay).toMatchObject({ code: 0, stderr: '10 replayed; 0 refused\n' });
  expect(new Set(received).size).toBe(10);

  expect(await spawnHooktrail(['logout'], { env })).toEqual({
    code: 0,
    stdout: '',
    stderr: "signed out of the profile 'default' on this machine; its refresh token is revoked\n",
  });
}
