import { expect, test } from 'vitest';
import { spawnHooktrail } from '../support/process.ts';
import { sampleOf } from '../support/seed.ts';
import { authorityFile, type Certificate } from '../support/tls.ts';
import { signInOverTls, startWorkingOverTls, workOverTls } from './working-over-tls.ts';

test('under a private authority: sign in, search, refresh, export, replay, log out', async () => {
  await using working = await startWorkingOverTls('localhost');
  await workOverTls(working, { ...working.env, NODE_EXTRA_CA_CERTS: authorityFile });
});

test('a sign-in outlasts a shell that names no authority', async () => {
  await using working = await startWorkingOverTls('localhost');
  const trusting = { ...working.env, NODE_EXTRA_CA_CERTS: authorityFile };
  working.at.sandbox.control.behaviour.tokenLifetimeSeconds = 30;
  expect(await signInOverTls(working, trusting)).toMatchObject({ code: 0 });
  expect(await spawnHooktrail(['token'], { env: working.env })).toEqual({
    code: 5,
    stdout: '',
    stderr: `error: the identity provider could not be reached: the certificate of ${working.provider} ${UNTRUSTED}\nnext: ${NAME_IT}\n`,
  });
  expect(await spawnHooktrail(['token'], { env: trusting })).toMatchObject({ code: 0, stderr: '' });
});

const UNTRUSTED = "is not trusted: its authority is 'Example Private CA' (UNABLE_TO_VERIFY_LEAF_SIGNATURE)";
const NAME_IT =
  "check the URL; if the authority is your company's, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM)";
const EXPIRED = 'expired on Jan  1 00:00:00 2021 GMT (CERT_HAS_EXPIRED)';
const OTHER_HOST = 'is for other.example.com, www.example.com (ERR_TLS_CERT_ALTNAME_INVALID)';
const LOOK = "check the URL and this machine's date";

const CERTIFICATES: [string, Certificate, string | undefined, string, string][] = [
  ['of an unknown authority', 'localhost', undefined, UNTRUSTED, NAME_IT],
  ['that has expired', 'expired', authorityFile, EXPIRED, LOOK],
  ['for another host', 'other-host', authorityFile, OTHER_HOST, LOOK],
];

test.each(sampleOf('certificates', 1, CERTIFICATES))(
  'a certificate %s ends login, search and forwarding with the reason and what to do',
  async (...row) => {
    const [, certificate, trusted, why, next] = row;
    await using working = await startWorkingOverTls(certificate);
    const env = { ...working.env, ...(trusted ? { NODE_EXTRA_CA_CERTS: trusted } : {}) };
    const unreachable = (what: string, host: string) => ({
      code: 5,
      stdout: '',
      stderr: `error: the ${what} could not be reached: the certificate of ${host} ${why}\nnext: ${next}\n`,
    });
    for (const login of [['login'], ['login', '--device']])
      expect(await spawnHooktrail(login, { env })).toEqual(
        unreachable('identity provider', working.provider),
      );
    const withToken = { ...env, HOOKTRAIL_ACCESS_TOKEN: 'a-token' };
    expect(await spawnHooktrail(['events', 'search'], { env: withToken })).toEqual(
      unreachable('service', working.service),
    );
    const send = ['webhooks', 'send', '--type', 'document.created', '--forward-to', working.handler];
    const handler = new URL(working.handler).host;
    expect(await spawnHooktrail(send, { env })).toMatchObject({
      code: 1,
      stderr: `error: the handler did not answer: the certificate of ${handler} ${why}\nnext: ${next}\n`,
    });
    expect(working.received).toEqual([]);
  },
);
