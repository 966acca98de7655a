import { describe, expect, test } from 'vitest';
import type { RequestLimits } from '../../src/context.ts';
import { hooktrail } from '../support/program.ts';
import type { Fault } from '../support/sandbox.ts';
import { interimForEver, switchingProtocols } from '../support/sandbox.ts';
import { startSearching } from '../support/searching.ts';
import { startRefreshing } from '../support/signing-in.ts';

const SLOW: Partial<RequestLimits> = { total: 300 };
const SMALL: Partial<RequestLimits> = { bytes: 1024 * 1024 };
const trickle: Fault = { kind: 'trickle', bytes: 1, everyMs: 20 };
const flood: Fault = { kind: 'flood' };
const bomb: Fault = { kind: 'flood', bytes: 2 * 1024 * 1024, compressed: true };

const UNREACHABLE = 'error: the service could not be reached: HOST';
const TOO_SLOW = `${UNREACHABLE} took more than 0.3 s for its answer\nnext: try again later\n`;
const TOO_LARGE =
  'error: the answer of HOST is larger than 1 MiB\nnext: check --base-url (HOOKTRAIL_BASE_URL); `hooktrail config set base-url URL` saves another\n';

describe('an answer of the event service', () => {
  test.each([
    ['without end before it', interimForEver, SLOW, 5, TOO_SLOW],
    ['a byte at a time', trickle, SLOW, 5, TOO_SLOW],
    ['without end', flood, SMALL, 1, TOO_LARGE],
    ['that is small until it is decompressed', bomb, SMALL, 1, TOO_LARGE],
  ])('%s is an error, and not asked for again', async (_, fault, requestLimits, code, stderr) => {
    await using at = await startSearching({ events: 10 });
    const [HOST, before] = [new URL(at.sandbox.settings.baseUrl).host, at.sandbox.log.length];
    at.sandbox.control.fault('events', fault);
    const result = await at.run(['events', 'search', '--json'], { context: { requestLimits } });
    expect({ ...result, stderr: result.stderr.replaceAll(HOST, 'HOST') }).toEqual({
      code,
      stdout: expect.any(String),
      stderr,
    });
    expect(at.sandbox.log.length - before).toBe(1);
  });

  test('101 Switching Protocols is a broken connection, and is retried', async () => {
    await using at = await startSearching({ events: 10 });
    at.sandbox.control.fault('events', switchingProtocols);
    expect(await at.search('--limit', '1', '--fields', 'publishStatus', '--csv')).toMatchObject({ code: 0 });
    at.sandbox.control.fault('events', ...Array.from({ length: 5 }, () => switchingProtocols));
    const { code, stderr } = await at.search('--json');
    expect(stderr).toMatch(
      /^error: the service could not be reached: .* broke \(bad upgrade\)\nnext: try again later\n$/,
    );
    expect(code).toBe(5);
    expect(at.sandbox.control.pendingFaults).toBe(0);
  });
});

describe('an answer of the token endpoint', () => {
  test.each([
    ['without end', flood],
    ['that is small until it is decompressed', bomb],
  ])('%s is an error, and not asked for again', async (_, fault) => {
    await using at = await startRefreshing();
    at.sandbox.control.fault('token', fault, { kind: 'reset' });
    const { code, stdout, stderr } = await at.run(['token']);
    const { host } = new URL(at.sandbox.settings.authUrl);
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      `error: the answer of ${host} is larger than 1 MiB\nnext: check --auth-url (HOOKTRAIL_AUTH_URL)\n`,
    ]);
    expect(at.sandbox.control.pendingFaults).toBe(1);
  });
});

test('a host that does not exist is looked up once', async () => {
  await using at = await startSearching({ events: 1 });
  const env = { ...at.env, HOOKTRAIL_BASE_URL: 'https://events.invalid' };
  expect(await hooktrail(['events', 'search', '--verbose'], { env })).toEqual({
    code: 5,
    stdout: '',
    stderr: expect.stringMatching(
      /^GET \S+ failed: .* \d+ ms\nerror: the service could not be reached: the name events.invalid could not be resolved \(ENOTFOUND\)\nnext: check the URL and the network; behind a proxy set HTTPS_PROXY; `hooktrail config set base-url URL` saves another\n$/,
    ),
  });
});
