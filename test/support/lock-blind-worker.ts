import { openSync } from 'node:fs';
import { conditionOf, describeSelf } from '../../src/lock/lock-holder.ts';
import { createContext } from './context.ts';

/** Prints what a process that has no file descriptor left says of another one, which lives. */
const { machine } = createContext();
const parent = { ...(await describeSelf(machine)), pid: process.ppid, started: '1' };
process.stdout.write('');
try {
  for (;;) openSync('/dev/null', 'r');
} catch {}
process.stdout.write(await conditionOf(parent, machine));
