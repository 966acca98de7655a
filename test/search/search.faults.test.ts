import { describe, expect, test } from 'vitest';
import { type Fault, times } from '../support/sandbox.ts';
import { idsOf, startSearching } from '../support/searching.ts';
import { startSigningIn } from '../support/signing-in.ts';

const lines = (...args: string[]) => ['--ndjson', ...args];

describe('faults of the service', () => {
  const faults: [string, Fault][] = [
    ['an error of the service', { kind: 'status', status: 503 }],
    ['a connection that breaks in mid-body', { kind: 'reset-mid-body' }],
    [
      'JSON cut short',
      { kind: 'edit', edit: (answer) => ({ ...answer, body: answer.body.subarray(0, 500) }) },
    ],
  ];
  test.each(faults)('%s neither loses nor duplicates anything', async (_name, fault) => {
    await using searching = await startSearching({ events: 60 });
    const { control } = searching.sandbox;
    control.fault('events', { kind: 'pass' }, { kind: 'pass' }, fault);
    const { code, stdout } = await searching.search(...lines('--page-size', '10'));
    expect(control.pendingFaults).toBe(0);
    expect(idsOf(stdout)).toEqual(control.store.newestIds(60));
    expect(code).toBe(0);
  });

  test("a persistent error is reported with the service's message, and the events read are printed", async () => {
    await using searching = await startSearching({ events: 60 });
    const body = JSON.stringify({
      code: 'event.invalid',
      message: 'No such thing',
      property: 'limit',
      properties: { seen: '11' },
    });
    searching.sandbox.control.fault(
      'events',
      { kind: 'pass' },
      ...times(9, { kind: 'status', status: 400, body }),
    );
    const { code, stdout, stderr } = await searching.search(
      ...lines('--page-size', '10', '--concurrency', '1'),
    );
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(10));
    expect(stderr).toBe(
      'error: the search failed: the service answered 400 Bad Request\n' +
        '  code: event.invalid\n  message: No such thing\n  property: limit\n  properties:\n    seen: 11\n',
    );
    expect(code).toBe(1);
  });

  test('a redirect is not followed with the token', async () => {
    await using searching = await startSearching({ events: 10 });
    await using elsewhere = await startSearching({ events: 10 });
    const location = `${elsewhere.sandbox.settings.baseUrl}/integrator-events`;
    searching.sandbox.control.fault('events', { kind: 'status', status: 307, headers: { location } });
    const { code, stderr } = await searching.search();
    expect(stderr).toContain('redirects are not followed with the token');
    expect(code).toBe(1);
    expect(elsewhere.queries()).toEqual([]);
  });
});

test('an error that quotes the access token is reported without it', async () => {
  await using searching = await startSearching({ events: 1 });
  const token = searching.env['HOOKTRAIL_ACCESS_TOKEN'] as string;
  const body = JSON.stringify({ code: 'token.bad', message: `"${token}" is not welcome` });
  searching.sandbox.control.fault('events', {
    kind: 'status',
    status: 403,
    body,
    headers: { 'X-Echo': token },
  });
  const { code, stderr } = await searching.search('--debug');
  expect(stderr).toContain('\n  message: "[redacted]" is not welcome\n');
  expect(stderr).not.toContain(token);
  expect(code).toBe(1);
});

describe('an answer in words with status 200', () => {
  test.each([
    ['text/plain', 'Down for maintenance', '  Down for maintenance\n'],
    ['text/html', '<title>Sign in</title>', '  an HTML page: Sign in\n'],
  ])('of %s is reported', async (type, body, told) => {
    await using searching = await startSearching({ events: 1 });
    const words: Fault = { kind: 'status', status: 200, body, headers: { 'Content-Type': type } };
    searching.sandbox.control.fault('events', words, words, words);
    const { code, stderr } = await searching.search('--json');
    expect(stderr).toBe(
      'error: the service answered with something that is not a collection in JSON\n' +
        `  an object expected at byte 0\n${told}` +
        'next: try again later, or check --base-url (HOOKTRAIL_BASE_URL); `hooktrail config set base-url URL` saves another\n',
    );
    expect(code).toBe(1);
  });
});

test('a 401 between pages refreshes the token once, and nothing is lost', async () => {
  await using signingIn = await startSigningIn({ events: 400 });
  await signingIn.signIn();
  const { control, log } = signingIn.sandbox;
  control.fault('events', ...times(5, { kind: 'pass' }), {
    kind: 'run',
    run: () => control.revokeAccessTokens(),
  });
  const { code, stdout, stderr } = await signingIn.run(['events', 'search', '--ndjson', '--page-size', '10']);
  expect(stderr).toBe('');
  expect(idsOf(stdout)).toEqual(control.store.newestIds(400));
  expect(code).toBe(0);
  expect(log.filter(({ grantType }) => grantType === 'refresh_token')).toHaveLength(1);
});

test('a request whose answer stalls is retried after a time without progress', async () => {
  await using searching = await startSearching({ events: 60 });
  const { control } = searching.sandbox;
  control.fault('events', { kind: 'pass' }, { kind: 'stall' });
  const { code, stdout } = await searching.run(['events', 'search', '--ndjson', '--page-size', '10'], {
    context: { requestLimits: { idle: 500 } },
  });
  expect(idsOf(stdout)).toEqual(control.store.newestIds(60));
  expect(code).toBe(0);
});

test('one request in twenty failing in any way changes nothing in the result', {
  timeout: 120_000,
}, async () => {
  await using searching = await startSearching({ events: 2000, faultRate: 0.05 });
  const { code, stdout } = await searching.search('--ndjson', '--page-size', '20', '--concurrency', '8');
  expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(2000));
  expect(code).toBe(0);
});

/** Waits until a number has not changed for a while. */
async function settled(number: () => number): Promise<void> {
  for (let seen = -1, same = 0; same < 20; ) {
    same = number() === seen ? same + 1 : 0;
    seen = number();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a slow reader slows the search down instead of filling the memory', async () => {
  await using searching = await startSearching({ events: 4_000 });
  const program = searching.start(['events', 'search', '--ndjson', '--page-size', '100'], { paused: true });
  await settled(() => searching.queries().length);
  // The size of a pipe, plus the pages read ahead; without back-pressure all 40 pages would be requested.
  expect(searching.queries().length).toBeLessThan(20);
  program.resume();
  const { code, stdout } = await program.finished;
  expect(code).toBe(0);
  expect(idsOf(stdout)).toHaveLength(4_000);
});
