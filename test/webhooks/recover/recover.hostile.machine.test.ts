import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, test } from 'vitest';
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

test('on a full disk the handler gets one event that the journal cannot note, and none after it', async () => {
  await using at = await startRecovering({ events: 40 });
  const words = at.args('--new-journal', '--ndjson', '--fields', 'eventId');
  const args = ['-c', 'ulimit -f 1 && exec "$@"', 'sh', process.execPath, inject('program'), ...words];
  const env = { ...at.env, NODE_DISABLE_COMPILE_CACHE: '1' };
  const { code, stdout, stderr } = await startProcess(args, { env, executable: 'sh' }).finished;
  const left = stdout.trimEnd().split('\n').length;
  const forwarded = 40 - left;
  expect([code, at.handler.taken.size]).toEqual([1, forwarded + 1]);
  expect(stderr.replace(/--since \S+Z/, '--since T')).toBe(
    `${forwarded} forwarded; 0 in the journal already; ${left} left\n` +
      `${forwarded} of these were already delivered, according to the service; --failed leaves such events out\n` +
      `error: ${left} events were not recovered\n` +
      `  ${left}: the journal ${at.journal} cannot be written: file too large (EFBIG)\n` +
      'next: run the same command again with --since T to retry them\n',
  );
  expect(await at.recover()).toMatchObject({ code: 0 });
  expect([...at.handler.taken.values()].filter((times) => times > 1)).toEqual([2]);
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
