import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startRecovering } from '../../support/listening.ts';
import { startProcess } from '../../support/process.ts';
import { idsOf } from '../../support/searching.ts';

/** The event that the handler was taking when its sender was killed may come again. */
const MAX_TWICE = 1;

test('a recovery of missing ids that is killed goes on, loses none, and repeats one at most', {
  timeout: 120_000,
}, async () => {
  await using recovering = await startRecovering({ events: 60 });
  const { handler, env, journal, searching } = recovering;
  const ids = idsOf((await searching.search('--ndjson')).stdout);
  const file = path.join(path.dirname(journal), 'had.txt');
  await writeFile(file, ids.slice(0, 20).join('\n'));
  handler.answer = async () => {
    await setTimeout(10);
    return 200;
  };
  const recover = () => startProcess(recovering.args('--received', file, '--new-journal'), { env });
  for (const taken of [5, 20]) {
    const killed = recover();
    await expect.poll(() => handler.received.length).toBeGreaterThan(taken);
    killed.kill('SIGKILL');
    await killed.finished;
  }
  const last = await recover().finished;
  expect([last.code, last.stderr]).toEqual([
    0,
    expect.stringMatching(/^\d+ forwarded; \d+ received or journaled already; 0 left\n/m),
  ]);
  const handed = handler.received.map(({ body }) => JSON.parse(body.toString()).eventId);
  expect([...new Set(handed)].sort()).toEqual(ids.slice(20).sort());
  expect(handed.length - new Set(handed).size).toBeLessThanOrEqual(2 * MAX_TWICE);
});
