import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Behaviour } from '../support/sandbox.ts';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
import { authorized, rawGet, refresh, signIn } from '../support/sandbox-client.ts';

let sandbox: Sandbox;
let initial: Behaviour;

beforeAll(async () => {
  sandbox = await startSandbox({ events: 500, autoApprove: true });
  initial = { ...sandbox.control.behaviour };
});
afterEach(() => {
  sandbox.control.clearFaults();
  Object.assign(sandbox.control.behaviour, initial);
});
afterAll(() => sandbox.close());

describe('scripted faults', () => {
  test('lose the answer of a token request that was carried out', async () => {
    const { refresh_token } = await signIn(sandbox);
    sandbox.control.fault('token', { kind: 'answer-lost' });
    await expect(refresh(sandbox, refresh_token)).rejects.toThrow('fetch failed');
    expect((await refresh(sandbox, refresh_token)).body.error).toBe('invalid_grant');
  });

  test('break a token request before it is carried out', async () => {
    const { refresh_token } = await signIn(sandbox);
    for (const fault of [{ kind: 'reset' }, { kind: 'status', status: 503 }] as const) {
      sandbox.control.fault('token', fault);
      await refresh(sandbox, refresh_token).catch(() => undefined);
    }
    expect((await refresh(sandbox, refresh_token)).status).toBe(200);
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
