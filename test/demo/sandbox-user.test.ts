import { expect, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSandboxUser } from '../../src/demo/sandbox-user.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput } from '../support/outputs.ts';
import { startSandbox } from '../support/sandbox.ts';

test('a sign-in to the sandbox ends if its browser fails', async () => {
  const sandbox = await startSandbox({
    events: 0,
    autoApprove: true,
    redirectUri: 'http://127.0.0.1:0/callback',
  });
  // It answers when login looks whether it is there, and not the browser.
  const { fault } = sandbox.control;
  fault('authorize', { kind: 'pass' }, { kind: 'reset' });
  const stderr = fakeOutput();
  const user = await createSandboxUser(createContext({ stderr }), {
    settings: sandbox.settings,
    behaviour: {},
  } as Sandbox);
  try {
    expect(await main(['login'], user.context)).toBe(5);
    expect(stderr.text).toMatch(
      /^error: signing in without a browser failed: the connection to \S+ broke \(.*\)$/m,
    );
  } finally {
    await sandbox.close();
    await user.remove();
  }
});

test('a sign-in to the sandbox works wherever the user has the browser', async () => {
  const options = { events: 0, autoApprove: true, redirectUri: 'http://127.0.0.1:0/callback' };
  await using sandbox = await startSandbox(options);
  const stderr = fakeOutput();
  const environment = { SSH_CONNECTION: '192.0.2.1 50000 192.0.2.2 22', CODESPACES: 'true', PATH: '/bin' };
  const context = createContext({ stderr, environment });
  const machine = { ...context.machine, isContainer: true };
  const user = await createSandboxUser({ ...context, machine }, {
    settings: sandbox.settings,
    behaviour: {},
  } as Sandbox);
  try {
    expect(user.environment).toMatchObject(environment);
    expect(await main(['login'], user.context)).toBe(0);
    expect(stderr.text).toMatch(/^Sign in in the browser\. If it does not open, go to\n/);
  } finally {
    await user.remove();
  }
});
