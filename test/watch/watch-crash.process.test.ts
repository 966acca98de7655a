import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startProcess } from '../support/process.ts';
import { idsOf, startSearching } from '../support/searching.ts';
import { randomOf } from '../support/seed.ts';

test('--state across kills at random moments prints each event, and repeats only those that were being printed', {
  timeout: 60_000,
}, async () => {
  await using searching = await startSearching({ events: 5 });
  const random = randomOf('watch crash');
  const state = path.join(searching.env['HOME'] as string, 'watch.json');
  const watch = () =>
    startProcess(['events', 'watch', '--ndjson', '--interval', '1s', '--state', state], {
      env: searching.env,
    });
  const added: string[] = [];
  const printed: string[] = [];
  /**
   * The content that each killed run must have had in its state, and the number of events printed by then.
   */
  const before: { remembered: readonly string[]; printed: number }[] = [];
  const add = () => {
    const { eventId } = searching.control.addEvent();
    added.push(eventId);
    return eventId;
  };
  for (let round = 0; round < 3; round++) {
    const program = watch();
    await program.printed('stderr', /watching /);
    await program.printed('stdout', new RegExp(add()));
    const remembered = [...added];
    // This event comes in a later batch, before which everything printed is in the state.
    await program.printed('stdout', new RegExp(add()));
    const burst = [add(), add(), add()];
    if (random.float() < 0.7) await program.printed('stdout', new RegExp(burst[random.below(3)] as string));
    program.kill('SIGKILL');
    const { stdout } = await program.finished;
    printed.push(...idsOf(stdout.slice(0, stdout.lastIndexOf('\n') + 1)));
    before.push({ remembered, printed: printed.length });
  }
  clock.advance(1000);
  const last = watch();
  await last.printed('stderr', /watching /);
  await last.printed('stdout', new RegExp(add()));
  last.kill('SIGTERM');
  printed.push(...idsOf((await last.finished).stdout));
  expect([...new Set(printed)].sort()).toEqual([...added].sort());
  for (const { remembered, printed: so } of before) {
    expect(printed.slice(so).filter((id) => remembered.includes(id))).toEqual([]);
  }
});
