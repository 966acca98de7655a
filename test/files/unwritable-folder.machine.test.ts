import { describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { spawnHooktrail } from '../support/process.ts';

// On this file system, creating something in an existing folder fails with ENOENT, even for root.
describe.skipIf(!available('/proc'))('a configuration folder in which nothing can be created', () => {
  test.each([
    ['config set', ['config', 'set', 'vendor', 'acme'], 2],
    ['login', ['login', '--no-browser'], 2],
    ['status', ['status'], 4],
    ['--help', ['--help'], 0],
    ['webhooks listen', ['webhooks', 'listen', '--port', '0'], 2],
  ])('%s ends, with an error if it needs the folder', async (_, args, code) => {
    await using home = await createHome();
    const env = {
      ...home.env,
      HOOKTRAIL_CONFIG_DIR: '/proc/hooktrail',
      HOOKTRAIL_AUTH_URL: 'http://127.0.0.1:1/identity',
      HOOKTRAIL_BASE_URL: 'http://127.0.0.1:1/events',
      HOOKTRAIL_CLIENT_ID: 'client',
      HOOKTRAIL_CLIENT_SECRET: 'secret',
      HOOKTRAIL_VENDOR: 'acme',
      HOOKTRAIL_API_TOKEN: 'token',
    };
    const result = await spawnHooktrail(args, { env });
    expect(result).toMatchObject({ code });
    if (code === 2) expect(result.stderr).toContain('/proc/hooktrail');
  });
});
