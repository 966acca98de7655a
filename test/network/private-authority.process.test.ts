import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { spawnHooktrail } from '../support/process.ts';
import { sampleOf } from '../support/seed.ts';
import { authorityFile, type Certificate, startUnusable } from '../support/tls.ts';
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
  "check the URL; if the authority is your company's, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM); if it is a public one, the server lacks the intermediate certificate, which its operator has to add";
const EXPIRED = 'expired on Jan  1 00:00:00 2021 GMT (CERT_HAS_EXPIRED)';
const OTHER_HOST = 'is for other.example.com, www.example.com (ERR_TLS_CERT_ALTNAME_INVALID)';
const RENEW = "its operator has to renew it; check this machine's date if that is not so";
const RENAME = 'check the host name in the URL: it has to be one that the certificate is for';

const CERTIFICATES: [string, Certificate, string | undefined, string, string][] = [
  ['of an unknown authority', 'localhost', undefined, UNTRUSTED, NAME_IT],
  ['that has expired', 'expired', authorityFile, EXPIRED, RENEW],
  ['for another host', 'other-host', authorityFile, OTHER_HOST, RENAME],
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

test('a server that requires a client certificate is named', async () => {
  await using server = await startUnusable('a client certificate in TLS 1.3');
  await using home = await createHome();
  const env = {
    ...home.env,
    HOOKTRAIL_BASE_URL: `https://localhost:${server.port}`,
    HOOKTRAIL_VENDOR: 'example',
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
    NODE_EXTRA_CA_CERTS: authorityFile,
  };
  expect(await spawnHooktrail(['events', 'search'], { env })).toEqual({
    code: 5,
    stdout: '',
    stderr: `error: the service could not be reached: localhost:${server.port} requires a client certificate (ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED)\nnext: ask its operator for an address that takes no client certificate: hooktrail sends none; a local proxy that adds one helps too\n`,
  });
});
