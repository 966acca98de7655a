import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { available, chromiumPath } from '../support/machine/requirement.ts';
import { spawnHooktrail } from '../support/process.ts';
import { startSigningIn } from '../support/signing-in.ts';

const person = test.skipIf(!available('Chromium'));

/** Signs in with a real browser, in which that button is pressed. Also resolves to the page it ended on. */
async function signInPressing(button: string, host = '127.0.0.1') {
  await using at = await startSigningIn({ autoApprove: false }, { host });
  const report = path.join(at.home.folder, 'report.json');
  const result = await spawnHooktrail(['login'], {
    env: {
      ...at.env,
      HOOKTRAIL_BROWSER: path.resolve(import.meta.dirname, '../support/machine/chromium-command.mjs'),
      CHROMIUM_PATH: chromiumPath,
      CHROMIUM_PRESSES: button,
      CHROMIUM_REPORT: report,
    },
  });
  // The browser outlives the program that opened it.
  const page = await vi.waitFor(async () => JSON.parse(await readFile(report, 'utf8')), { timeout: 20_000 });
  return { result, page, status: await at.run(['status', '--check']) };
}

person(
  'a person signs in with Chromium, which finds a redirect URI on localhost',
  {
    timeout: 90_000,
  },
  async () => {
    const { result, page, status } = await signInPressing('Sign in', 'localhost');
    expect(page).toEqual({ heading: 'Signed in', title: 'Signed in – hooktrail', complaints: [] });
    expect(result).toMatchObject({ code: 0, stdout: '' });
    expect(status.code).toBe(0);
  },
);

person('a person who cancels in Chromium is not signed in', { timeout: 90_000 }, async () => {
  const { result, page, status } = await signInPressing('Cancel');
  expect(page).toEqual({ heading: 'Not signed in', title: 'Not signed in – hooktrail', complaints: [] });
  expect(result.code).toBe(4);
  expect(result.stderr).toContain(
    'error: the sign-in was refused: access_denied\n  the sign-in was cancelled\n',
  );
  expect(status.code).toBe(4);
});
