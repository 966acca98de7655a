import { appendFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { withLock } from '../../src/lock/lock.ts';
import { clock } from '../support/clock.ts';
import { createContext } from '../support/context.ts';

/** Takes a lock repeatedly, and records when it got and released it. */
clock.run();
const [home = '', log = '', rounds = '1', hold = '0'] = process.argv.slice(2);
const { machine, ...rest } = createContext();
const context = { ...rest, machine: { ...machine, userHome: home } };

for (let round = 0; round < Number(rounds); round++) {
  await withLock('worker', context, async () => {
    await appendFile(log, `enter ${process.pid}\n`);
    await setTimeout(Number(hold));
    await appendFile(log, `leave ${process.pid}\n`);
  });
}
