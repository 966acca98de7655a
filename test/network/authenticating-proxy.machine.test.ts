import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../src/doctor/diagnosis.ts';
import { spawnHooktrail } from '../support/process.ts';
import { authorityFile } from '../support/tls.ts';
import { hasSquid, type Squid, startSquid } from './squid.ts';
import { startWorkingOverTls, type WorkingOverTls, workOverTls } from './working-over-tls.ts';

// Only the proxy can resolve these names.
const HOSTS = { login: 'login.invalid', events: 'events.invalid', hooks: 'hooks.invalid' };
const UNTRUSTED = "is not trusted: its authority is 'Example Private CA' (UNABLE_TO_VERIFY_LEAF_SIGNATURE)";

describe.skipIf(!hasSquid)('behind Squid, which requires a user name and a password', () => {
  let squid: Squid;
  let working: WorkingOverTls;
  beforeAll(async () => {
    squid = await startSquid('me', 'p@ss', Object.values(HOSTS));
    working = await startWorkingOverTls('elsewhere', HOSTS);
  });
  afterAll(async () => {
    await working[Symbol.asyncDispose]();
    await squid[Symbol.asyncDispose]();
  });

  const behind = (user: string, others: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    ...working.env,
    NODE_EXTRA_CA_CERTS: authorityFile,
    HTTPS_PROXY: `http://${user}${squid.host}`,
    ...others,
  });
  const SIGNED_IN = { HOOKTRAIL_ACCESS_TOKEN: 'a-token' };

  test('sign in, search, refresh, export, replay, log out', async () => {
    await workOverTls(working, behind('me:p%40ss@'));
    const tunnels = [working.provider, working.service, new URL(working.handler).host];
    await expect
      .poll(async () => new Set(await squid.log()))
      .toEqual(new Set(tunnels.map((host) => `200 CONNECT ${host} me`)));
  });

  test.each([
    ['me:wr%40ng@', 'does not accept the user name and password (407)'],
    ['', 'requires a user name and a password (407)'],
  ])('HTTPS_PROXY=http://%s…: each part says what is missing, and no secret', async (user, why) => {
    const next = 'check HTTPS_PROXY: http://user:password@proxy.example.com:3128';
    const unreachable = (what: string) =>
      `error: the ${what} could not be reached: the proxy ${squid.host} ${why}\nnext: ${next}\n`;
    const env = behind(user, SIGNED_IN);
    const search = await spawnHooktrail(['events', 'search', '--debug'], { env });
    expect(search).toMatchObject({ code: 5, stdout: '' });
    expect(search.stderr.slice(search.stderr.indexOf('error:'))).toBe(unreachable('service'));
    const login = await spawnHooktrail(['login'], { env: behind(user) });
    expect(login).toMatchObject({ code: 5, stdout: '' });
    expect(login.stderr.slice(login.stderr.indexOf('error:'))).toBe(unreachable('identity provider'));
    const doctor = await spawnHooktrail(['doctor', '--json'], { env });
    expect(doctor).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(doctor.stdout)).toEqual(
      expect.arrayContaining([
        {
          check: 'proxy',
          state: 'ok',
          message: `${working.service} is reached through http://${squid.host} (HTTPS_PROXY)`,
        },
        {
          check: 'service',
          state: 'broken',
          message: `${env['HOOKTRAIL_BASE_URL']}: the proxy ${squid.host} ${why}`,
          next,
        },
      ]),
    );
    const printed = [search, login, doctor].map(({ stdout, stderr }) => stdout + stderr).join('');
    for (const secret of ['wr@ng', 'wr%40ng', Buffer.from('me:wr@ng').toString('base64')])
      expect(printed).not.toContain(secret);
  });

  test('a host of NO_PROXY is not asked of the proxy', async () => {
    const before = await squid.log();
    const env = behind('me:p%40ss@', { ...SIGNED_IN, NO_PROXY: 'events.invalid' });
    expect(await spawnHooktrail(['events', 'search'], { env })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('the name events.invalid could not be resolved (ENOTFOUND)'),
    });
    expect(await squid.log()).toEqual(before);
  });

  test('a certificate that is refused behind it is named', async () => {
    const env = behind('me:p%40ss@', { NODE_EXTRA_CA_CERTS: '' });
    const { code, stdout } = await spawnHooktrail(['doctor', '--json'], { env });
    expect(code).toBe(1);
    const findings = JSON.parse(stdout) as Finding[];
    expect(findings.find(({ check }) => check === 'service')?.message).toBe(
      `${env['HOOKTRAIL_BASE_URL']}: the certificate of ${working.service} ${UNTRUSTED}`,
    );
  });
});
