import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { start } from '../../support/program.ts';
import { idsOf, startSearching } from '../../support/searching.ts';
import { randomOf } from '../../support/seed.ts';

test('--state over kills at random moments prints each event, and again at most what came in the last moment', async () => {
  await using searching = await startSearching({ events: 5 });
  const { control } = searching.sandbox;
  const random = randomOf('watch crash');
  const state = path.join(searching.env['HOME'] as string, 'watch.json');
  const watch = (...args: string[]) =>
    start(['events', 'watch', '--ndjson', '--interval', '1s', '--state', state, ...args], {
      env: searching.env,
    });
  const added: string[] = [];
  const printed: string[] = [];
  let batches = 0;
  for (let round = 0; round < 4; round++) {
    const program = watch();
    await program.printed('stderr', /watching /);
    for (let event = 0; event < 3; event++) added.push(control.addEvent().eventId);
    const wanted = added[added.length - 1 - random.below(3)] as string;
    if (random.float() < 0.7) await program.printed('stdout', new RegExp(wanted));
    program.kill('SIGKILL');
    const { stdout } = await program.finished;
    printed.push(...idsOf(stdout.slice(0, stdout.lastIndexOf('\n') + 1)));
    batches++;
  }
  clock.advance(1000);
  const last = watch();
  await last.printed('stderr', /watching /);
  added.push(control.addEvent().eventId);
  await last.printed('stdout', new RegExp(added.at(-1) as string));
  last.kill('SIGTERM');
  printed.push(...idsOf((await last.finished).stdout));
  expect([...new Set(printed)].sort()).toEqual([...added].sort());
  // A kill between printing and remembering repeats what was being printed, three events here.
  expect(printed.length - added.length).toBeLessThanOrEqual(3 * batches);
});
