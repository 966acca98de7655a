import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { interimForEver, switchingProtocols } from '../../src/sandbox/faults.ts';
import { type Fault, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Behaviour } from '../../src/sandbox/sandbox-options.ts';
import { authorized, rawGet, refresh, signIn } from '../support/sandbox-client.ts';

let sandbox: Sandbox;
let headers: Record<string, string>;
let initial: Behaviour;

beforeAll(async () => {
  sandbox = await startSandbox({ events: 500, autoApprove: true });
  headers = authorized(sandbox, (await signIn(sandbox)).access_token);
  initial = { ...sandbox.control.behaviour };
});
afterEach(() => {
  sandbox.control.clearFaults();
  Object.assign(sandbox.control.behaviour, initial);
});
afterAll(() => sandbox.close());

/** Returns the result of one request for 100 events: its status and body, or the error. */
async function outcome(timeout = 400): Promise<string> {
  const broken = async () => {
    const { status, body } = await rawGet(sandbox, '/integrator-events?limit(1,100)', headers);
    return `${status} ${body.length}`;
  };
  const late = new Promise<string>((resolve) => setTimeout(() => resolve('nothing'), timeout));
  return Promise.race([broken().catch((error: NodeJS.ErrnoException) => `${error.code}`), late]);
}

describe('scripted faults', () => {
  it('apply in order, each once, and not to later requests', async () => {
    const whole = await outcome();
    const faults: Fault[] = [{ kind: 'status', status: 503 }, { kind: 'pass' }, { kind: 'reset' }];
    sandbox.control.fault('events', ...faults);
    expect(sandbox.control.pendingFaults).toBe(3);
    expect([await outcome(), await outcome(), await outcome(), await outcome()]).toEqual([
      '503 0',
      whole,
      'ECONNRESET',
      whole,
    ]);
  });

  it('apply only to their target', async () => {
    sandbox.control.fault('token', { kind: 'status', status: 500 });
    sandbox.control.fault('event-types', { kind: 'status', status: 500 });
    expect(await outcome()).toMatch(/^200 /);
    sandbox.control.fault('service', { kind: 'status', status: 502 });
    expect(await outcome()).toBe('502 0');
  });

  it('answer with any status, header and body', async () => {
    const faulty = { status: 302, headers: { Location: 'http://other.invalid/' }, body: 'gone' };
    sandbox.control.fault('events', { kind: 'status', ...faulty });
    const { status, headers: answered, body } = await rawGet(sandbox, '/integrator-events', headers);
    expect([status, answered['location'], String(body)]).toEqual([302, 'http://other.invalid/', 'gone']);
  });

  it.each<[Fault, string]>([
    [{ kind: 'reset-mid-body' }, 'ECONNRESET'],
    [{ kind: 'reset-mid-body', after: 0 }, 'ECONNRESET'],
    [{ kind: 'close-mid-body', after: 1000 }, 'ECONNRESET'],
    [{ kind: 'truncate', after: 1000 }, '200 1000'],
    [{ kind: 'stall', after: 1000 }, 'nothing'],
    [{ kind: 'stall', after: -1 }, 'nothing'],
    [{ kind: 'slow', ms: 5000 }, 'nothing'],
    [{ kind: 'trickle', bytes: 10, everyMs: 50 }, 'nothing'],
  ])('break an answer in the middle: %j', async (fault, expected) => {
    sandbox.control.fault('events', fault);
    expect(await outcome()).toBe(expected);
  });

  it.each<[string, Fault, string]>([
    ['a switch of protocols', switchingProtocols, 'HTTP/1.1 101 Switching Protocols\r\n'],
    ['interim answers', interimForEver, 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'],
    [
      'a header without end',
      { kind: 'raw', text: 'HTTP/1.1 200 OK\r\nX: ', again: 'x', everyMs: 1 },
      'X: xxx',
    ],
  ])('put %s on the wire', async (_name, fault, expected) => {
    sandbox.control.fault('events', fault);
    const { port, pathname } = new URL(sandbox.settings.baseUrl);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${pathname}/integrator-events HTTP/1.1\r\nHost: sandbox\r\n\r\n`);
    let answer = '';
    for await (const chunk of socket) {
      answer += chunk;
      if (answer.includes(expected)) break;
    }
    expect(answer).toContain(expected);
  });

  it.each([false, true])('flood the client with a body of any size, compressed: %s', async (compressed) => {
    sandbox.control.fault('events', { kind: 'flood', bytes: 3_000_000, compressed });
    const { status, body } = await rawGet(sandbox, '/integrator-events', headers);
    expect(status).toBe(200);
    expect(String(compressed ? gunzipSync(body) : body)).toBe(`{"items":[${' '.repeat(3_000_000)}]}`);
    if (compressed) expect(body.length).toBeLessThan(10_000);
  });

  it('stop an endless flood when the client disconnects', async () => {
    sandbox.control.fault('events', { kind: 'flood' });
    const { port, pathname } = new URL(sandbox.settings.baseUrl);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${pathname}/integrator-events HTTP/1.1\r\nHost: sandbox\r\n\r\n`);
    let received = 0;
    for await (const chunk of socket) {
      received += chunk.length;
      if (received > 5_000_000) break;
    }
    await expect.poll(() => sandbox.log.at(-1)?.ms).toBeDefined();
  });

  it.each<Fault>([
    { kind: 'slow', ms: 30 },
    { kind: 'stall', after: 1000, ms: 30 },
    { kind: 'stall', after: -1, ms: 30 },
    { kind: 'trickle', bytes: 5000, everyMs: 2 },
  ])('may only delay it: %j', async (fault) => {
    const whole = await rawGet(sandbox, '/integrator-events?limit(1,100)', headers);
    sandbox.control.fault('events', fault);
    expect((await rawGet(sandbox, '/integrator-events?limit(1,100)', headers)).body).toEqual(whole.body);
  });

  it('do something between two pages', async () => {
    const { size } = sandbox.control.store;
    sandbox.control.fault('events', { kind: 'pass' }, { kind: 'run', run: () => sandbox.control.addEvent() });
    const count = async () =>
      JSON.parse(String((await rawGet(sandbox, '/integrator-events', headers)).body)).count;
    expect([await count(), await count()]).toEqual([size, size + 1]);
  });

  it('edit an answer', async () => {
    sandbox.control.fault('events', {
      kind: 'edit',
      edit: ({ body }) => ({
        status: 200,
        headers: { 'X-Edited': 'yes' },
        body: Buffer.from(`${body}garbage`),
      }),
    });
    const { headers: answered, body } = await rawGet(sandbox, '/integrator-events', headers);
    expect(answered['x-edited']).toBe('yes');
    expect(String(body)).toMatch(/\]\}garbage$/);
  });

  it('lose the answer of a token request that was carried out', async () => {
    const { refresh_token } = await signIn(sandbox);
    sandbox.control.fault('token', { kind: 'answer-lost' });
    await expect(refresh(sandbox, refresh_token)).rejects.toThrow('fetch failed');
    expect((await refresh(sandbox, refresh_token)).body.error).toBe('invalid_grant');
  });

  it('break a token request before it is carried out', async () => {
    const { refresh_token } = await signIn(sandbox);
    for (const fault of [{ kind: 'reset' }, { kind: 'status', status: 503 }] as const) {
      sandbox.control.fault('token', fault);
      await refresh(sandbox, refresh_token).catch(() => undefined);
    }
    expect((await refresh(sandbox, refresh_token)).status).toBe(200);
  });

  it('truncate an answer of the identity provider too', async () => {
    const { refresh_token } = await signIn(sandbox);
    sandbox.control.fault('token', { kind: 'truncate', after: 20 });
    await expect(refresh(sandbox, refresh_token)).rejects.toThrow(SyntaxError);
  });
});

describe('random faults', () => {
  it('have the requested rate, every kind, and are the same for the same seed', async () => {
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
