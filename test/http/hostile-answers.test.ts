import { expect, test } from 'vitest';
import { requireCondition } from '../support/conditions.ts';
import { hooktrail } from '../support/program.ts';
import type { Fault } from '../support/sandbox.ts';
import { startSearching } from '../support/searching.ts';
import { startRefreshing } from '../support/signing-in.ts';

const MIB = 1024 * 1024;
/** An answer that is a byte larger than this. */
const larger = (bytes: number): Fault => ({
  kind: 'edit',
  edit: (answer) => ({ ...answer, body: Buffer.alloc(bytes + 1, ' ') }),
});

test.each([
  [
    'that takes too long',
    { kind: 'slow', ms: 60_000 },
    { total: 300 },
    5,
    'error: the service could not be reached: HOST took more than 0.3 s for its answer\nnext: try again later\n',
  ],
  [
    'that is too large',
    larger(MIB),
    { bytes: MIB },
    1,
    'error: the answer of HOST is larger than 1 MiB\nnext: check --base-url (HOOKTRAIL_BASE_URL); `hooktrail config set base-url URL` saves another\n',
  ],
] as const)('an answer of the event service %s is an error, and not asked for again', async (...row) => {
  const [, fault, requestLimits, code, stderr] = row;
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

test('an answer of the token endpoint above 1 MiB is an error, and not asked for again', async () => {
  await using at = await startRefreshing();
  at.sandbox.control.fault('token', larger(MIB), { kind: 'reset' });
  const { host } = new URL(at.sandbox.settings.authUrl);
  expect(await at.run(['token'])).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: the answer of ${host} is larger than 1 MiB\nnext: check --auth-url (HOOKTRAIL_AUTH_URL)\n`,
  });
  expect(at.sandbox.control.pendingFaults).toBe(1);
});

test('a host that does not exist is looked up once for the search, and once for the names beside it', async (context) => {
  await requireCondition(context, 'a resolver, which knows that a name does not exist');
  await using at = await startSearching({ events: 1 });
  const env = { ...at.env, HOOKTRAIL_BASE_URL: 'https://events.invalid' };
  expect(await hooktrail(['events', 'search', '--verbose'], { env })).toEqual({
    code: 5,
    stdout: '',
    stderr: expect.stringMatching(
      /^(GET \S+ failed: .* \d+ ms\n){1,2}error: the service could not be reached: the name events.invalid could not be resolved \(ENOTFOUND\)\nnext: check the URL and the network; behind a proxy set HTTPS_PROXY; `hooktrail config set base-url URL` saves another\n$/,
    ),
  });
});
