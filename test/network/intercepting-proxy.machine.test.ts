import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawnHooktrail } from '../support/process.ts';
import { authorityFile } from '../support/tls.ts';
import { hasMitmproxy, type Mitmproxy, startMitmproxy } from './mitmproxy.ts';
import { startWorkingOverTls, type WorkingOverTls, workOverTls } from './working-over-tls.ts';

// Only the proxy can reach these names.
const HOSTS = { login: 'login.invalid', events: 'events.invalid', hooks: 'hooks.invalid' };
const NAME_IT =
  "check the URL; if the authority is your company's, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM); if it is a public one, the server lacks the intermediate certificate, which its operator has to add";

describe.skipIf(!hasMitmproxy)('behind mitmproxy, which reads what is sent', () => {
  let mitmproxy: Mitmproxy;
  let working: WorkingOverTls;
  beforeAll(async () => {
    mitmproxy = await startMitmproxy();
    working = await startWorkingOverTls('elsewhere', HOSTS);
  });
  afterAll(async () => {
    await working[Symbol.asyncDispose]();
    await mitmproxy[Symbol.asyncDispose]();
  });
  const trusting = (file: string): Record<string, string> => ({
    ...working.env,
    HTTPS_PROXY: mitmproxy.url,
    NODE_EXTRA_CA_CERTS: file,
  });

  test('without its authority: its certificates are refused, and it is named', async () => {
    const env = trusting(authorityFile);
    const why = "is not trusted: its authority is 'mitmproxy' (UNABLE_TO_VERIFY_LEAF_SIGNATURE)";
    const search = await spawnHooktrail(['events', 'search'], {
      env: { ...env, HOOKTRAIL_ACCESS_TOKEN: 'a-token' },
    });
    expect(search).toEqual({
      code: 5,
      stdout: '',
      stderr: `error: the service could not be reached: the certificate of ${working.service} ${why}\nnext: ${NAME_IT}\n`,
    });
    const login = await spawnHooktrail(['login'], { env });
    expect(login).toMatchObject({ code: 5, stdout: '' });
    expect(login.stderr.slice(login.stderr.indexOf('error:'))).toBe(
      `error: the identity provider could not be reached: the certificate of ${working.provider} ${why}\nnext: ${NAME_IT}\n`,
    );
    const { code, stdout } = await spawnHooktrail(['doctor', '--json'], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toContainEqual({
      check: 'service',
      state: 'broken',
      message: `${env['HOOKTRAIL_BASE_URL']}: the certificate of ${working.service} ${why}`,
      next: NAME_IT,
    });
    expect(mitmproxy.read()).toEqual(new Set());
  });

  test('with its authority: sign in, search, refresh, export, replay, log out', async () => {
    await workOverTls(working, trusting(mitmproxy.authorityFile));
    const tunnels = [working.provider, working.service, new URL(working.handler).host];
    await expect.poll(() => mitmproxy.read()).toEqual(new Set(tunnels));
  });
});
