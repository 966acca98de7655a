import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { visit } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { freePort } from '../support/ports.ts';
import { hasWindows } from '../support/requirement.ts';
import { sandboxEnv } from '../support/sandbox-env.ts';
import { createWindowsHome, prepareWindows, runOnWindows, startOnWindows } from '../support/windows.ts';

describe.skipIf(!hasWindows)('on Windows', () => {
  beforeAll(prepareWindows, 120_000);

  test('the demo signs in, lists and searches', async () => {
    await using home = await createWindowsHome();
    const { code, stdout, stderr } = await runOnWindows(['demo'], { env: home.env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('Signed in at http://127.0.0.1:')]);
    expect(stdout.match(/ {2}FAILED {2}/g)).toHaveLength(10);
  });
});
