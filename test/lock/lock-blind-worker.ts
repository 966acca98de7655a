import { openSync } from 'node:fs';
import { conditionOf, describeSelf } from '../../src/lock/lock-file.ts';
import { createContext } from '../support/context.ts';

/** Prints what a process without free file descriptors reports about another, live process. */
const { machine } = createContext();
const parent = { ...(await describeSelf(machine)), pid: process.ppid, started: '1' };
process.stdout.write('');
try {
  for (;;) openSync('/dev/null', 'r');
} catch {}
process.stdout.write(await conditionOf(parent, machine));
