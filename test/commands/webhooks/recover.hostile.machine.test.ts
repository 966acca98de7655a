import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { ended, portOf, post, startRecovering } from '../../support/listening.ts';
import { available } from '../../support/machine/requirement.ts';
import { startProcess } from '../../support/process.ts';

test('who takes the port of a killed listener gets no event and no Api-Token', async () => {
  await using at = await startRecovering({ events: 5 });
  const listener = startProcess(at.listenArgs(), { env: at.env });
  const port = await portOf(listener);
  expect((await post(port, '{"eventId":"a"}')).status).toBe(200);
  await ended(listener);
  await using impostor = await startHandler(port);
  // The journal is held by a process that is no listener, as while another recovery runs.
  const holder = startProcess(['webhooks', 'listen', '--port', '0', '--journal', at.journal], {
    env: at.env,
  });
  await portOf(holder);
  const recovery = startProcess(at.args('--forward-timeout', '1', '--retry-for', '1s'), { env: at.env });
  expect((await recovery.finished).code).toBe(2);
  expect(impostor.received).toEqual([]);
  await ended(holder);
});

describe('what lies beside or in the place of a journal', () => {
  test.each([
    ['', 2],
    ['.lock', 2],
    ['.lock/1.lock', 2],
    ['.compacting', 0],
  ])('a FIFO at events.journal%s makes nothing wait', async (suffix, code) => {
    await using at = await startRecovering({ events: 1 });
    if (suffix.includes('/')) await mkdir(`${at.journal}.lock`);
    execFileSync('mkfifo', [`${at.journal}${suffix}`]);
    const results = [];
    for (const args of [at.args('--new-journal'), at.listenArgs()]) {
      const program = startProcess(args, { env: at.env });
      if (code === 0 && args[1] === 'listen') {
        await portOf(program);
        program.kill('SIGTERM');
      }
      results.push((await program.finished).code);
    }
    expect(results).toEqual(code === 0 ? [0, 143] : [code, code]);
  });

  test.skipIf(!available('root'))(
    'a journal that another user put there is refused before it is read',
    async () => {
      await using at = await startRecovering({ events: 3 });
      expect((await at.recover('--new-journal')).code).toBe(0);
      for (const mode of [0o1777, 0o755]) {
        const shared = path.join(path.dirname(at.journal), 'shared');
        await rm(shared, { recursive: true, force: true });
        await mkdir(shared);
        await chmod(shared, mode);
        const planted = path.join(shared, 'events.journal');
        await writeFile(planted, await readFile(at.journal));
        await chown(planted, 65_534, 65_534);
        for (const flags of [[], ['--dry-run'], ['--new-journal']]) {
          const { code, stderr } = await at.recover('--journal', planted, ...flags);
          expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --journal: .*65534/)]);
        }
      }
    },
  );
});
