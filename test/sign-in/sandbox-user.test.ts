import { expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { createSandboxUser } from '../../src/sign-in/sandbox-user.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput } from '../support/outputs.ts';

test('a sign-in to the sandbox ends when its browser cannot go on', async () => {
  const sandbox = await startSandbox({
    events: 0,
    autoApprove: true,
    redirectUri: 'http://127.0.0.1:0/callback',
  });
  await sandbox.close();
  const stderr = fakeOutput();
  const user = await createSandboxUser(createContext({ stderr }), sandbox.settings);
  try {
    expect(await main(['login'], user.context)).toBe(5);
    expect(stderr.text).toMatch(
      /^error: signing in to the sandbox failed: \S+ does not accept connections \(ECONNREFUSED\)$/m,
    );
  } finally {
    await user.remove();
  }
});
