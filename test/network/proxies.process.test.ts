import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawnHooktrail } from '../support/process.ts';
import { OPENINGS, offers, opens, startProxy, wantsBasic } from '../support/proxies.ts';
import { accessTokenOf } from '../support/sandbox-client.ts';
import { authorityFile } from '../support/tls.ts';
import { startWorkingOverTls, type WorkingOverTls } from './working-over-tls.ts';

// Only a proxy can resolve these names.
const HOSTS = { login: 'login.invalid', events: 'events.invalid', hooks: 'hooks.invalid' };
const SEARCH = ['events', 'search', '--all', '--ndjson'];

describe('a search', () => {
  let working: WorkingOverTls;
  let env: Readonly<Record<string, string>>;
  let service = 0;
  beforeAll(async () => {
    working = await startWorkingOverTls('elsewhere', HOSTS);
    service = Number(working.service.split(':')[1]);
    const token = await accessTokenOf(working.at.sandbox);
    env = { ...working.env, NODE_EXTRA_CA_CERTS: authorityFile, HOOKTRAIL_ACCESS_TOKEN: token };
  });
  afterAll(() => working[Symbol.asyncDispose]());

  const searchBehind = (proxy: string) => spawnHooktrail(SEARCH, { env: { ...env, HTTPS_PROXY: proxy } });

  test.each([
    ...Object.entries(OPENINGS).map(([name, answer]) => [`that ${name}`, answer, 'http', ''] as const),
    ['that wants a user', wantsBasic('me:p@ss'), 'http', 'me:p%40ss@'],
    ['with TLS of its own', opens, 'https', ''],
    ['with TLS of its own that wants a user', wantsBasic('me:p@ss'), 'https', 'me:p%40ss@'],
  ] as const)('behind a proxy %s finds what it finds without one', async (_, answer, scheme, user) => {
    await using proxy = await startProxy(answer, { scheme, leadsTo: service });
    const { baseUrl } = working.at.sandbox.settings;
    const direct = { ...env, HOOKTRAIL_BASE_URL: baseUrl };
    const found = await searchBehind(`${scheme}://${user}localhost:${proxy.port}`);
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(found.stdout).toBe((await spawnHooktrail(SEARCH, { env: direct })).stdout);
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${working.service}`]));
  });

  test.each([
    ['that wants a user', wantsBasic('me:p@ss'), 'http', 'requires a user name and a password (407)'],
    [
      'that offers others alone',
      offers('Negotiate', 'NTLM'),
      'http',
      'offers sign-in only by Negotiate and NTLM (407)',
    ],
    ['for SOCKS', opens, 'socks', 'does not answer with valid HTTP (Expected HTTP/, RTSP/ or ICE/)'],
  ] as const)('behind a proxy %s ends with what is wrong', async (_, answer, scheme, why) => {
    await using proxy = await startProxy(answer, { scheme, leadsTo: service });
    const { code, stdout, stderr } = await searchBehind(`http://127.0.0.1:${proxy.port}`);
    expect([code, stdout, stderr.split('\n')[0]]).toEqual([
      5,
      '',
      `error: the service could not be reached: the proxy 127.0.0.1:${proxy.port} ${why}`,
    ]);
  });
});
