import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startSigningIn } from '../../support/signing-in.ts';

test('deleting a profile leaves no secret of it', async () => {
  await using at = await startSigningIn();
  await at.signIn();
  expect(await at.run(['profiles', 'delete', 'default'])).toEqual({
    code: 0,
    stdout: '',
    stderr: "deleted profile 'default' and what was stored for it on this machine\n",
  });
  const left = await readdir(path.join(at.home.folder, 'config'), { recursive: true });
  // The program's compiled code, unless Node keeps it elsewhere.
  const kept = left.filter((name) => !name.startsWith('cache'));
  expect(kept.sort()).toEqual(['config.json', 'secrets']);
});
