import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { startSandbox } from '../support/sandbox.ts';
import { authorized, rawGet, signIn } from '../support/sandbox-client.ts';

describe('sandbox', () => {
  // This has to be the first test in the file: it loads the identity provider's library, which used to print
  // then.
  test('prints nothing', async () => {
    const writes = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
    const prints = (['log', 'info', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name));
    try {
      await using sandbox = await startSandbox({ events: 5, autoApprove: true });
      await signIn(sandbox);
      await fetch(`${sandbox.settings.authUrl}/connect/authorize`);
      await fetch(`${sandbox.settings.authUrl}/connect/token`, { method: 'POST', body: 'nonsense' });
      for (const spy of [...writes, ...prints]) expect(spy).not.toHaveBeenCalled();
    } finally {
      vi.restoreAllMocks();
    }
  });

  test('says how to use it', async () => {
    await using sandbox = await startSandbox({ events: 0 });
    const { authUrl, baseUrl, clientSecret } = sandbox.settings;
    expect(new URL(authUrl).origin).toBe(new URL(baseUrl).origin);
    expect(new URL(authUrl).hostname).toBe('127.0.0.1');
    expect(clientSecret).toMatch(/^[\w-]{32}$/);
    expect({ ...sandbox.settings, authUrl, baseUrl, clientSecret }).toEqual({
      authUrl,
      baseUrl,
      clientId: 'hooktrail-sandbox',
      clientSecret,
      vendor: 'sandbox',
      redirectUri: 'http://127.0.0.1:8976/callback',
      scope: 'event_api offline_access',
      issuer: authUrl,
    });
  });

  test('accepts another client id, client secret and vendor', async () => {
    const options = {
      clientId: 'acme',
      clientSecret: 'a secret',
      vendor: 'acme',
      autoApprove: true,
      events: 1,
    };
    await using sandbox = await startSandbox(options);
    const headers = authorized(sandbox, (await signIn(sandbox)).access_token);
    expect(headers['accept']).toBe('application/vnd.acme.v1+json');
    expect((await rawGet(sandbox, '/event-types', headers)).status).toBe(200);
  });

  test('frees its port at once even if connections are open', async () => {
    const sandbox = await startSandbox({ events: 0 });
    const port = Number(new URL(sandbox.settings.baseUrl).port);
    const idle = connect(port, '127.0.0.1');
    await once(idle, 'connect');
    sandbox.control.fault('event-types', { kind: 'stall' });
    const stalled = rawGet(sandbox, '/event-types').catch((error: NodeJS.ErrnoException) => error.code);
    await expect.poll(() => sandbox.log.length).toBe(1);
    await Promise.all([sandbox.close(), once(idle, 'close')]);
    expect(await stalled).toBe('ECONNRESET');
    await using again = await startSandbox({ port, events: 0 });
    expect(new URL(again.settings.baseUrl).port).toBe(String(port));
  });

  test('waits for the given latency before each answer of the event service', async () => {
    await using sandbox = await startSandbox({ events: 0, latencyMs: 60 });
    await rawGet(sandbox, '/event-types');
    expect(sandbox.log[0]?.ms).toBeGreaterThanOrEqual(55);
  });

  test('has one clock: answers, new events and tokens follow it', async () => {
    let now = Date.UTC(2030, 1, 28, 23, 59, 50);
    await using sandbox = await startSandbox({ events: 3, autoApprove: true, now: () => now });
    const { access_token: token, expires_in: lifetime } = await signIn(sandbox);
    const dateOf = async () =>
      (await rawGet(sandbox, '/event-types', authorized(sandbox, token))).headers['date'];
    expect(sandbox.control.addEvent().createdOn).toMatch(/^2030-02-28T23:59:50\.000/);
    expect(await dateOf()).toBe('Thu, 28 Feb 2030 23:59:50 GMT');
    now += lifetime * 1000 - 1;
    expect((await rawGet(sandbox, '/event-types', authorized(sandbox, token))).status).toBe(200);
    now += 1;
    expect((await rawGet(sandbox, '/event-types', authorized(sandbox, token))).status).toBe(401);
    expect(await dateOf()).toBe('Fri, 01 Mar 2030 00:29:50 GMT');
    expect((await signIn(sandbox)).access_token).not.toBe(token);
    expect(sandbox.log[0]?.at).toBe(Date.UTC(2030, 1, 28, 23, 59, 50));
  });
});

describe('random faults', () => {
  test('have the requested rate, every kind, and are the same for the same seed', async () => {
    const run = async (seed: number) => {
      await using other = await startSandbox({ events: 10, autoApprove: true, seed, faultRate: 0.3 });
      const authorization = authorized(other, (await signIn(other)).access_token);
      const outcomes: string[] = [];
      for (let index = 0; index < 100; index++) {
        const answer = rawGet(other, '/event-types', authorization).then(({ status }) => String(status));
        outcomes.push(await answer.catch((error: NodeJS.ErrnoException) => `${error.code}`));
      }
      return outcomes;
    };
    const outcomes = await run(7);
    expect(new Set(outcomes)).toEqual(new Set(['200', '500', '502', '503', '504', 'ECONNRESET']));
    const failed = outcomes.filter((one) => one !== '200').length;
    expect(failed).toBeGreaterThan(15);
    expect(failed).toBeLessThan(45);
    expect(await run(7)).toEqual(outcomes);
  });
});
